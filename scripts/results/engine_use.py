"""What the engines did in the tasks whose results are merged: how full they were, and what they counted.

Each shard's footer tells it of its own task (`asking/meter.py`). Seconds are those of engines: a task with four copies
has four of them a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from results.record import COUNT_LIMIT

SECONDS = ("full", "part", "little", "idle")  # how full the engine was meanwhile
COUNTS = ("generated", "preemptions", "prefix_asked", "prefix_found")
HIGHEST = "cache"  # the largest share of the KV cache that was in use
WASTED, WORTH = 0.25, 300.0  # a share of the engines' time, and seconds: less is not worth a word


def read_use(value: Any) -> dict[str, float]:
    """Return what a footer tells of its engines; what is no count is left out."""
    told = value if isinstance(value, dict) else {}
    return {name: told[name] for name in (*SECONDS, *COUNTS, HIGHEST) if _is_count(told.get(name))}


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < COUNT_LIMIT


def add_up(uses: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the sum of what engines did."""
    total: dict[str, float] = {}
    for use in uses:
        for name, value in use.items():
            before = total.get(name, 0.0)
            total[name] = max(before, value) if name == HIGHEST else before + value
    return total


@dataclass(frozen=True, slots=True)
class EngineUse:
    """What the engines of a job did. `tasks` counts its shards, `workers` who answered them."""

    tasks: int
    workers: int
    sums: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Return the time of all engines in all tasks."""
        return sum(self.sums.get(name, 0.0) for name in SECONDS)

    def as_json(self) -> dict[str, Any] | None:
        """Return what summary.json says, or None where no shard tells of its engines."""
        seconds = self.seconds
        if not seconds:
            return None
        shares = {name: round(self.sums.get(name, 0.0) / seconds, 3) for name in SECONDS}
        told: dict[str, Any] = {"seconds": round(seconds, 3), **shares}
        if "generated" in self.sums:
            told["tokens_per_second"] = round(self.sums["generated"] / seconds, 2)
            told["preemptions"] = int(self.sums.get("preemptions", 0))
            told["highest_cache_use"] = round(self.sums.get(HIGHEST, 0.0), 3)
        if asked := self.sums.get("prefix_asked"):
            told["prefix_hit_rate"] = round(self.sums.get("prefix_found", 0.0) / asked, 3)
        return told

    def advise(self, concurrency: float) -> list[str]:
        """Return what to say of time that was paid in vain, if there is anything; `concurrency` is MaxConcurrency."""
        seconds, wasted = self.seconds, self.sums.get("little", 0.0) + self.sums.get("idle", 0.0)
        larger = self.tasks > self.workers  # one task a worker cannot be larger
        if wasted < WORTH or wasted <= WASTED * seconds or not (larger or concurrency):
            return []
        what = "the engines had less than a quarter of the rows that they take at once"
        how = "leave MaxConcurrency at 0" if concurrency else "use larger tasks (ChunkSize, BlockSize)"
        return [f"{100 * wasted / seconds:.0f} % of the tasks' time {what}: {how}"]
