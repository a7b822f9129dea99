"""What one engine did for one task: how long it was how full, and what it counted meanwhile.

How full it is, is told by the requests that the task has in flight. The counters are the engine's own, so that another
task beside this one counts in them, too; those of a server that somebody else runs are not looked at.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable

from engine.address import UNREADABLE
from engine.metrics import read_cache_share, read_counters

LOW = 0.25  # of an engine's rows: with fewer in flight, most of what it could do is not asked of it
IDLE, LITTLE, PART, FULL = "idle", "little", "part", "full"


class Meter:
    """Measures from now on. `rows` in flight fill the engine; `look_at` fetches its page of metrics."""

    def __init__(self, rows: int, look_at: Callable[[], Awaitable[str]], *, counts: bool = True) -> None:
        self._rows, self._look_at, self._counts = rows, look_at, counts
        self._level, self._since = IDLE, time.monotonic()
        self._seconds = dict.fromkeys((IDLE, LITTLE, PART, FULL), 0.0)
        self._last: dict[str, float] = {}
        self._gained: dict[str, float] = {}
        self._cache = 0.0

    async def read_counts(self) -> None:
        """Learn what the engine counts now; one that does not tell counts nothing."""
        if self._counts:
            with contextlib.suppress(*UNREADABLE):
                await self.look()

    def note_in_flight(self, requests: int) -> None:
        """Learn how many requests are in flight from now on."""
        now = time.monotonic()
        self._seconds[self._level] += now - self._since
        self._since = now
        if requests >= self._rows:
            self._level = FULL
        else:
            self._level = PART if requests >= LOW * self._rows else LITTLE if requests else IDLE

    async def look(self) -> str:
        """Return the engine's page of metrics, and learn from it. Raises what `look_at` raises."""
        page = await self._look_at()
        if self._counts:
            self._note(page)
        return page

    def _note(self, page: str) -> None:
        counts = read_counters(page)
        for name, count in counts.items() if self._last else ():
            before = self._last.get(name, 0.0)
            gained = count - before if count >= before else count  # an engine that was started again counts anew
            self._gained[name] = self._gained.get(name, 0.0) + gained
        self._last = counts or self._last
        self._cache = max(self._cache, read_cache_share(page))

    async def end(self) -> dict[str, float]:
        """Return what the engine did: seconds by how full it was, and what it counted, where it tells."""
        self.note_in_flight(0)
        await self.read_counts()
        seconds = {name: round(value, 3) for name, value in self._seconds.items()}
        return {**seconds, **self._gained, **({"cache": self._cache} if self._last else {})}
