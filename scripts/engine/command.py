"""The command line of a vLLM server, and the environment that it runs in."""

from __future__ import annotations

import os
import sys

from engine import gpus
from engine.address import KEY_VARIABLE
from engine.gpus import Gpu
from engine.note import ServerError, Settings
from engine.vllm_args import ArgumentsError, split_arguments

FEW_CORES = 2  # vLLM's CPU build keeps a core for its scheduler; of so few the engine needs all


def build_command(settings: Settings, port: int, found: list[Gpu]) -> list[str]:
    """Return the server's argument list. What VllmArgs says comes last, so that it wins.

    Raises ServerError for VllmArgs that cannot be used.
    """
    try:
        extra = split_arguments(settings.vllm_args)
    except ArgumentsError as error:
        raise ServerError(str(error)) from None
    parallel = settings.tensor_parallel_size or len(found)
    tokens, sequences = gpus.batch_limits(found)
    argv = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    argv += ["--model", settings.model, "--host", "127.0.0.1", "--port", str(port)]
    argv += ["--max-model-len", str(settings.max_model_len)]
    argv += ["--max-num-batched-tokens", str(max(tokens, settings.max_model_len)), "--max-num-seqs", str(sequences)]
    argv += ["--disable-uvicorn-access-log"]  # a line a request costs time and tells nothing
    if found:
        argv += ["--gpu-memory-utilization", str(settings.gpu_memory_utilization)]
    if parallel > 1:
        argv += ["--tensor-parallel-size", str(parallel)]
    return argv + extra


def build_environment(key: str, start_timeout: float, scratch: str = "") -> dict[str, str]:
    """Return the server's environment: the session's, with the key and what a batch needs."""
    defaults = {
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "3600",  # seconds; at 5 an idle connection closes under the client's request
        "VLLM_MEDIA_URL_ALLOW_REDIRECTS": "0",  # a row's URL must not lead to an address that only this machine can ask
        "VLLM_IMAGE_FETCH_TIMEOUT": "60",  # seconds for an image named by URL; 5 is too short for a batch
        "VLLM_ENGINE_READY_TIMEOUT_S": str(int(start_timeout)),
    }
    if len(os.sched_getaffinity(0)) <= FEW_CORES:
        defaults["VLLM_CPU_NUM_OF_RESERVED_CPU"] = "0"
    ours = {KEY_VARIABLE: key, "PYTHONNOUSERSITE": "1", **({"TMPDIR": scratch} if scratch else {})}
    return {**defaults, **os.environ, **ours}
