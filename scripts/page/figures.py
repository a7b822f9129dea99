"""Figures over all rows of a job, held by the page or not: when and where they finished, how long each took.

One row costs about a microsecond and memory stays small: times go into buckets that double in width when they are many.
"""

from __future__ import annotations

import math
from typing import Any

from page.blocks import PageRow

MAX_BUCKETS = 4_096  # over all lanes; more would be finer than a screen
BINS_A_DOUBLING = 2  # of the histogram of latencies, which is logarithmic


class Figures:
    """Counts rows, their finishing times by worker, and their latencies."""

    def __init__(self) -> None:
        self.rows = 0
        self.failed = 0
        self.width = 1  # seconds
        self._finished: dict[tuple[str, int], int] = {}
        self._latency: dict[int, int] = {}

    def add(self, row: PageRow) -> None:
        """Count one row."""
        self.rows += 1
        if row.status != "succeeded":
            self.failed += 1
        if row.seconds is None or row.seconds < 0 or not math.isfinite(row.seconds):
            return
        latency = math.floor(math.log2(max(row.seconds, 0.001)) * BINS_A_DOUBLING)
        self._latency[latency] = self._latency.get(latency, 0) + 1
        if row.started is not None and math.isfinite(row.started):
            self._finish(row.worker, row.started + row.seconds)

    def _finish(self, worker: str, when: float) -> None:
        key = (worker, int(when) // self.width)
        self._finished[key] = self._finished.get(key, 0) + 1
        while len(self._finished) > MAX_BUCKETS and self.width < 1 << 40:
            self._widen()

    def _widen(self) -> None:
        """Join the buckets two by two."""
        self.width *= 2
        joined: dict[tuple[str, int], int] = {}
        for (worker, bucket), count in self._finished.items():
            key = (worker, bucket // 2)
            joined[key] = joined.get(key, 0) + count
        self._finished = joined

    def as_dict(self) -> dict[str, Any]:
        """Return what the charts draw."""
        lanes: dict[str, list[list[int]]] = {}
        for (worker, bucket), count in sorted(self._finished.items()):
            lanes.setdefault(worker, []).append([bucket * self.width, count])
        return {
            "width": self.width,
            "lanes": [{"worker": worker, "buckets": buckets} for worker, buckets in lanes.items()],
            "bins": BINS_A_DOUBLING,
            "latency": sorted(self._latency.items()),
        }
