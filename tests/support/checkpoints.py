"""Models as their config.json and the sizes of their files on the hub tell of them."""

from __future__ import annotations

from typing import Any

from engine import checkpoint
from engine.checkpoint import Checkpoint

LLAMA = {"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16"}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128}


def sizes(heads: int, cache_heads: int, layers: int, hidden: int, columns: int) -> dict[str, Any]:
    """Return the sizes of a model under the names that most config.json give them."""
    return {
        "num_attention_heads": heads,
        "num_key_value_heads": cache_heads,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": columns,
    }


CONFIGS: dict[str, tuple[dict[str, Any], int]] = {  # config.json, and bytes of weights
    "3B": ({**LLAMA, **sizes(16, 2, 36, 2048, 11008)}, 6_171_877_376),  # Qwen2.5-3B-Instruct
    "7B": ({**LLAMA, **sizes(28, 4, 28, 3584, 18944)}, 15_231_233_024),  # Qwen2.5-7B-Instruct
    "14B": ({**LLAMA, **sizes(40, 8, 48, 5120, 13824)}, 29_540_067_328),  # Qwen2.5-14B-Instruct
    "32B": ({**LLAMA, **sizes(40, 8, 64, 5120, 27648)}, 65_527_752_704),  # Qwen2.5-32B-Instruct
    "70B": ({**LLAMA, **sizes(64, 8, 80, 8192, 28672)}, 141_107_412_992),  # Llama-3.1-70B-Instruct
    "8x7B": ({**LLAMA, **sizes(32, 8, 32, 4096, 14336), "num_local_experts": 8}, 93_405_585_408),  # Mixtral
    "72B AWQ": ({**LLAMA, **sizes(64, 8, 80, 8192, 29568), "quantization_config": AWQ}, 41_600_000_000),
    "V2 Lite": (  # DeepSeek-V2-Lite: latent attention
        {**LLAMA, **sizes(16, 16, 27, 2048, 10944), "kv_lora_rank": 512, "qk_rope_head_dim": 64},
        31_412_968_448,
    ),
    "MiniLM": ({"architectures": ["BertModel"], **sizes(12, 12, 6, 384, 1536)}, 90_868_370),  # all-MiniLM-L6-v2
}


def known(name: str) -> Checkpoint:
    """Return what is read of such a model."""
    config, weights = CONFIGS[name]
    found = checkpoint.read_files(config, {"model.safetensors": weights})
    assert found
    return found
