"""How long a job that runs will still take, by what of it arrived so far; its shards say how many lines it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import bundle  # noqa: F401  (puts scripts/ on the path)
from rows.ranges import RangeError, of_values
from submission.arrivals import Arrivals
from terminal import say_time


@dataclass(frozen=True, slots=True)
class Pace:
    """When a job's first task began (seconds since 1970), how many lines are done, and how many it asks for."""

    begun: float
    done: int
    lines: int

    @classmethod
    def of(cls, arrivals: Arrivals) -> Self | None:
        """Return the pace of the job whose results arrive, the newest of several; None before its first."""
        found = list(arrivals.shards())
        newest = max((shard.header for shard in found), key=lambda header: header.created, default=None)
        if newest is None:
            return None
        own = [shard for shard in found if shard.header.job == newest.job]
        try:
            asked = of_values(newest.prompts, newest.block_size).up_to(newest.input_lines)
        except RangeError:
            return None
        begun = min(shard.header.created for shard in own)
        return cls(begun, sum(arrivals.count_shard(shard).done for shard in own), len(asked))

    def tell_left(self, now: float) -> str:
        """Return ", about 5 min left", or nothing where that cannot be told."""
        took = now - self.begun
        if took <= 0 or not 0 < self.done < self.lines:
            return ""
        return f", about {say_time(took * (self.lines - self.done) / self.done)} left"
