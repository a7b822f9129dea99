"""The link to one engine: rows are asked through it, its death is noticed, and it is brought back while that helps.

Who was in flight is told from the moment of the death: the requests that the engine had then and has not answered,
whenever their rows notice. The engine is brought back only for a row, and only while its loads help (`Trust`),
CHUNK_LOADS times at most.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from asking import audio
from asking.client import Client
from asking.patience import Patience
from asking.pending import Pending
from asking.trust import GUILTY_LIMIT, LOADS_LIMIT, Trust
from asking.unanswered import Unanswered
from dialects.exchange import Answer, Ask, Failure
from engine.note import ServerGone

CHUNK_LOADS = 64  # model loads that one chunk may cost, however much each helps
SETTLE_SECONDS = 1.0  # for the connections to an engine that died to end


class LoadsSpent(ServerGone):
    """The chunk had all the loads that one may have, and each of them helped."""


class Server(Protocol):
    """What the link needs to know of its engine."""

    async def find_death(self) -> float | None:
        """Return when the engine died, by time.monotonic(), or None when it lives."""

    async def recover(self) -> str:
        """Bring the engine back and return its address. Raises ServerGone when none can be had."""

    def abandon(self) -> None:
        """Let a recovery that is under way end soon, by ServerGone."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that the engine may have. `begun` is by time.monotonic()."""

    task: asyncio.Task[Answer]
    begun: float

    def was_in_flight(self, died: float) -> bool:
        """Tell whether the engine had it when it died."""
        if not self.task.done():
            return self.begun <= died
        error = None if self.task.cancelled() else self.task.exception()
        return isinstance(error, Unanswered) and error.doubtful and not error.unsent and self.begun <= died


