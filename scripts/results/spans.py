"""The time in which rows were being answered: not that between two jobs, or between two attempts at a chunk."""

from __future__ import annotations

from collections.abc import Iterable

PAUSE_SECONDS = 10  # without a row in flight: an attempt had ended, and another began


class Spans:
    """When the rows of one shard were being answered; its spans may overlap."""

    def __init__(self) -> None:
        self._done: list[tuple[float, float]] = []
        self._first, self._last = float("inf"), 0.0

    def add(self, started: float, seconds: float) -> float:
        """Add a row by when it was sent, in seconds since 1970; return when it was answered."""
        ended = started + seconds
        if self._last and (started > self._last + PAUSE_SECONDS or ended < self._first - PAUSE_SECONDS):
            self._done.append((self._first, self._last))
            self._first, self._last = started, ended
        self._first, self._last = min(self._first, started), max(self._last, ended)
        return ended

    @property
    def all(self) -> list[tuple[float, float]]:
        """Return all spans."""
        return [*self._done, (self._first, self._last)] if self._last else self._done


def count_seconds(spans: Iterable[tuple[float, float]]) -> float:
    """Return the seconds that lie in any of the spans."""
    seconds = until = 0.0
    for first, last in sorted(spans):
        seconds += max(0.0, last - max(first, until))
        until = max(until, last)
    return seconds
