"""On which GPUs a session's engines run: copies of the model rather than splits.

A model that fits one GPU answers more rows as independent copies than split, since a split waits for the link between
GPUs twice a layer. So an engine gets the fewest GPUs that hold the model and that vLLM can split it over, and there are
as many engines as the worker has such groups. Copies are processes of their own, also those of a mixture of experts:
vLLM's data parallel ranks would march in step. Decides from what it is given; looks at no machine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from engine.checkpoint import Checkpoint
from engine.gpus import Gpu, batch_limits
from engine.vllm_args import PARALLEL_FLAGS, has_flag, overridden, split_arguments, values_of

ROOM = 1.2  # of the weights: what vLLM needs beside them for activations, graphs and its own buffers
MORE_ROWS = 1.25  # of the sequences: an engine that has a quarter more waiting never lacks a row
UNKNOWN_ROWS = 256  # in flight to a server whose number of sequences is not known
MANY_ROWS = 1024  # in one batch: with so many, one process that speaks HTTP may be what the GPU waits for
MOST_FRONTS = 4  # of an engine; one task's program keeps no more of them busy
CORES_BESIDE, CORES_OF_FRONT = 2, 2  # the engine's scheduler and the task's program; a front and its tokenizer
_WHOLE_PROMPTS = ("--convert", "--task", "--no-enable-chunked-prefill")
_GIB, _MIB = 1 << 30, 1 << 20


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one engine runs, and its batch. `devices` is its CUDA_VISIBLE_DEVICES, "" where it has the session's own.

    `gpus` counts those it has, 0 on a CPU; `split` is over how many the model is, 0 where VllmArgs say; `fronts` is how
    many processes speak HTTP.
    """

    devices: str = ""
    gpus: int = 0
    split: int = 1
    tokens: int = 4096
    sequences: int = 256
    fronts: int = 1

    @property
    def rows(self) -> int:
        """Return how many requests keep the engine full."""
        return math.ceil(self.sequences * MORE_ROWS)


ON_CPU = Placement()