class Link:
    """Asks one engine. `connect` makes a client for an address.

    `note_death` gets the rows that were in flight at a death, in the order in which they were sent, and whether nothing
    else was asked of the engine since its load; then `free` gets the rows that were too late for it. `note_return` is
    called when the engine is back, `note_in_flight` whenever it has more or fewer requests. `find_stranger` gives a row
    that is not among those asked here.
    """

    def __init__(
        self,
        connect: Callable[[str], Client],
        url: str,
        row_timeout: float,
        server: Server,
        patience: Patience,
        trust: Trust,
    ) -> None:
        self._connect, self._row_timeout, self._server = connect, row_timeout, server
        self._patience, self._trust = patience, trust
        self.note_death: Callable[[Sequence[Pending], bool], None] = lambda *_: None
        self.free: Callable[[Sequence[Pending]], None] = lambda *_: None
        self.note_return: Callable[[], None] = lambda: None
        self.note_in_flight: Callable[[int], None] = lambda _: None
        self.find_stranger: Callable[[], Ask | None] = lambda: None
        self._client = connect(url)
        self._open: dict[Pending, Attempt] = {}
        self._asked = 1  # requests since its load; the chunk does not know what others asked of the first
        self._loads = 0  # of this chunk
        self._generation = 0  # counts the deaths
        self._dead = False  # the last of them has no successor yet
        self._closed = False
        self._callers = 0  # rows that wait for it to come back
        self._seen_well = 0.0  # when the last look that found the engine well began
        self._looking = asyncio.Lock()  # held by whoever looks at the engine, or brings it back

    def close(self) -> None:
        """Bring the engine back no more."""
        self._closed = True
        self._server.abandon()

    async def disconnect(self) -> None:
        """Close all connections."""
        await self._client.__aexit__()

    async def ask(self, pending: Pending) -> Answer | Failure | None:
        """Make one attempt; None when the engine died, so that the row is in other hands. Raises Unanswered."""
        pending.start()
        generation = self._generation
        attempt = Attempt(asyncio.create_task(self._post(pending)), time.monotonic())
        self._open[pending], self._asked = attempt, self._asked + 1
        self.note_in_flight(len(self._open))
        outcome: Answer | Failure | Unanswered
        try:
            outcome = await self._patience.wait(attempt.task, self._row_timeout)
        except Unanswered as unanswered:
            outcome = unanswered
            if unanswered.doubtful and await self._died(generation):
                return None
        except Exception as error:  # noqa: BLE001 - a row that cannot be asked, and what nobody thought of: this row's
            outcome = replace(Failure.of(error), attempts=pending.attempts + 1)
        if self._open.get(pending) is not attempt:
            return None
        del self._open[pending]
        self.note_in_flight(len(self._open))
        pending.attempts += 1
        if isinstance(outcome, Unanswered):
            raise outcome
        return outcome

    async def try_out(self, ask: Ask) -> Unanswered | None:
        """Make a request that is no row's; return why it has no answer, None where it has one."""
        self._asked += 1
        try:
            await self._patience.wait(asyncio.create_task(self._client.post(ask, ask.encode())), self._row_timeout)
        except Unanswered as unanswered:
            return unanswered
        return None

    async def _post(self, pending: Pending) -> Answer:
        if not pending.ask.file_url:
            return await self._client.post(pending.ask, pending.encoded)
        files = {"file": await audio.fetch(pending.ask.file_url)}
        return await self._client.post(pending.ask, pending.encoded, files)

    async def _died(self, generation: int) -> bool:
        """Tell whether the engine of this generation is dead. Rows that failed at once share one look at it."""
        noticed = time.monotonic()
        async with self._looking:
            if generation != self._generation:
                return True
            if self._seen_well > noticed:
                return False
            began = time.monotonic()
            died = await self._server.find_death()
            if died is None:
                self._seen_well = began
                return False
            await self._bury(died)
            return True

    async def _bury(self, died: float) -> None:
        """Give every row that was asked into other hands, after all that was answered has arrived."""
        self._generation += 1
        self._dead = True
        tasks = [attempt.task for attempt in self._open.values() if not attempt.task.done()]
        if tasks:
            await asyncio.wait(tasks, timeout=SETTLE_SECONDS)
        answered = {row for row, attempt in self._open.items() if _is_settled(attempt.task)}
        in_flight = [row for row, attempt in self._open.items() if attempt.was_in_flight(died)]
        late = [row for row in self._open if row not in answered and row not in in_flight]
        self._open = {row: attempt for row, attempt in self._open.items() if row in answered}
        self.note_in_flight(len(self._open))
        self.note_death(in_flight, len(in_flight) == self._asked == 1)
        self.free(late)

    @property
    def is_coming(self) -> bool:
        """Tell whether the engine is dead and a row has it brought back."""
        return self._dead and self._callers > 0

    async def bring_up(self) -> None:
        """Bring a dead engine back: only here, so that none is started when no row is left. Raises ServerGone."""
        if not self._dead:
            return
        self._callers += 1
        try:
            await self._bring_up()
        finally:
            self._callers -= 1
        self.note_return()

    async def _bring_up(self) -> None:
        async with self._looking:
            if self._dead and not self._closed:
                try:
                    url = await self._load()
                except BaseException:
                    self._closed = True  # the rows that wait here are not to try it once more
                    raise
                old, self._client = self._client, self._connect(url)
                self._dead, self._asked = False, 0
                await old.__aexit__()
                if self._trust.is_doubtful:
                    await self._ask_witness()

    async def _load(self) -> str:
        """Load the engine again and return its address. Raises ServerGone, also when it is not worth it."""
        if not self._trust.is_worth_a_load:
            raise ServerGone(f"The server died {LOADS_LIMIT} times and answered nothing; another worker may do better")
        if self._trust.is_doubtful and not self._find_witness():
            self._trust.note_broken()
            raise ServerGone(f"{GUILTY_LIMIT} rows in a row ended the server, and it never answered any other row")
        if self._loads == CHUNK_LOADS:
            raise LoadsSpent(f"The chunk cost {CHUNK_LOADS} model loads, which is all that one may")
        self._loads += 1
        self._trust.note_load()
        return await self._server.recover()

    def _find_witness(self) -> Ask | None:
        """Return a row that the engine answered before, else one that it was never asked."""
        return self._trust.get_witness() or (None if self._trust.is_broken else self.find_stranger())

    async def _ask_witness(self) -> None:
        """See whether the engine answers a row that is not under suspicion. Raises ServerGone."""
        witness = self._find_witness()
        assert witness is not None  # else there was no load
        if failed := await self.try_out(witness):
            self._closed = True
            self._trust.note_broken()
            which = "that it had answered before" if self._trust.witness else "of another chunk"
            reason = f"{GUILTY_LIMIT} rows in a row ended the server, and then one {which}"
            raise ServerGone(f"{reason}; another worker may do better ({failed})")
        self._trust.note_answer(witness, witness.encode())

    async def watch(self) -> None:
        """End an engine that stopped making progress; runs until it is canceled."""
        while True:
            await asyncio.sleep(self._patience.interval)
            await self._patience.look(busy=bool(self._open) and not self._dead)


def _is_settled(task: asyncio.Task[Answer]) -> bool:
    """Tell whether an attempt ended in a way that says nothing of the engine."""
    if not task.done() or task.cancelled():
        return task.done()
    error = task.exception()
    return not (isinstance(error, Unanswered) and error.doubtful)
