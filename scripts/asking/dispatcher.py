"""Many rows at once to one server: continuous refill, retries, patience, and a server that dies.

`Dispatcher.run` takes rows lazily, keeps up to `concurrency` of them in flight without a barrier anywhere, and hands
each one's outcome to `done` exactly once. What may pass is tried again after a pause that grows; what cannot is final.
When the server died, the rows in flight are asked again after it is back. As one of them may be why it died, they go
last and few at a time after a first crash, alone after a second. A row alone in flight at its second crash or a later
one is set aside as the cause.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from asking import audio
from asking.budget import lower_budget
from asking.client import Client, Unanswered
from asking.patience import Patience
from asking.pending import Pending
from dialects.exchange import Answer, Failure
from rows.errors import KILLED_SERVER

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before another attempt
LONGEST_RETRY_AFTER = 120.0  # seconds a server may ask us to wait
SUSPECTS_AT_ONCE = 16  # rows in flight after a first crash, when all of them were in flight at it


@dataclass(frozen=True, slots=True)
class Limits:
    """Requests in flight, attempts a row, and seconds an attempt may take outside the server's queue."""

    concurrency: int
    attempts: int
    row_timeout: float


class Server(Protocol):
    """What the dispatcher needs to know of its server."""

    async def find_death(self) -> float | None:
        """Return when the server died (time.monotonic()), None while it lives."""

    async def recover(self) -> str:
        """Bring the server back and return its address. Raises ServerGone when no server can be had."""

    def abandon(self) -> None:
        """Let a recovery that is under way end soon, by ServerGone."""


