"""Many rows at once to one engine: continuous refill, retries, and what follows when the engine dies.

`Dispatcher.run` takes rows lazily, keeps up to `concurrency` of them in flight without a barrier anywhere, and hands
each one's outcome to `done` exactly once. What may pass is tried again after a pause that grows; what cannot is final.
When the server died, the rows in flight are asked again after it is back (`Link`), in the order that `Suspects` gives,
which finds the rows that kill it; until then the rows that it does not have yet are left to others (`Fleet`).
`take_rest` gives up the rows that have no outcome, after `stop` or when the engine is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from asking.common_fault import CommonFault
from asking.link import Link, LoadsSpent
from asking.manners import Manners
from asking.pending import Pending
from asking.pressure import PRESSING, Pressure, choose_pause
from asking.suspects import Suspects
from asking.trust import Trust
from asking.unanswered import Unanswered
from dialects.exchange import Answer, Failure
from host import runner
from rows.errors import KILLED_SERVER

WAKING = 503  # the status of a server that is not ready yet


@dataclass(frozen=True, slots=True)
class Limits:
    """Requests in flight, attempts a row, and seconds that a server which answers nobody may take to wake up."""

    concurrency: int
    attempts: int
    waking: float = 0.0


class Dispatcher:
    """Sends rows to one engine."""

    def __init__(
        self, link: Link, limits: Limits, trust: Trust, done: Callable[[Pending, Answer | Failure], None]
    ) -> None:
        self._link, self._limits, self._trust, self._done = link, limits, trust, done
        link.note_death, link.free = self._note_death, self._free
        self._rows: Iterator[Pending] = iter(())
        self._suspects = Suspects()
        self._guilty: list[tuple[Pending, Failure]] = []  # until the server answers somebody else
        self._in_lanes: set[Pending] = set()
        self._on_trial: list[Pending] = []  # those of them that are suspects
        self._alone: Pending | None = None  # nothing else is asked meanwhile
        self._manners, self._pressure = Manners(), Pressure(limits.concurrency)
        self._common = CommonFault(link.try_out)
        self._changed = asyncio.Event()
        link.note_return = self._changed.set
        self._stop = asyncio.Event()

    async def run(self, rows: Iterator[Pending]) -> None:
        """Ask all rows. Returns when each is done, or after `stop`; may be called again. Raises ServerGone."""
        self._rows = rows
        watch = asyncio.create_task(self._link.watch())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._limits.concurrency):
                    first = self._next()
                    if first is None and not self._waits:
                        break
                    group.create_task(self._lane(first))
                    await asyncio.sleep(0)  # other engines take their rows in turn
            if self._trust.is_doubtful and not self._stop.is_set():
                await self._link.bring_up()  # the guilty may be innocent, and only the server can tell
            if not self._trust.is_doubtful:
                self._tell_guilty()
        except ExceptionGroup as group:
            error = _first(group)
            if isinstance(error, LoadsSpent):
                self._tell_guilty()
            raise error from None
        finally:
            watch.cancel()

    async def close(self) -> None:
        """Close all connections."""
        await self._link.disconnect()

    def stop(self) -> None:
        """Send nothing more; `run` returns when what is in flight has arrived."""
        self._stop.set()
        self._changed.set()
        self._pressure.wake()
        self._link.close()

    def take_rest(self) -> list[Pending]:
        """Give up the rows that it took and that have no outcome, once `run` has ended."""
        rest = [*self._in_lanes, *(pending for pending, _ in self._guilty), *self._suspects.drain()]
        self._in_lanes.clear()
        self._guilty, self._on_trial, self._alone = [], [], None
        return rest

    async def _lane(self, pending: Pending | None) -> None:
        """Ask one row after another until none is left. A row that waits for another attempt keeps its lane."""
        pending = pending or await self._following()
        while pending is not None:
            outcome = await self._outcome(pending)
            if outcome is not None:
                self._leave(pending)
                self._settle(pending, outcome)
            self._changed.set()
            pending = await self._following()

    async def _following(self) -> Pending | None:
        """Return the next row, waiting while there are suspects whose turn has not come."""
        while not self._stop.is_set():
            pending = self._next()
            if pending is not None or not self._waits:
                return pending
            self._changed.clear()
            await self._changed.wait()
        return None

    @property
    def _waits(self) -> bool:
        """Tell whether there may be a row to send later where there is none now."""
        busy = self._guilty and self._in_lanes
        return bool(self._suspects or self._on_trial or self._alone or busy or self._link.is_coming)

    def _next(self) -> Pending | None:
        """Take a new row, or a suspect when it may go; None when there is none to send now."""
        if self._stop.is_set() or self._alone or (self._guilty and self._in_lanes):
            return None  # after a row was found guilty one is asked alone, until an answer shows that the server works
        if self._link.is_coming:
            return None  # one row has the engine brought back; the others may be answered elsewhere meanwhile
        pending = None
        if self._suspects.has_first:
            if not self._in_lanes:
                pending = self._alone = self._suspects.take_first()
        elif not self._on_trial:
            pending = self._suspects.take_free() or next(self._rows, None)
        if pending is None and not self._suspects.has_first and len(self._in_lanes) == len(self._on_trial):
            pending = self._suspects.take(self._on_trial)
            self._on_trial += [pending] if pending else []
        if pending is not None:
            self._in_lanes.add(pending)
        return pending

    def _leave(self, pending: Pending) -> None:
        """Take a row out of its lane."""
        self._in_lanes.discard(pending)
        if pending in self._on_trial:
            self._on_trial.remove(pending)
        if pending is self._alone:
            self._alone = None

    async def _outcome(self, pending: Pending) -> Answer | Failure | None:
        """Ask a row until it has its outcome; None when it is in other hands, or after `stop`."""
        while True:
            await self._link.bring_up()
            async with self._pressure.turn(self._stop) as begun:
                if self._stop.is_set():
                    return None  # `take_rest` finds it
                if common := self._common.find(pending.ask):
                    return replace(common, attempts=pending.attempts)
                self._adapt(pending)
                try:
                    return await self._link.ask(pending)
                except Unanswered as unanswered:
                    failed = unanswered
                if failed.failure.status in PRESSING:
                    self._pressure.note_refusal(begun, failed.after)
            if await self._learn(pending, failed):
                continue
            if common := self._common.find(pending.ask):
                return replace(common, attempts=pending.attempts)
            is_waking = self._is_waking(pending, failed.failure)
            if not failed.passing or (pending.attempts >= self._limits.attempts and not is_waking):
                return replace(failed.failure, attempts=pending.attempts)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), choose_pause(pending.attempts, failed.after))

    def _adapt(self, pending: Pending) -> None:
        """Change a row's request to what the server is known to take."""
        adapted = self._manners.adapt(pending.ask)
        if adapted is not pending.ask:
            pending.change(adapted)

    async def _learn(self, pending: Pending, failed: Unanswered) -> bool:
        """Learn from a failure; tell whether the row has another request now."""
        try:
            if self._changes(pending, failed.failure):
                return True
            await self._common.note_failure(pending.ask, failed)
        except Exception as error:  # noqa: BLE001 - what nobody thought of costs the lesson, not the chunk
            runner.say(f"nothing was learned from a failure: {type(error).__name__}: {error}")
        return False

    def _changes(self, pending: Pending, failure: Failure) -> bool:
        """Tell whether the row has another request now, since the server refused what is not the row's own."""
        changed = self._manners.learn(pending.ask, failure, again=pending.lowered)
        if changed is None:
            return False
        pending.lowered = pending.lowered or changed.body.get(changed.lent) != pending.ask.body.get(pending.ask.lent)
        pending.attempts -= 1  # what the job gave was not the row's
        pending.change(changed)
        return True

    def _is_waking(self, pending: Pending, failure: Failure) -> bool:
        """Tell whether the server answers nobody since it first did not take this row, and may still wake up."""
        if failure.status != WAKING or not self._limits.waking:
            return False
        if pending.answers < 0:
            pending.answers = self._pressure.answers
        is_quiet = pending.answers == self._pressure.answers
        return is_quiet and time.monotonic() - pending.begun < self._limits.waking

    def _settle(self, pending: Pending, outcome: Answer | Failure) -> None:
        """Hand over a row's outcome; an answer proves that the server is not why others killed it."""
        if isinstance(outcome, Answer):
            self._pressure.note_answer()
            self._common.note_answer(pending.ask)
            self._suspects.note_answer(pending)
            self._trust.note_answer(pending.ask, pending.encoded)
            self._tell_guilty()
        self._done(pending, outcome)

    def _note_death(self, in_flight: Sequence[Pending], fresh: bool) -> None:  # noqa: FBT001 - the link's to call
        for pending in in_flight:
            self._leave(pending)
        guilty = self._suspects.note_death(in_flight, fresh=fresh)
        if guilty:
            deaths = len(guilty.deaths)
            message = f"the server died {deaths} times while this row was in flight, the last time with no other"
            self._guilty.append((guilty, Failure(KILLED_SERVER, message, attempts=guilty.attempts + deaths)))
            self._trust.note_guilty()
        self._changed.set()

    def _free(self, rows: Sequence[Pending]) -> None:
        for pending in rows:
            self._leave(pending)
        self._suspects.free(rows)

    def _tell_guilty(self) -> None:
        """Hand over the rows that were found guilty."""
        guilty, self._guilty = self._guilty, []
        for pending, failure in guilty:
            self._done(pending, failure)


def _first(group: ExceptionGroup[Exception]) -> Exception:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, ExceptionGroup) else inner
