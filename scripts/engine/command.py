"""The command line of a vLLM server, and the environment that it runs in."""

from __future__ import annotations

import importlib.metadata
import os
import sys

from engine.caches import FALLBACK
from engine.gpus import VISIBLE
from engine.key import KEY_VARIABLE
from engine.note import ServerError, Settings
from engine.placement import ON_CPU, Placement
from engine.vllm_args import ArgumentsError, split_arguments
from host import user

CACHE_VARIABLE = "VLLM_CACHE_ROOT"
FEW_CORES = 2  # vLLM's CPU build keeps a core for its scheduler; of so few the engine needs all


def build_command(settings: Settings, port: int, place: Placement) -> list[str]:
    """Return the server's argument list. What VllmArgs says comes last, so that it wins.

    Raises ServerError for VllmArgs that cannot be used.
    """
    try:
        extra = split_arguments(settings.vllm_args)
    except ArgumentsError as error:
        raise ServerError(str(error)) from None
    argv = [sys.executable, "-m", *_name_program(settings.model), "--host", "127.0.0.1", "--port", str(port)]
    argv += ["--max-model-len", str(settings.max_model_len)]
    argv += ["--max-num-batched-tokens", str(place.tokens), "--max-num-seqs", str(place.sequences)]
    argv += ["--disable-uvicorn-access-log"]  # a line a request costs time and tells nothing
    argv += ["--enable-prompt-tokens-details"]  # how many of a prompt's tokens were cached, in the answer's usage
    if place.gpus:
        argv += ["--gpu-memory-utilization", str(settings.gpu_memory_utilization)]
    if place.split > 1:
        argv += ["--tensor-parallel-size", str(place.split)]
    if place.fronts > 1:
        argv += ["--api-server-count", str(place.fronts)]
    return argv + extra


def _name_program(model: str) -> list[str]:
    """Return the module that serves a model, and its first arguments.

    `vllm serve` looks its own version up by the name of its package, which the CPU build does not have.
    """
    try:
        importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        return ["vllm.entrypoints.openai.api_server", "--model", model]
    return ["vllm.entrypoints.cli.main", "serve", model]


def build_environment(key: str, start_timeout: float, place: Placement = ON_CPU, copy: int = 0) -> dict[str, str]:
    """Return the environment of a copy's server: the session's, with the key, its GPUs and what a batch needs."""
    defaults = {
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "3600",  # seconds; at 5 an idle connection closes under the client's request
        "VLLM_MEDIA_URL_ALLOW_REDIRECTS": "0",  # a row's URL must not lead to an address that only this machine can ask
        "VLLM_IMAGE_FETCH_TIMEOUT": "60",  # seconds for an image named by URL; 5 is too short for a batch
        "VLLM_ENGINE_READY_TIMEOUT_S": str(int(start_timeout)),
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # so that a GPU's number is the one that nvidia-smi gives it
    }
    if len(os.sched_getaffinity(0)) <= FEW_CORES:
        defaults["VLLM_CPU_NUM_OF_RESERVED_CPU"] = "0"
    ours = {KEY_VARIABLE: key, "PYTHONNOUSERSITE": "1"}
    ours["PYTHONUTF8"] = "1"  # torch and vLLM read files of their own in the locale's encoding
    if place.devices:
        ours[VISIBLE] = place.devices
    if copy:  # two servers that compile the same graph write the same files, and not whole
        kept = os.environ.get(CACHE_VARIABLE) or str((user.find_home() or FALLBACK) / ".cache" / "vllm")
        ours[CACHE_VARIABLE] = f"{kept}-copy-{copy}"
    nameless = user.name_missing(os.environ, FALLBACK / f"vllm-batch-{os.getuid()}")
    return {**defaults, **os.environ, **nameless, **ours}
