"""The time in which rows were being answered: not that between two jobs, or between two attempts at a chunk."""

from __future__ import annotations

from collections.abc import Iterable

PAUSE_SECONDS = 10  # without a row in flight: an attempt had ended, and another began
MOST = 4096  # spans that are kept before those that meet are joined

Span = tuple[float, float]  # seconds since 1970


class Spans:
    """When the rows of one shard were being answered, in whatever order they are added."""

    def __init__(self) -> None:
        self._done: list[Span] = []
        self._most = MOST
        self._first, self._last = float("inf"), 0.0

    def add(self, started: float, seconds: float) -> float:
        """Add a row by when it was sent, in seconds since 1970; return when it was answered."""
        ended = started + seconds
        if self._last and (started > self._last + PAUSE_SECONDS or ended < self._first - PAUSE_SECONDS):
            self._done.append((self._first, self._last))
            self._first, self._last = started, ended
            if len(self._done) > self._most:
                self._done = join(self._done, PAUSE_SECONDS)
                self._most = max(MOST, 2 * len(self._done))
        self._first, self._last = min(self._first, started), max(self._last, ended)
        return ended

    @property
    def all(self) -> list[Span]:
        """Return all spans, ascending and apart."""
        return join([*self._done, (self._first, self._last)] if self._last else self._done, PAUSE_SECONDS)


def join(spans: Iterable[Span], pause: float = 0.0) -> list[Span]:
    """Return the spans ascending, those joined between which no more than a pause lies."""
    joined: list[Span] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + pause:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def count_seconds(spans: Iterable[Span]) -> float:
    """Return the seconds that lie in any of the spans."""
    return sum(last - first for first, last in join(spans))
