"""Placements keep to the rules by which vLLM refuses a split or a batch, in all versions that are claimed.

The rules are conditions of vLLM's own code, read by `tools/maintenance/vllm_flags.py`; here they are evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine import checkpoint
from engine.gpus import Gpu
from engine.placement import Wish, choose
from support.checkpoints import CONFIGS, known

KNOWN = json.loads((Path(__file__).resolve().parents[3] / "tools/checking/vllm_flags.json").read_text(encoding="utf-8"))
RULES: list[str] = KNOWN["rules"]
KINDS = [(23034, "NVIDIA L4"), (46068, "NVIDIA L40S"), (81559, "NVIDIA H100 80GB HBM3")]


def find_rule(start: str, *words: str) -> Callable[..., Any]:
    """Return the one rule that begins so and has these words, as a function of its variables."""
    (rule,) = (rule.removeprefix(start) for rule in RULES if rule.startswith(start) and all(w in rule for w in words))
    return lambda **variables: eval(rule, {}, variables)


def divide(numerator: int, denominator: int) -> int:
    """Divide as vllm.distributed.utils.divide does, which asserts that nothing is left."""
    assert numerator % denominator == 0
    return numerator // denominator


@pytest.mark.parametrize("model", CONFIGS)
@pytest.mark.parametrize("ways", range(1, 17))
def test_a_split_that_is_made_is_one_that_vllm_makes(model: str, ways: int) -> None:
    found = known(model)
    if not found.may_split(ways):
        return
    refuses = find_rule("verify_with_parallel_config refuses: ", "attention_heads %")
    assert not refuses(total_num_attention_heads=found.heads, tensor_parallel_size=ways)
    layer = SimpleNamespace(total_num_heads=found.heads, total_num_kv_heads=found.cache_heads)
    variables = {"self": layer, "tp_size": ways, "divide": divide}
    find_rule("QKVParallelLinear splits by: ", "total_num_heads, tp_size")(**variables)
    shared = "(tp_size, self.total_num_kv_heads)" if ways >= found.cache_heads else "(self.total_num_kv_heads, tp_size)"
    find_rule("QKVParallelLinear splits by: ", shared)(**variables)


@pytest.mark.parametrize("model", [*CONFIGS, None])
@pytest.mark.parametrize("kind", KINDS, ids=[name for _, name in KINDS])
@pytest.mark.parametrize("count", [1, 2, 4, 7, 8])
@pytest.mark.parametrize("length", [256, 4096, 131072])
def test_a_batch_is_one_that_vllm_takes(model: str | None, kind: tuple[int, str], count: int, length: int) -> None:
    gpus = [Gpu(*kind, str(number)) for number in range(count)]
    choice = choose(gpus, known(model) if model else None, Wish(0, length, 0.9))
    assert choice.placements
    for place in choice.placements:
        batch = {"max_num_batched_tokens": place.tokens, "max_num_seqs": place.sequences}
        config = SimpleNamespace(**batch, enable_chunked_prefill=model is not None)  # on for what generates
        for words in ("enable_chunked_prefill", "max_num_batched_tokens < self.max_num_seqs"):
            assert not find_rule("verify_max_model_len refuses: ", words)(self=config, max_model_len=length)


def test_a_model_is_for_what_vllm_takes_it_for() -> None:
    runners = dict(rule.split(": ") for rule in RULES if rule.endswith((": generate", ": pooling")))
    for suffix, runner in runners.items():
        config = {"architectures": [f"Some{suffix}"], "num_attention_heads": 8, "num_hidden_layers": 2}
        found = checkpoint.read_files(config, {"model.safetensors": 1})
        assert found
        assert found.generates == (runner == "generate"), suffix
