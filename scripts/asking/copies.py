"""The session's engines as one task asks them: each watched and linked, with its share of the requests in flight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from asking.client import Client, room_for
from asking.dispatcher import Dispatcher, Limits
from asking.fleet import Fleet, share_out
from asking.link import Link
from asking.meter import Meter
from asking.patience import Patience
from asking.pending import Pending
from asking.strangers import Strangers
from asking.trust import Trust
from dialects.exchange import Answer, Failure
from engine.key import read_key
from engine.note import Load, Note
from engine.watch import Watch
from host import runner

STALL_SECONDS, STALL_SHARE = 300.0, 0.75  # without any progress a server is stuck; noticed before its rows time out


class Copies:
    """The engines of `note`. `values` are the job's parameters; `session` keeps what is learned of the engines."""

    def __init__(self, session: Path, note: Note, values: Mapping[str, Any], strangers: Strangers) -> None:
        self._session, self._note, self._values, self._strangers = session, note, values, strangers
        self._key = read_key()
        self._watches = [Watch(session, note, self._key, each.number) for each in note.engines]
        self._meters: list[Meter] = []

    @property
    def loads(self) -> list[Load]:
        """Return the model loads that the task used."""
        return [load for watch in self._watches for load in watch.loads]

    def make_fleet(self, settle: Callable[[Pending, Answer | Failure], None]) -> Fleet:
        """Return what asks them all; `settle` gets each row's outcome once."""
        wanted = self._values["MaxConcurrency"] or sum(self._note.rows)
        concurrency = room_for(wanted)
        if concurrency < wanted:
            runner.say(
                f"{concurrency} requests are in flight at once, not {wanted}: no more files can be open (ulimit -n)"
            )
        shares = share_out(concurrency, self._note.rows)
        return Fleet([partial(self._join, number, share, settle) for number, share in enumerate(shares)])

    async def _join(
        self, number: int, concurrency: int, settle: Callable[[Pending, Answer | Failure], None]
    ) -> Dispatcher:
        """Wait for an engine to be ready; return what asks it. Raises ServerGone."""
        values, watch = self._values, self._watches[number]
        await watch.join()
        row_timeout = values["RowTimeoutSeconds"]
        meter = await self._measure(number, concurrency)
        patience = Patience(meter.look, watch.end_stuck, stall=min(STALL_SECONDS, STALL_SHARE * row_timeout))
        trust = Trust.load(self._session, number)
        link = Link(lambda url: Client(url, self._key, concurrency), watch.url, row_timeout, watch, patience, trust)
        link.find_stranger, link.note_in_flight = self._strangers.find, meter.note_in_flight
        waking = values["ServerStartTimeoutSeconds"] if self._note.external else 0.0
        return Dispatcher(link, Limits(concurrency, values["MaxAttempts"], waking), trust, settle)

    async def _measure(self, number: int, concurrency: int) -> Meter:
        """Begin to measure what an engine does; a given server takes as many rows as are asked at once."""
        external, place = self._note.external, self._note.engines[number].place
        rows = concurrency if external else place.sequences
        meter = Meter(rows, self._watches[number].metrics, counts=not external)
        self._meters.append(meter)
        await meter.read_counts()  # what was counted before
        return meter

    async def measure_use(self) -> list[dict[str, float]]:
        """Return what each engine that was asked did for this task."""
        return [await meter.end() for meter in self._meters]
