"""One chunk's rows over the session's engines, which are copies of one model.

Each copy has a dispatcher of its own, and so its own rows in flight, its own deaths and suspects. They take new rows
from one source, in turn, each when it has room: so the next row goes to the copy with the least in flight. A copy that
still loads joins when it is ready; one that died takes no new row until it is back. What a copy had that cannot be had
any more goes to the others, and only when all are gone is there no server.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from asking.dispatcher import Dispatcher
from asking.pending import Pending
from engine.note import ServerGone
from host import runner

Join = Callable[[], Awaitable[Dispatcher]]  # waits for a copy to be ready; raises ServerGone for one that never will be


def share_out(concurrency: int, weights: Sequence[int]) -> list[int]:
    """Divide the requests in flight among copies by what each takes; every copy gets one at least."""
    ends = [concurrency * reached // sum(weights) for reached in accumulate(weights, initial=0)]
    return [max(1, end - begin) for begin, end in pairwise(ends)]


class Rows(Iterator[Pending]):
    """The rows that no copy has taken: those that one gave back, then those that are new."""

    def __init__(self, rows: Iterator[Pending]) -> None:
        self._new = rows
        self._returned: deque[Pending] = deque()

    def __next__(self) -> Pending:
        return self._returned.popleft() if self._returned else next(self._new)

    @property
    def has_returned(self) -> bool:
        """Tell whether there are rows that a copy gave back."""
        return bool(self._returned)

    def give_back(self, rows: Iterable[Pending]) -> None:
        """Take rows from a copy that is gone. What killed it, if a row did, another copy has to find anew."""
        for row in rows:
            row.deaths, row.seen_alone = [], False
            self._returned.append(row)


class Fleet:
    """Asks rows of several copies at once. `joins` has one function for each."""

    def __init__(self, joins: Sequence[Join]) -> None:
        self._joins = joins
        self._rows = Rows(iter(()))
        self._copies: list[Dispatcher] = []
        self._joining: set[asyncio.Task[None]] = set()
        self._working = 0  # copies that have rows
        self._lost = 0
        self._changed = asyncio.Event()
        self._stopped = False

    async def run(self, rows: Iterator[Pending]) -> None:
        """Ask all rows. Returns when each is done, or after `stop`. Raises ServerGone when no copy is left."""
        self._rows = Rows(rows)
        workers = [asyncio.create_task(self._work(join)) for join in self._joins]
        self._joining.update(workers)
        if self._stopped:
            self.stop()
        try:
            await _wait_for_one(workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            for copy in self._copies:
                await copy.close()

    def stop(self) -> None:
        """Send nothing more; `run` returns when what is in flight has arrived."""
        self._stopped = True
        for worker in self._joining:
            worker.cancel()
        for copy in self._copies:
            copy.stop()
        self._changed.set()

    def rest(self) -> Iterator[Pending]:
        """Give up the rows that have no outcome, once `run` has ended."""
        for copy in self._copies:
            yield from copy.take_rest()
        yield from self._rows

    async def _work(self, join: Join) -> None:
        """Have one copy ask rows, also those that another gives back, until all are done. Raises ServerGone."""
        copy = await self._join(join)
        more = True
        while more:
            self._working += 1
            try:
                await copy.run(self._rows)
            except ServerGone as error:
                self._rows.give_back(copy.take_rest())
                self._tell_loss(error)
                raise
            finally:
                self._working -= 1
                self._changed.set()
            more = await self._find_more()

    async def _join(self, join: Join) -> Dispatcher:
        try:
            copy = await join()
        except ServerGone as error:
            self._tell_loss(error)
            raise
        worker = asyncio.current_task()
        self._joining = {each for each in self._joining if each is not worker}
        self._copies.append(copy)
        return copy

    async def _find_more(self) -> bool:
        """Wait until a copy gives rows back, or none has any more; tell which."""
        while self._stopped or not self._rows.has_returned:
            if not self._working:
                return False
            self._changed.clear()
            await self._changed.wait()
        return True

    def _tell_loss(self, error: ServerGone) -> None:
        self._lost += 1
        if self._lost < len(self._joins):
            runner.say(f"{error} (the other copies go on without this one)")


async def _wait_for_one(workers: Sequence[asyncio.Task[None]]) -> None:
    """Return when one has ended well, since all is done then, or all were canceled. Raises ServerGone."""
    left = set(workers)
    gone: ServerGone | None = None
    while left:
        ended, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for worker in ended:
            if worker.cancelled():
                continue
            try:
                worker.result()
            except ServerGone as error:
                gone = error
            else:
                return
    if gone:
        raise gone
