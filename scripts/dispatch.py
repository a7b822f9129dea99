"""Many rows at once to one server: continuous refill, retries, patience, and a server that dies.

`Dispatcher.run` takes rows lazily, keeps up to `concurrency` of them in flight without a barrier anywhere, and hands
each one's outcome to `done` exactly once. What may pass is tried again after a pause that grows; what cannot is final.
When the server died, the rows in flight are asked again after it is back. As one of them may be why it died, they go
few at a time after a first crash and alone after a second; a row alone in flight at a crash is set aside as its cause.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import audio
from client import Client, Unanswered
from dialects.base import Answer, Ask, Failure
from patience import Patience
from rows import RowError

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before another attempt
LONGEST_RETRY_AFTER = 120.0  # seconds a server may ask us to wait
SUSPECTS_AT_ONCE = 16  # rows in flight after a first crash, when all of them were in flight at it


class ServerGone(Exception):
    """No server can be had any more; rows that were not answered stay so."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Requests in flight, attempts a row, and seconds an attempt may take outside the server's queue."""

    concurrency: int
    attempts: int
    row_timeout: float


@dataclass(slots=True, eq=False)
class Pending:
    """A row on its way: its request, and what happened to it so far. `sent` is the time of its first attempt."""

    line: int
    ask: Ask
    encoded: bytes
    attempts: int = 0
    crashes: int = 0
    sent: float = 0.0
    task: asyncio.Task[Answer] | None = field(default=None, repr=False)


class Supervisor:
    """What the dispatcher needs to know of its server. This one is for a server that somebody else runs."""

    async def healthy(self) -> bool:
        """Tell whether the server answers."""
        raise NotImplementedError

    async def recover(self) -> str | None:
        """Bring the server back and return its address, or None where that is not ours to do.

        Raises ServerGone when no server can be had.
        """
        raise NotImplementedError


