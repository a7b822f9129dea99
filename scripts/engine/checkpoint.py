"""What a model's own files say of its size, of how it may be split, and of what it is for.

Read are config.json and the sizes of its weights: in a folder, in Hugging Face's cache, or, where the model is to be
downloaded and there are GPUs to be shared out, at the hub, by the library that vLLM brings. No weights are fetched
and no code of a model is run. What cannot be found out is None: nothing here keeps a server from starting.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HUB_SECONDS = 10  # for one answer of the hub
_CONFIG, _INDEX, _POOLING = "config.json", "model.safetensors.index.json", "modules.json"
# The weights are the files of the first ending that has any; Mistral keeps its models twice, the other as consolidated.
_ENDINGS = (".safetensors", ".bin", ".pt", ".gguf")
_TWICE = ("consolidated", "original/", "onnx/", "openvino/")
_INNER = ("text_config", "llm_config", "language_config", "thinker_config")  # of a model with more than text
# vllm/config/model.py, _SUFFIX_TO_DEFAULTS: what a model is for, by its class's name
_GENERATING = ("ForCausalLM", "ForConditionalGeneration", "ChatModel", "LMHeadModel")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model's files: bytes of weights on a GPU, bytes of KV cache a token, and what a split has to divide.

    `shared_cache` says that a split does not make the cache of a GPU smaller (multi-head latent attention); `width` is
    what else a split has to divide, in whole groups of a quantised matrix, 0 where it is not known. `generates` says
    that it answers with text, and takes a long prompt in parts.
    """

    weights: int
    heads: int
    cache_heads: int
    cache: int
    shared_cache: bool = False
    width: int = 0
    generates: bool = False

    def may_split(self, ways: int) -> bool:
        """Tell whether vLLM splits it so.

        Sources: verify_with_parallel_config in vllm/config/model.py, divide in vllm/distributed/utils.py,
        QKVParallelLinear in vllm/model_executor/layers/linear.py.
        """
        if ways == 1:
            return True
        even = self.cache_heads % ways == 0 or ways % self.cache_heads == 0
        return self.heads % ways == 0 and even and self.width % ways == 0

    def cache_bytes(self, tokens: int, ways: int) -> float:
        """Return the bytes of KV cache that so many tokens take on each GPU of a split."""
        shares = 1 if self.shared_cache else min(ways, self.cache_heads)
        return self.cache * tokens / shares


def read_checkpoint(model: str, environment: Mapping[str, str], *, ask_hub: bool) -> Checkpoint | None:
    """Return what is known of a model by its name or folder; `environment` is the one its server will have."""
    try:
        folder = Path(model)
        if folder.is_dir():
            return read_files(_read_config(folder / _CONFIG), _list_folder(folder))
        return _read_cached(model, environment) or (_ask_hub(model, environment) if ask_hub else None)
    except Exception:  # noqa: BLE001 - a library, a network and somebody's files: whatever it is, vLLM will say it better
        return None


def cache_of(environment: Mapping[str, str]) -> str | None:
    """Return where the server's downloads are kept, None where the library's own place is meant."""
    home = environment.get("HF_HOME")
    return environment.get("HF_HUB_CACHE") or (str(Path(home) / "hub") if home else None)


def _read_cached(model: str, environment: Mapping[str, str]) -> Checkpoint | None:
    """Read a model that was downloaded whole."""
    hub: Any = importlib.import_module("huggingface_hub")
    found = hub.try_to_load_from_cache(model, _CONFIG, cache_dir=cache_of(environment))
    if not isinstance(found, str):
        return None
    folder = Path(found).parent
    index = folder / _INDEX
    files = _list_folder(folder)
    if index.is_file() and not set(_read_config(index)["weight_map"].values()) <= files.keys():
        return None
    return read_files(_read_config(Path(found)), files)


def _ask_hub(model: str, environment: Mapping[str, str]) -> Checkpoint | None:
    """Ask the hub for the sizes of a model's files, and for its config.json."""
    hub: Any = importlib.import_module("huggingface_hub")
    token = environment.get("HF_TOKEN")
    told = hub.HfApi().model_info(model, files_metadata=True, timeout=HUB_SECONDS, token=token)
    files = {each.rfilename: int(each.size or 0) for each in told.siblings}
    kept = cache_of(environment)
    config = hub.hf_hub_download(model, _CONFIG, cache_dir=kept, etag_timeout=HUB_SECONDS, token=token)
    return read_files(_read_config(Path(config)), files)


def _list_folder(folder: Path) -> dict[str, int]:
    """Return the sizes of a folder's own files; a link of the cache has its file's."""
    return {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}


def _read_config(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def read_files(config: Mapping[str, Any], files: Mapping[str, int]) -> Checkpoint | None:
    """Return what a config.json and the sizes of the files beside it say; None when they do not tell the size."""
    inner = _text_part(config)
    stored = _sum_weights(files)
    heads = inner.get("num_attention_heads") or inner.get("n_head") or 0
    layers = inner.get("num_hidden_layers") or inner.get("n_layer") or 0
    if not (stored and heads and layers):
        return None
    quantised = config.get("quantization_config") or inner.get("quantization_config") or {}
    latent = inner.get("kv_lora_rank")
    cache_heads = 1 if latent else inner.get("num_key_value_heads") or inner.get("num_kv_heads") or heads
    size = inner.get("head_dim") or (inner.get("hidden_size") or inner.get("n_embd") or 0) // heads
    numbers = latent + (inner.get("qk_rope_head_dim") or 0) if latent else 2 * cache_heads * size
    name = str(inner.get("dtype") or inner.get("torch_dtype") or config.get("torch_dtype") or "")
    return Checkpoint(
        weights=stored // 2 if name == "float32" and not quantised else stored,  # vLLM loads them as 16 bits
        heads=heads,
        cache_heads=cache_heads if not latent else heads,
        cache=2 * layers * numbers,  # bytes: 16 bits a number
        shared_cache=bool(latent),
        width=_width(inner, quantised),
        generates=_generates(config, files),
    )


def _text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a config that tells of the language model."""
    inner = next((config[name] for name in _INNER if isinstance(config.get(name), Mapping)), None)
    return _text_part(inner) if inner is not None and "num_hidden_layers" not in config else config


def _sum_weights(files: Mapping[str, int]) -> int:
    for ending in _ENDINGS:
        found = [name for name in files if name.endswith(ending)]
        once = [name for name in found if not name.startswith(_TWICE)]
        if found:
            return sum(files[name] for name in once or found)
    return 0


def _width(inner: Mapping[str, Any], quantised: Mapping[str, Any]) -> int:
    """Return the columns of the inner matrices, or the groups of them that have a scale of their own."""
    columns = int(inner.get("intermediate_size") or 0)
    group = quantised.get("group_size")
    grouped = isinstance(group, int) and group > 1 and columns % group == 0
    return columns // group if grouped and isinstance(group, int) else columns


def _generates(config: Mapping[str, Any], files: Mapping[str, int]) -> bool:
    """Tell whether the model answers with text, as vLLM decides it; one with an encoder takes no prompt in parts."""
    names = [str(name) for name in config.get("architectures") or []]
    first = next(iter(names), "")
    return first.endswith(_GENERATING) and not config.get("is_encoder_decoder") and _POOLING not in files
