"""Fetching a model's weights from the hub while vLLM still imports what it loads them with.

vLLM asks for them after the imports of two processes, for which a paid GPU waits. What it finds in the cache by then it
need not download, and a file that is on its way it waits for, by the hub library's own locks. Fetched is what vLLM
itself would take: the files that the model's index names, or its one file (download_weights_from_hf in
vllm/model_executor/model_loader/weight_utils.py). Whatever fails here is left to vLLM, which says it better.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.checkpoint import cache_of, read_checkpoint
from engine.vllm_args import ArgumentsError, has_flag, split_arguments
from host import processes

_INDEX, _ONE_FILE = "model.safetensors.index.json", "model.safetensors"
_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_OTHER_PLACES = ("--revision", "--load-format", "--download-dir", "--hf-token", "--model")
_OTHER_SOURCES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "VLLM_USE_MODELSCOPE")


def is_of_hub(model: str, vllm_args: str, environment: Mapping[str, str]) -> bool:
    """Tell whether vLLM would load this model's newest weights from the hub."""
    try:
        arguments = split_arguments(vllm_args)
    except ArgumentsError:
        return False
    elsewhere = any(has_flag(arguments, flag) for flag in _OTHER_PLACES)
    elsewhere |= any(environment.get(name, "0").lower() not in ("", "0", "false", "no") for name in _OTHER_SOURCES)
    return not elsewhere and _NAME.fullmatch(model) is not None and not Path(model).exists()


def fetch(model: str) -> int:
    """Fetch a model's weights into the cache that this process's environment names; return the exit status.

    It ends with whoever started it.
    """
    processes.end_with_parent()
    if read_checkpoint(model, os.environ, ask_hub=False):
        print(f"{model}: the cache has it whole")
        return 0
    kept = cache_of(os.environ)  # the library may have been imported before this was chosen
    hub: Any = importlib.import_module("huggingface_hub")
    names = {each.rfilename for each in hub.HfApi().model_info(model).siblings}
    wanted = {_ONE_FILE} & names
    if _INDEX in names:
        index = json.loads(Path(hub.hf_hub_download(model, _INDEX, cache_dir=kept)).read_text(encoding="utf-8"))
        wanted = set(index["weight_map"].values())
    if wanted:
        hub.snapshot_download(model, allow_patterns=sorted(wanted), cache_dir=kept)
    print(f"{model}: {len(wanted)} files of weights are in the cache")
    return 0