class Dispatcher:
    """Sends rows to a server. `connect` makes a client for an address."""

    def __init__(
        self,
        connect: Callable[[str], Client],
        url: str,
        limits: Limits,
        supervisor: Supervisor,
        patience: Patience,
        done: Callable[[Pending, Answer | Failure], None],
    ) -> None:
        self._connect, self._limits, self._supervisor, self._done = connect, limits, supervisor, done
        self._patience = patience
        self._client = connect(url)
        self._delayed: list[tuple[float, int, Pending]] = []
        self._suspects: deque[Pending] = deque()
        self._in_flight: set[Pending] = set()
        self._generation = 0  # counts the servers that died
        self._mending = asyncio.Lock()
        self._changed = asyncio.Event()
        self._stopped = False

    async def run(self, rows: Iterator[Pending]) -> None:
        """Ask all rows. Returns when each is done, or after `stop`. Raises ServerGone."""
        self._rows = rows
        watch = asyncio.create_task(self._watch())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._limits.concurrency):
                    first = self._next()
                    if first is None:
                        break
                    group.create_task(self._lane(first))
        except ExceptionGroup as group:
            raise _first(group) from None
        finally:
            watch.cancel()
            await self._client.__aexit__()

    def stop(self) -> None:
        """Send nothing more; `run` returns when what is in flight has arrived."""
        self._stopped = True
        self._changed.set()

    async def _lane(self, pending: Pending | None) -> None:
        """Ask one row after another until none is left."""
        while pending is not None:
            await self._attempt(pending)
            pending = await self._following()

    async def _following(self) -> Pending | None:
        """Return the next row, waiting while others may still come back for another attempt."""
        while not self._stopped:
            pending = self._next()
            if pending is not None:
                return pending
            if not (self._delayed or self._suspects or self._in_flight):
                break
            self._changed.clear()
            pause = max(0.0, self._delayed[0][0] - time.monotonic()) if self._delayed else None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), pause)
        self._changed.set()
        return None

    def _next(self) -> Pending | None:
        """Take a row that is due, or a new one, or a suspect when it may go; None when there is none to send now."""
        if self._stopped:
            return None
        if any(pending.crashes for pending in self._in_flight):
            return self._next_suspect()
        if self._delayed and self._delayed[0][0] <= time.monotonic():
            return self._taken(heapq.heappop(self._delayed)[2])
        new = next(self._rows, None)
        if new is not None:
            return self._taken(new)
        return None if self._in_flight or self._delayed else self._next_suspect()

    def _next_suspect(self) -> Pending | None:
        """Suspects go after all others: few at a time, and alone once they saw two crashes."""
        if not self._suspects:
            return None
        alone = self._suspects[0].crashes > 1 or any(pending.crashes > 1 for pending in self._in_flight)
        if len(self._in_flight) >= (1 if alone else SUSPECTS_AT_ONCE):
            return None
        return self._taken(self._suspects.popleft())

    def _taken(self, pending: Pending) -> Pending:
        self._in_flight.add(pending)
        return pending

    async def _attempt(self, pending: Pending) -> None:
        """Make one attempt, and settle the row, put it off, or mend the server."""
        if self._mending.locked():
            async with self._mending:  # the server is being brought back
                pass
        generation = self._generation
        pending.sent = pending.sent or time.time()
        try:
            pending.task = asyncio.create_task(self._post(pending))
            outcome: Answer | Failure = await self._patience.wait(pending.task, self._limits.row_timeout)
            pending.attempts += 1
        except Unanswered as unanswered:
            await self._settle(pending, unanswered, generation)
            return
        except RowError as error:
            outcome = Failure(error.code, error.message, None, pending.attempts + 1)
        finally:
            pending.task = None
            self._in_flight.discard(pending)
            self._changed.set()
        self._done(pending, outcome)

    async def _post(self, pending: Pending) -> Answer:
        if not pending.ask.file_url:
            return await self._client.post(pending.ask, pending.encoded)
        files = {"file": await asyncio.to_thread(audio.fetched, pending.ask.file_url)}
        return await self._client.post(pending.ask, pending.encoded, files)

    async def _settle(self, pending: Pending, unanswered: Unanswered, generation: int) -> None:
        failure = unanswered.failure
        doubtful = unanswered.lost or (failure.status or 0) >= 500
        if doubtful and await self._died(generation):
            self._suspect(pending, failure)
            return
        pending.attempts += 1
        if unanswered.passing and pending.attempts < self._limits.attempts:
            heapq.heappush(self._delayed, (time.monotonic() + _pause(pending, unanswered), id(pending), pending))
            self._changed.set()
            return
        self._done(pending, replace(failure, attempts=pending.attempts))

    async def _died(self, generation: int) -> bool:
        """Tell whether the server of this generation is dead, and bring up its successor. Raises ServerGone."""
        async with self._mending:
            if generation != self._generation:
                return True
            if await self._supervisor.healthy():
                return False
            url = await self._supervisor.recover()
            if url is None:
                return False
            self._generation += 1
            await self._client.__aexit__()
            self._client = self._connect(url)
            return True

    def _suspect(self, pending: Pending, failure: Failure) -> None:
        """Put a row that was in flight at a crash behind all others, or set it aside when it is the cause."""
        pending.crashes += 1
        if pending.crashes > 2:
            message = (
                f"the server died {pending.crashes} times while this row was in flight, the last time with no other"
            )
            self._done(pending, replace(failure, code="server_crash", message=message, attempts=pending.crashes))
            return
        self._suspects.append(pending)
        self._changed.set()

    async def _watch(self) -> None:
        """Cut attempts that are overdue, and end a server that stopped making progress."""
        while True:
            await asyncio.sleep(self._patience.interval)
            await self._patience.look(busy=bool(self._in_flight))


def _first(group: ExceptionGroup[Exception]) -> Exception:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, ExceptionGroup) else inner


def _pause(pending: Pending, unanswered: Unanswered) -> float:
    """Return the seconds before another attempt: what the server asks for, or an exponential pause with jitter."""
    if unanswered.after is not None:
        return min(unanswered.after, LONGEST_RETRY_AFTER)
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (pending.attempts - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret
