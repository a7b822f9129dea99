"""Which fleets of the stack hold a job's model, by the rule that a worker chooses its engines' GPUs by.

The sizes are those of the model's own files: of its folder, of Hugging Face's cache, or, where the user allows it, of
the hub.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from engine.checkpoint import read_checkpoint
from engine.gpus import Gpu
from engine.placement import Wish, find_need, find_split
from engine.vllm_args import PARALLEL_FLAGS, has_flag, split_arguments
from job.parameters import BY_NAME

# Of the accelerators that cloudformation/gpu_farm.yaml offers: MiB of one GPU as its driver reports them, and
# how many a machine has (https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html).
MEMORY = {"t4": 15360, "a10g": 23028, "l4": 23034, "l40s": 46068, "rtx-pro-server-6000": 97887}
COUNTS = (1, 4, 8)
NO_MACHINE = ("t4", 8)
_DECIDING = ("TensorParallelSize", "MaxModelLen", "GpuMemoryUtilization", "VllmArgs")
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Fit:
    """What a model needs, in bytes; the share of a GPU that a server takes; the least GpusPerWorker by accelerator."""

    needed: float
    share: float
    holding: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"gib": round(self.needed / _GIB, 1), "gpus_per_worker": dict(self.holding)}


def find_fit(values: Mapping[str, Any], *, ask_hub: bool) -> Fit | None:
    """Return what the model of a job needs; None where no worker chooses its GPUs, or where its size is not known."""
    if not _is_chosen(values):
        return None
    split, length, share, arguments = (values.get(name, BY_NAME[name].default) for name in _DECIDING)
    wish = Wish.read(split, length, share, arguments)
    checkpoint = read_checkpoint(values["ModelName"], os.environ, ask_hub=ask_hub)
    if checkpoint is None:
        return None
    holding = {}
    for name, memory in MEMORY.items():
        for count in COUNTS:
            if (name, count) != NO_MACHINE and find_split([Gpu(memory, name)] * count, checkpoint, wish):
                holding[name] = count
                break
    return Fit(find_need(checkpoint, wish), wish.share, holding)


def _is_chosen(values: Mapping[str, Any]) -> bool:
    """Tell whether a worker loads the model, on GPUs that are chosen by its size."""
    arguments = split_arguments(values["VllmArgs"])
    return not (values["ServerUrl"] or any(has_flag(arguments, flag) for flag in PARALLEL_FLAGS))


def describe(fit: Fit | None, values: Mapping[str, Any], *, hub_asked: bool) -> Iterator[str]:
    """Yield lines for a person."""
    if not _is_chosen(values):
        return
    if fit is None and hub_asked:
        yield "model: its size could not be had: the hub does not tell it, or huggingface_hub is not installed here"
        return
    if fit is None:
        yield "model: not known here what it needs; --ask-hub asks the Hugging Face hub for the size of its files"
        return
    yield f"model: needs {fit.needed / _GIB:.1f} GiB; a server takes {fit.share:g} of each GPU's memory"
    kinds: dict[int, list[str]] = {}
    for name, count in fit.holding.items():
        kinds.setdefault(count, []).append(name)
    for count, names in sorted(kinds.items()):
        yield f"  fleets that hold it with GpusPerWorker={count}: {', '.join(names)}"
    if not kinds:
        mend = "take a smaller or a quantised model, or a smaller MaxModelLen"
        mend += " (TensorParallelSize 0 tries all splits)" if values.get("TensorParallelSize") else ""
        yield f"  no fleet of the stack holds it: {mend}"
