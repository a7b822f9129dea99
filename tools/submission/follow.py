"""Following a job: what arrived is merged every so often while the job runs, and the first answers are shown.

The finished files and the page are the usual ones, marked as unfinished. Starts no job and ends none: it says when so
many lines fail that the job should end.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import bundle  # noqa: F401  (puts scripts/ on the path)
from setup_env import say
from submission import merging
from submission.arrivals import Count, FirstAnswers
from submission.pace import Pace
from submission.request import Request

ENOUGH = 10  # lines done before a share of failures says anything
PAUSE_SECONDS = 30.0  # between two merges, at least
PAUSE_FACTOR = 10  # and so many times as long as a merge takes, so that following costs a tenth at most


@dataclass(frozen=True, slots=True)
class Following:
    """A person's wish to follow a job. `stop_above` is a share of failed lines in percent that ends it."""

    stop_above: float | None = None

    @classmethod
    def read(cls, asked: argparse.Namespace) -> Self | None:
        """Return the wish of a command line, or None."""
        return cls(asked.stop_if_failed) if asked.follow or asked.stop_if_failed is not None else None

    def start(self, request: Request, first: FirstAnswers, *, python: Path | None = None) -> Follower:
        """Return what follows a job of the request, whose answers arrive as `first` finds them."""
        return Follower(request, first, python, self.stop_above)


@dataclass
class Follower:
    """Follows one job into the folder of its request."""

    request: Request
    first: FirstAnswers
    python: Path | None = None
    stop_above: float | None = None
    _merged: Count = field(default_factory=Count)
    _next: float = 0.0  # by time.monotonic()

    def look(self, progress: str) -> bool:
        """Show and merge what is new; return whether so many lines failed that the job should end."""
        count = self.first.arrivals.count()
        if count == Count():
            return False
        self.first.show()
        if count != self._merged and time.monotonic() >= self._next:
            self._merge(count, progress)
        if self.stop_above is None or count.done < ENOUGH or count.failed * 100 <= self.stop_above * count.done:
            return False
        say(f"{count.failed:,} of {count.done:,} lines failed, more than {self.stop_above:g}%: the job is canceled")
        return True

    def _merge(self, count: Count, progress: str) -> None:
        begun = time.monotonic()
        first = self._merged == Count()
        if merging.find_obstacle(self.request.parameters, self.python):
            return
        pace = Pace.of(self.first.arrivals)
        left = pace.tell_left(time.time()) if pace else ""
        is_merged = merging.merge(self.request.parameters, python=self.python, unfinished=f"{progress}{left}")
        self._merged = count
        self._next = time.monotonic() + max(PAUSE_SECONDS, PAUSE_FACTOR * (time.monotonic() - begun))
        if is_merged:
            page = f"; load it anew for more: {self.request.output / 'results.html'}" if first else ""
            lines = "line" if count.succeeded == 1 else "lines"
            say(f"  so far {count.succeeded:,} {lines} answered, {count.failed:,} failed{left}{page}")
