"""The worker's NVIDIA GPUs, and how large a batch vLLM should make on them."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

LARGE_MIB = 70 * 1024  # from here on vLLM's offline class uses the larger limits
ANSWER_SECONDS = 60  # for nvidia-smi; more, and the GPU is broken


class GpuError(Exception):
    """A GPU that cannot be used."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """An NVIDIA GPU: its memory in MiB (0 where it shares the machine's) and its name, as nvidia-smi tells them."""

    memory: int
    name: str


def here() -> list[Gpu]:
    """Return the NVIDIA GPUs that this session may use; empty without one. Raises GpuError."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=memory.total,name", "--format=csv,noheader,nounits"]
    try:
        listing = subprocess.run(query, capture_output=True, text=True, check=False, timeout=ANSWER_SECONDS).stdout
    except subprocess.TimeoutExpired:
        raise GpuError(
            "nvidia-smi does not answer: this worker's GPU is broken, another worker may do better"
        ) from None
    found = [
        Gpu(int(memory) if memory.isdigit() else 0, name.strip())
        for memory, _, name in (line.partition(",") for line in listing.splitlines())
        if memory.isdigit() or memory.startswith("[")  # [N/A]; other text is an error's
    ]
    return _visible(found, os.environ.get("CUDA_VISIBLE_DEVICES"))


def _visible(found: list[Gpu], variable: str | None) -> list[Gpu]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves: by number, up to one that is none; of names, as many."""
    if variable is None:
        return found
    chosen = []
    for place, name in enumerate(part.strip() for part in variable.split(",")):
        index = place if name.startswith(("GPU-", "MIG-")) else int(name) if name.isdecimal() else len(found)
        if index >= len(found):
            break
        chosen.append(found[index])
    return chosen


def batch_limits(gpus: list[Gpu]) -> tuple[int, int]:
    """Return (tokens, sequences) of a batch: throughput counts here, so vLLM's offline limits, not its server's.

    An A100 loses by the larger ones, whatever its memory (vLLM pull request 17885).

    Source: vllm/engine/arg_utils.py, EngineArgs.get_batch_defaults, UsageContext.LLM_CLASS (0.19 to 0.32).
    """
    if not gpus:
        return 4096, 256
    large = all(gpu.memory >= LARGE_MIB and "a100" not in gpu.name.lower() for gpu in gpus)
    return (16384, 1024) if large else (8192, 256)