class Dispatcher:
    """Sends rows to a server. `connect` makes a client for an address."""

    def __init__(
        self,
        connect: Callable[[str], Client],
        url: str,
        limits: Limits,
        server: Server,
        patience: Patience,
        done: Callable[[Pending, Answer | Failure], None],
    ) -> None:
        self._connect, self._limits, self._server, self._done = connect, limits, server, done
        self._patience = patience
        self._client = connect(url)
        self._suspects: deque[Pending] = deque()
        self._in_flight: set[Pending] = set()
        self._on_trial = 0  # how many of the rows in flight are suspects
        self._deaths: list[frozenset[Pending]] = []  # the rows that were in flight when each server died
        self._dead = False  # the last of them has no successor yet
        self._seen_well = 0.0  # when the last look that found the server well began
        self._looking = asyncio.Lock()  # held by whoever looks at the server, or brings it back
        self._changed = asyncio.Event()
        self._stop = asyncio.Event()

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
        self._stop.set()
        self._changed.set()
        self._server.abandon()

    async def _lane(self, pending: Pending | None) -> None:
        """Ask one row after another until none is left. A row that waits for another attempt keeps its lane."""
        while pending is not None:
            outcome = await self._outcome(pending)
            self._in_flight.discard(pending)
            self._on_trial -= pending.on_trial
            self._changed.set()
            if outcome is not None:
                self._done(pending, outcome)
            pending = await self._following()

    async def _following(self) -> Pending | None:
        """Return the next row, waiting while there are suspects whose turn has not come."""
        while not self._stop.is_set():
            pending = self._next()
            if pending is not None or not (self._suspects or self._on_trial):
                return pending
            self._changed.clear()
            await self._changed.wait()
        return None

    def _next(self) -> Pending | None:
        """Take a new row, or a suspect when it may go; None when there is none to send now."""
        if self._stop.is_set():
            return None
        pending = None if self._on_trial else next(self._rows, None)
        if pending is None and self._may_try():
            pending = self._suspects.popleft()
            pending.on_trial = True
            self._on_trial += 1
        if pending is not None:
            self._in_flight.add(pending)
        return pending

    def _may_try(self) -> bool:
        """Suspects go after all other rows: few at a time, and alone once they saw two crashes."""
        if not self._suspects or len(self._in_flight) > self._on_trial:
            return False
        alone = self._suspects[0].crashes > 1 or any(pending.crashes > 1 for pending in self._in_flight)
        return self._on_trial < (1 if alone else SUSPECTS_AT_ONCE)

    async def _outcome(self, pending: Pending) -> Answer | Failure | None:
        """Ask a row until it has its outcome; None when it has become a suspect, or after `stop`."""
        while True:
            pending.rest()
            await self._server_up()
            if self._stop.is_set():
                return None
            generation = len(self._deaths)
            try:
                return await self._answer(pending)
            except Unanswered as unanswered:
                failed = unanswered
            doubtful = failed.lost or (failed.failure.status or 0) >= 500
            if doubtful and await self._died(generation):
                struck = self._deaths[generation]
                if failed.unsent or pending not in struck:
                    continue
                return self._suspected(pending, failed.failure, alone=len(struck) == 1)
            pending.rest()
            if roomier := lower_budget(pending.ask, failed.failure):
                pending.change(roomier)
                continue
            pending.attempts += 1
            if not failed.passing or pending.attempts >= self._limits.attempts:
                return replace(failed.failure, attempts=pending.attempts)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _pause(pending.attempts, failed.after))

    async def _answer(self, pending: Pending) -> Answer | Failure:
        """Make one attempt. Raises Unanswered."""
        pending.start()
        try:
            answer = await self._patience.wait(asyncio.create_task(self._post(pending)), self._limits.row_timeout)
        except Unanswered:
            raise
        except Exception as error:  # noqa: BLE001 - a row that cannot be asked, and what nobody thought of: this row's
            return replace(Failure.of(error), attempts=pending.attempts + 1)
        pending.attempts += 1
        return answer

    async def _post(self, pending: Pending) -> Answer:
        if not pending.ask.file_url:
            return await self._client.post(pending.ask, pending.encoded)
        files = {"file": await audio.fetch(pending.ask.file_url)}
        return await self._client.post(pending.ask, pending.encoded, files)

    async def _died(self, generation: int) -> bool:
        """Tell whether the server of this generation is dead. Rows that failed at once share one look at it."""
        noticed = time.monotonic()
        async with self._looking:
            if generation != len(self._deaths):
                return True
            if self._seen_well > noticed:
                return False
            began = time.monotonic()
            died = await self._server.find_death()
            if died is None:
                self._seen_well = began
                return False
            self._deaths.append(frozenset(pending for pending in self._in_flight if pending.asked <= died))
            self._dead = True
            return True

    async def _server_up(self) -> None:
        """Bring a dead server back: only here, so that none is started when no row is left. Raises ServerGone."""
        if not self._dead:
            return
        async with self._looking:
            if self._dead and not self._stop.is_set():
                try:
                    url = await self._server.recover()
                except BaseException:
                    self._stop.set()  # the rows that wait here are not to try it once more
                    raise
                old, self._client = self._client, self._connect(url)
                self._dead = False
                await old.__aexit__()

    def _suspected(self, pending: Pending, failure: Failure, *, alone: bool) -> Failure | None:
        """Put a row that was in flight at a crash behind all others, or return its failure when it is the cause."""
        pending.crashes += 1
        if alone and pending.crashes > 1:
            message = (
                f"the server died {pending.crashes} times while this row was in flight, the last time with no other"
            )
            attempts = pending.attempts + pending.crashes
            return replace(failure, code=KILLED_SERVER, message=message, attempts=attempts)
        self._suspects.append(pending)
        return None

    async def _watch(self) -> None:
        """End a server that stopped making progress."""
        while True:
            await asyncio.sleep(self._patience.interval)
            await self._patience.look(busy=bool(self._in_flight) and not self._dead)


def _first(group: ExceptionGroup[Exception]) -> Exception:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, ExceptionGroup) else inner


def _pause(attempts: int, asked: float | None) -> float:
    """Return the seconds before another attempt: what the server asks for, or what grows with the attempts.

    Both with jitter, so that rows that were refused together do not come back together.
    """
    jitter = random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
    if asked is not None:
        return min(asked, LONGEST_RETRY_AFTER) * (0.75 + jitter / 2)
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempts - 1)) * jitter
