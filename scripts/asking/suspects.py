"""Who may have killed the engine: the rows that were in flight when it died, and how the guilty ones are found.

A death makes suspects of all rows that were in flight at that moment. The one that was sent last is asked again at
once, alone on the new engine, since a row that kills often does so when it arrives. The other suspects go after all
other rows: after one death as many at once as the square root of how many were in flight, so that one more death leaves
few; after two deaths alone. With 256 in flight that finds a guilty row in three deaths, where halves would take five to
nine; the price are some rows that wait for each other.

A row is guilty when it was alone in flight at its second death or a later one. The first such row of a chunk has to
kill an engine that was asked nothing else since its load, so that an engine which dies by itself now and then is never
taken for a row's fault. A guilty row explains its deaths: who was suspected for these alone is free again.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from asking.pending import Pending


class Suspects:
    """The rows under suspicion that are not in flight. Knows nothing of time, servers or tasks."""

    def __init__(self) -> None:
        self._waiting: deque[Pending] = deque()
        self._free: deque[Pending] = deque()
        self._company: list[int] = []  # how many rows were in flight at each death
        self._explained: set[int] = set()
        self._first: Pending | None = None  # is asked alone before anything else
        self._rows_kill = False  # it was seen that a row, and not the engine by itself, is why it dies

    def __bool__(self) -> bool:
        return bool(self._waiting or self._free or self._first)

    def drain(self) -> Iterator[Pending]:
        """Give up all rows that wait."""
        if self._first:
            yield self._first
        yield from (*self._free, *self._waiting)
        self._first = None
        self._free.clear()
        self._waiting.clear()

    def note_death(self, in_flight: Sequence[Pending], *, fresh: bool) -> Pending | None:
        """Take the rows that were in flight at a death, in the order in which they were sent; return a guilty one.

        `fresh` tells that nothing else was asked of the engine since its load.
        """
        death = len(self._company)
        self._company.append(len(in_flight))
        for row in in_flight:
            row.deaths.append(death)
        if len(in_flight) != 1:
            self._suspect(in_flight)
            return None
        [row] = in_flight
        if len(row.deaths) > 1 and (fresh or self._rows_kill):
            self._rows_kill = True
            self._explain(row)
            return row
        row.seen_alone = True
        self._first = row
        return None

    def note_answer(self, row: Pending) -> None:
        """Learn that a row was answered."""
        if row.seen_alone:
            self._rows_kill = False  # the engine died with this row alone, and not because of it

    def free(self, rows: Iterable[Pending]) -> None:
        """Take rows that are to be asked again like any other."""
        self._free.extend(rows)

    @property
    def has_first(self) -> bool:
        """Tell whether a row is to be asked alone before all others."""
        return self._first is not None

    def take_first(self) -> Pending | None:
        """Return that row."""
        row, self._first = self._first, None
        return row

    def take_free(self) -> Pending | None:
        """Return a row that may be asked like any other."""
        return self._free.popleft() if self._free else None

    def take(self, on_trial: Sequence[Pending]) -> Pending | None:
        """Return the next suspect if it may be asked beside those that are on trial."""
        if not self._waiting:
            return None
        room = min(map(self._room, (*on_trial, self._waiting[0])))
        return self._waiting.popleft() if len(on_trial) < room else None

    def _suspect(self, rows: Sequence[Pending]) -> None:
        newest_first = list(reversed(rows))
        if rows and len(rows[-1].deaths) == 1:
            self._first = newest_first.pop(0)
        self._waiting.extendleft(row for row in rows if row is not self._first and self._open_deaths(row) > 1)
        self._waiting.extend(row for row in newest_first if self._open_deaths(row) <= 1)

    def _open_deaths(self, row: Pending) -> int:
        """Return for how many deaths the row may still be to blame."""
        return len(set(row.deaths) - self._explained)

    def _room(self, row: Pending) -> int:
        """Return how many rows may be asked at once when this is one of them."""
        if self._open_deaths(row) > 1:
            return 1
        return max(1, math.isqrt(min(self._company[death] for death in row.deaths)))

    def _explain(self, guilty: Pending) -> None:
        self._explained.update(guilty.deaths)
        waiting = list(self._waiting)
        self._free.extend(row for row in waiting if not self._open_deaths(row))
        self._waiting = deque(row for row in waiting if self._open_deaths(row))
