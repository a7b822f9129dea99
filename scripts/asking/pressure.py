"""How much a server takes at once, learned from its refusals (429, 503, 529).

A refusal halves what may be in flight, each answer adds a little again. Where nothing is answered between two refusals,
nothing is sent for a while, as long as the server asks for within reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

PRESSING = frozenset({429, 503, 529})
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before another attempt of a row, or of any
LONGEST_RETRY_AFTER = 60.0  # seconds a server may ask a row to wait; what asks for more holds up no job
_GAIN = 0.25  # requests more, for each answer


class Pressure:
    """Lets up to `most` requests be in flight, fewer while the server refuses them."""

    def __init__(self, most: int) -> None:
        self._most, self._allowed = most, float(most)
        self._in_flight = 0
        self._cut = self._until = 0.0  # when a refusal last counted, and when something may be sent again
        self._pause = FIRST_PAUSE
        self._is_quiet = False  # nothing was answered since the last refusal that counted
        self._changed = asyncio.Event()
        self.answers = 0

    @contextlib.asynccontextmanager
    async def turn(self, stop: asyncio.Event) -> AsyncIterator[float]:
        """Wait until a request may be sent, or `stop`; gives the moment."""
        while not stop.is_set() and (wait := self._wait()) != 0:
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), None if wait < 0 else wait)
        self._in_flight += 1
        try:
            yield asyncio.get_running_loop().time()
        finally:
            self._in_flight -= 1
            self._changed.set()

    def wake(self) -> None:
        """Let those who wait look at `stop`."""
        self._changed.set()

    def _wait(self) -> float:
        """Return the seconds until a request may be sent, less than 0 where another has to end first."""
        left = self._until - asyncio.get_running_loop().time() if self._until else 0.0
        return left if left > 0 else -1.0 if self._in_flight >= max(1, int(self._allowed)) else 0.0

    def note_answer(self) -> None:
        """Learn that a request was answered."""
        self.answers += 1
        self._is_quiet, self._pause = False, FIRST_PAUSE
        if self._allowed < self._most:
            self._allowed = min(self._most, self._allowed + _GAIN)

    def note_refusal(self, begun: float, asked: float | None) -> None:
        """Learn that a request that began at a moment was refused; `asked` is the server's Retry-After in seconds."""
        if begun < self._cut:
            return  # it was sent before the last cut, and tells nothing new
        now = asyncio.get_running_loop().time()
        if self._is_quiet:
            wanted = asked if asked is not None and asked <= LONGEST_PAUSE else self._pause
            self._until, self._pause = now + wanted, min(LONGEST_PAUSE, 2 * self._pause)
        self._cut, self._is_quiet = now, True
        self._allowed = max(1.0, self._in_flight / 2)


def choose_pause(attempts: int, asked: float | None) -> float:
    """Return the seconds before another attempt: what the server asks for, or what grows with the attempts.

    Both with jitter, so that rows that were refused together do not come back together.
    """
    jitter = random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
    if asked is not None and asked <= LONGEST_RETRY_AFTER:
        return asked * (0.75 + jitter / 2)
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempts - 1)) * jitter
