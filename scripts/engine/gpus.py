"""The worker's NVIDIA GPUs, by their identity, and how large a batch vLLM should make on them.

A GPU is what CUDA_VISIBLE_DEVICES can name: a whole one by its number or its UUID, or a slice of one (MIG) by its name.
A name that the session was given stays as it is. Numbers are nvidia-smi's, in the order of the PCI bus.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LARGE_MIB = 70 * 1024  # from here on vLLM's offline class uses the larger limits
ANSWER_SECONDS = 60  # for nvidia-smi; more, and the GPU is broken
VISIBLE = "CUDA_VISIBLE_DEVICES"
_FIELDS = "index,uuid,memory.total,mig.mode.current,name"
_SLICE = re.compile(r"\s+MIG\s+\S*?(\d+)gb\S*\s+Device\s+\d+:\s+\(UUID:\s*(MIG-[^)\s]+)\)", re.IGNORECASE)
_PARENT = re.compile(r"GPU\s+\d+:.*\(UUID:\s*(GPU-[^)\s]+)\)")


class GpuError(Exception):
    """A GPU that cannot be used."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """An NVIDIA GPU or a slice of one: its memory in MiB, 0 where that is not known or is the machine's own.

    `key` is what CUDA_VISIBLE_DEVICES calls it. A slice takes no part in a split: a process sees one.
    """

    memory: int
    name: str
    key: str = ""
    slice: bool = False

    @property
    def kind(self) -> tuple[str, int, bool]:
        """Return what GPUs that a model may be split over have in common."""
        return self.name, self.memory, self.slice


@dataclass(frozen=True, slots=True)
class _Whole:
    """A whole GPU as nvidia-smi lists it, and its slices."""

    gpu: Gpu
    uuid: str
    sliced: bool
    slices: tuple[Gpu, ...] = ()


def here(environment: Mapping[str, str] = os.environ) -> list[Gpu]:
    """Return the NVIDIA GPUs that this session may use; empty without one. Raises GpuError."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    wholes = list(_read_wholes(_ask(program, f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits")))
    if any(whole.sliced for whole in wholes):
        wholes = list(_add_slices(wholes, _ask(program, "-L")))
    variable = environment.get(VISIBLE)
    if variable is None:
        return [gpu for whole in wholes for gpu in (whole.slices or [whole.gpu])]
    return list(_find_visible(wholes, variable))


def _ask(*command: str) -> list[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWER_SECONDS)
    except subprocess.TimeoutExpired:
        raise GpuError(
            "nvidia-smi does not answer: this worker's GPU is broken, another worker may do better"
        ) from None
    return done.stdout.splitlines()


def _read_wholes(lines: Sequence[str]) -> Iterator[_Whole]:
    """Yield the GPUs of a listing; a line that is none, such as an error's, is passed over."""
    for line in lines:
        parts = [part.strip() for part in line.split(",", maxsplit=4)]
        if len(parts) == 5 and parts[0].isdecimal():
            index, uuid, memory, mode, name = parts
            gpu = Gpu(int(memory) if memory.isdecimal() else 0, name, index)
            yield _Whole(gpu, uuid, mode == "Enabled")


def _add_slices(wholes: Sequence[_Whole], lines: Sequence[str]) -> Iterator[_Whole]:
    """Yield the GPUs with the slices that `nvidia-smi -L` tells of. A slice's name says its memory, in GB."""
    slices: dict[str, list[Gpu]] = {}
    parent = ""
    for line in lines:
        if found := _PARENT.match(line):
            parent = found[1]
        elif found := _SLICE.match(line):
            memory = int(found[1]) * 1000**3 // 1024**2
            slices.setdefault(parent, []).append(Gpu(memory, f"a slice of {int(found[1])} GB", found[2], slice=True))
    for whole in wholes:
        yield _Whole(whole.gpu, whole.uuid, whole.sliced, tuple(slices.get(whole.uuid, ())))


def _find_visible(wholes: Sequence[_Whole], variable: str) -> Iterator[Gpu]:
    """Yield the GPUs that CUDA_VISIBLE_DEVICES leaves, up to a number that is none.

    A name's beginning is enough for CUDA. A name that nvidia-smi does not tell of is a GPU that nothing is known of.
    """
    for key in (part.strip() for part in variable.split(",")):
        if key.startswith(("GPU-", "MIG-")):
            yield _find_named(wholes, key)
            continue
        whole = next((whole for whole in wholes if whole.gpu.key == key), None)
        if whole is None:
            return
        first = whole.slices[0] if whole.slices else whole.gpu
        yield Gpu(first.memory, first.name, key, first.slice)


def _find_named(wholes: Sequence[_Whole], key: str) -> Gpu:
    for whole in wholes:
        if whole.uuid.startswith(key):
            return Gpu(whole.gpu.memory, whole.gpu.name, key)
        for each in whole.slices:
            if each.key.startswith(key):
                return Gpu(each.memory, each.name, key, slice=True)
    return Gpu(0, "an unknown GPU", key, slice=key.startswith("MIG-"))


def batch_limits(gpus: Sequence[Gpu]) -> tuple[int, int]:
    """Return (tokens, sequences) of a batch: throughput counts here, so vLLM's offline limits, not its server's.

    An A100 loses by the larger ones, whatever its memory (vLLM pull request 17885).

    Source: vllm/engine/arg_utils.py, EngineArgs.get_batch_defaults, UsageContext.LLM_CLASS (0.19 to 0.32).
    """
    if not gpus:
        return 4096, 256
    large = all(gpu.memory >= LARGE_MIB and "a100" not in gpu.name.lower() for gpu in gpus)
    return (16384, 1024) if large else (8192, 256)