@dataclass(frozen=True, slots=True)
class Wish:
    """What a job says of its engines: TensorParallelSize, MaxModelLen, GpuMemoryUtilization, VllmArgs."""

    split: int
    length: int
    share: float
    arguments: Sequence[str] = ()

    @classmethod
    def read(cls, split: int, length: int, share: float, vllm_args: str) -> Self:
        """Return the wish of a job's parameters, of which VllmArgs wins. Raises ArgumentsError."""
        arguments = split_arguments(vllm_args)
        said = overridden(arguments)
        own_length, own_share = said.get("MaxModelLen", ""), said.get("GpuMemoryUtilization", "")
        return cls(
            split,
            int(own_length) if own_length.isdecimal() else length,
            float(own_share) if re.fullmatch(r"0?\.\d+|1(\.0*)?", own_share) else share,
            arguments,
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """The engines' places, and why they are these, in a sentence; "" where there was nothing to choose."""

    placements: tuple[Placement, ...]
    why: str = ""


def choose(gpus: Sequence[Gpu], checkpoint: Checkpoint | None, wish: Wish) -> Choice:
    """Choose the engines of a worker with these GPUs."""
    said = next((flag for flag in PARALLEL_FLAGS if has_flag(wish.arguments, flag)), "")
    whole = _Group(gpus, checkpoint, wish)
    if len(gpus) < 2 or said:
        why = f"one server has the worker's {len(gpus)} GPUs, as VllmArgs says ({said})" if len(gpus) > 1 else ""
        return Choice((whole.place(wish.split if said else wish.split or 1, devices=""),), why)
    groups = [_Group(kind, checkpoint, wish) for kind in _kinds(gpus)]
    placed = [place for group in groups for place in group.copies()]
    if not placed:
        return whole.fall_back()
    return Choice(tuple(placed), _explain(placed, groups, len(gpus), wish))


def find_split(gpus: Sequence[Gpu], checkpoint: Checkpoint, wish: Wish) -> int:
    """Return over how many of these equal GPUs a copy of the model is split; 0 when they do not hold it."""
    group = _Group(gpus, checkpoint, wish)
    if not wish.split:
        return group.fewest()
    able = wish.split <= len(gpus) and checkpoint.may_split(wish.split) and group.holds(wish.split)
    return wish.split if able else 0


def find_need(checkpoint: Checkpoint, wish: Wish) -> float:
    """Return the bytes that a whole copy of the model needs of what a server takes of a GPU."""
    return _Group((), checkpoint, wish).needed(1)


def add_fronts(choice: Choice, checkpoint: Checkpoint | None, wish: Wish, cores: int) -> Choice:
    """Return the choice with the processes that speak HTTP: more than one where rows may come and go by the thousand.

    That is on large GPUs, and for models that pool. Each front needs a core, beside the engine's own and the one of the
    task that asks; a host with few has one front, and so has one whose ranks VllmArgs say, which have their own.
    """
    if any(has_flag(wish.arguments, flag) for flag in PARALLEL_FLAGS):
        return choice
    pools = checkpoint is not None and not checkpoint.generates
    spare = cores // len(choice.placements) - CORES_BESIDE
    fronts = max(1, min(MOST_FRONTS, spare // CORES_OF_FRONT))
    places = (
        replace(place, fronts=fronts) if place.gpus and (pools or place.sequences >= MANY_ROWS) else place
        for place in choice.placements
    )
    return replace(choice, placements=tuple(places))


def _kinds(gpus: Sequence[Gpu]) -> list[list[Gpu]]:
    """Return the GPUs by kind: a model is split over equal ones only."""
    kinds: dict[object, list[Gpu]] = {}
    for gpu in gpus:
        kinds.setdefault(gpu.kind, []).append(gpu)
    return list(kinds.values())


@dataclass(frozen=True, slots=True)
class _Group:
    """GPUs of a worker, the model and the job's wish."""

    gpus: Sequence[Gpu]
    checkpoint: Checkpoint | None
    wish: Wish

    def place(self, split: int, *, devices: str) -> Placement:
        """Return the place of an engine on all of these GPUs."""
        tokens, sequences = batch_limits(self.gpus)
        if self.takes_whole_prompts():
            tokens = max(tokens, self.wish.length)
        given = values_of(self.wish.arguments, "--max-num-seqs")[-1:]
        sequences = int(given[0]) if given and given[0].isdecimal() and int(given[0]) else sequences
        return Placement(devices, len(self.gpus), split, tokens, sequences)

    def takes_whole_prompts(self) -> bool:
        """Tell whether a batch has to hold the longest prompt: a model that pools, and one of which nobody knows."""
        arguments = self.wish.arguments
        pools = values_of(arguments, "--runner")[-1:] == ["pooling"]
        pools = pools or any(has_flag(arguments, flag) for flag in _WHOLE_PROMPTS)
        return pools or self.checkpoint is None or not self.checkpoint.generates

    def copies(self) -> Iterator[Placement]:
        """Yield the places of copies on equal GPUs; none when these do not hold the model, or too little is known."""
        ways = self.wish.split or self.fewest()
        for first in range(0, len(self.gpus) - ways + 1, ways) if ways else ():
            part = _Group(self.gpus[first : first + ways], self.checkpoint, self.wish)
            yield part.place(ways, devices=",".join(gpu.key for gpu in part.gpus))

    def fewest(self) -> int:
        """Return the fewest of these GPUs that hold the model, 0 when they do not or nobody knows."""
        if self.checkpoint is None or not self.gpus[0].memory:
            return 1 if self.gpus[0].slice else 0
        most = 1 if self.gpus[0].slice else len(self.gpus)
        fits = (ways for ways in range(1, most + 1) if self.checkpoint.may_split(ways) and self.holds(ways))
        return next(fits, 0)

    def holds(self, ways: int) -> bool:
        """Tell whether the model fits these GPUs, split so."""
        return self.needed(ways) <= self.room

    @property
    def room(self) -> float:
        """Return the bytes of each GPU that a server takes."""
        return self.gpus[0].memory * _MIB * self.wish.share

    def needed(self, ways: int) -> float:
        """Return the bytes that the model needs on each GPU of a split, with one row of MaxModelLen."""
        assert self.checkpoint is not None
        return self.checkpoint.weights * ROOM / ways + self.checkpoint.cache_bytes(self.wish.length, ways)

    def fall_back(self) -> Choice:
        """Choose one engine where these GPUs hold no copies, or nobody knows whether they do."""
        count, split = len(self.gpus), self.wish.split
        if split:
            why = f"the model is split over {split} GPUs, as TensorParallelSize says"
        elif all(gpu.slice for gpu in self.gpus):
            largest = max(self.gpus, key=lambda gpu: gpu.memory)
            place = _Group([largest], self.checkpoint, self.wish).place(1, devices=largest.key)
            return Choice((place,), f"one server on one slice of a GPU; it may not fit, since it needs {self._need(1)}")
        elif self.checkpoint is None or not self.gpus[0].memory:
            split, what = count, "the size of the model" if self.checkpoint is None else "the memory of a GPU"
            why = f"the model is split over all {count} GPUs, since {what} is not known"
        else:
            split = next(ways for ways in range(count, 0, -1) if self.checkpoint.may_split(ways))
            why = (
                f"the model is split over {split} of {count} GPUs; it may not fit, since each needs {self._need(split)}"
            )
        return Choice((self.place(split, devices=""),), why)

    def _need(self, ways: int) -> str:
        return f"{self.needed(ways) / _GIB:.1f} GiB"


def _explain(placed: Sequence[Placement], groups: Sequence[_Group], count: int, wish: Wish) -> str:
    """Say in a sentence what was chosen, and why."""
    ways = sorted({place.split for place in placed})
    each = " or ".join(str(way) for way in ways)
    gpus = "GPU" if ways == [1] else "GPUs"
    many = f"{len(placed)} copies of the model, each on {each} {gpus}"
    what = many if len(placed) > 1 else f"one server, the model on {each} {gpus}"
    left = count - sum(place.gpus for place in placed)
    rest = f"; GPUs left over: {left} of {count}" if left else ""
    if wish.split:
        return f"{what}, as TensorParallelSize says{rest}"
    known = next((group for group in groups if group.checkpoint is not None and group.fewest()), None)
    if known is None or not known.gpus[0].memory:
        return f"{what}, since a slice of a GPU takes no part in a split{rest}"
    way = known.fewest()
    needs = f"it needs {known.needed(way) / _GIB:.1f} GiB and a server takes {known.room / _GIB:.1f} GiB of a GPU"
    return f"{what}: {needs}{rest}"
