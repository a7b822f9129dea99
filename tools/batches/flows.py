"""Calls that a running engine answers at once, and what came of each so far, for clients that read it as it comes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from batches.backend import BackendError
from batches.calls import Calls
from batches.live import Live, Outcome
from batches.models import Model
from batches.runpod_shapes import Job, State, Wanted, describe_failure
from batches.warm import Warm
from dialects.exchange import Failure
from engine.note import ServerError

KEEP_SECONDS = 600.0  # that the pieces of an ended call wait for a reader
CANCELLED = Outcome({}, Failure("aborted", "the call was cancelled", 499))


@dataclass
class Flow:
    """One call on its way: its pieces that nobody has read, and its outcome once it has one."""

    pieces: list[dict[str, Any]] = field(default_factory=list)
    outcome: Outcome | None = None
    task: asyncio.Task[None] | None = None
    told: int = 0  # pieces, read or not
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, piece: dict[str, Any]) -> None:
        """Take a piece of the answer."""
        self.pieces.append(piece)
        self.told += 1
        self._changed.set()

    def end(self, outcome: Outcome) -> None:
        """Take the outcome; an answer that did not come in pieces is one."""
        if outcome.failure is None and not self.told:
            self.tell(json.loads(outcome.results["output"]))
        self.outcome = outcome
        self._changed.set()

    async def read(self, seconds: float) -> list[dict[str, Any]]:
        """Return the pieces that nobody has read, waiting a while where there are none and more may come."""
        if not self.pieces and self.outcome is None:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), seconds)
            except TimeoutError:
                return []
        pieces, self.pieces = self.pieces, []
        return pieces

    async def wait(self, seconds: float) -> None:
        """Wait until the call has ended and that is noted, or so long."""
        if self.task:
            await asyncio.wait([self.task], timeout=seconds)


class Flows:
    """All calls that are asked at once."""

    def __init__(self, calls: Calls, warm: Warm) -> None:
        self._calls, self._warm = calls, warm
        self._flows: dict[str, Flow] = {}

    def find(self, name: str) -> Flow | None:
        """Return a call that is asked, or was lately."""
        return self._flows.get(name)

    def start(self, job: Job, wanted: Wanted, model: Model) -> Flow:
        """Ask a call; it goes on by itself."""
        flow = self._flows[job.id] = Flow()
        flow.task = asyncio.create_task(self._answer(job.id, flow, wanted, model))
        return flow

    async def cancel(self, name: str) -> None:
        """End a call that is asked; the engine drops it when its connection closes."""
        flow = self._flows.get(name)
        if flow and flow.task:
            flow.task.cancel()
            await flow.wait(KEEP_SECONDS)

    async def close(self) -> None:
        """End all calls; those that have no outcome are asked again by the next start."""
        for name in list(self._flows):
            await self.cancel(name)
        await self._warm.close()

    async def _answer(self, name: str, flow: Flow, wanted: Wanted, model: Model) -> None:
        outcome, state = CANCELLED, State.CANCELLED
        try:
            async with asyncio.timeout(wanted.execution or None), self._warm.use(model) as live:
                outcome = await _ask(live, flow, wanted)
            state = State.FAILED if outcome.failure else State.COMPLETED
        except TimeoutError:
            state = State.TIMED_OUT
            said = f"no answer within {wanted.execution:g} s (executionTimeout)"
            outcome = Outcome({}, Failure("request_timeout", said))
        except (BackendError, ServerError) as error:
            state = State.FAILED
            outcome = Outcome({}, Failure("unavailable", str(error), 503))
        finally:
            flow.end(outcome)
            asyncio.get_running_loop().call_later(KEEP_SECONDS, self._flows.pop, name, None)
        why = describe_failure(outcome.failure.as_json()) if outcome.failure else ""
        await asyncio.to_thread(self._calls.settle, [(name, state, outcome.results.get("output", ""), why)])


async def _ask(live: Live, flow: Flow, wanted: Wanted) -> Outcome:
    """Ask a call, piece by piece where that is wanted."""
    return await (live.stream(wanted.line, flow.tell) if wanted.streams else live.answer(wanted.line))
