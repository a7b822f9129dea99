"""What the answers took: the workers' time by session, what it went to, and what of it was paid in vain.

A session's time begins when it is entered and ends with its last row. Rows answer side by side, so that a session's
time belongs to the answers that are shown by their share of the seconds that its requests took. The rest was in vain:
rows that failed, answers that are not shown, and loads of the model after a server had died.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

from engine.note import Load
from results.shards import Shard
from results.spans import Span, Spans, count_seconds


@dataclass
class Rows:
    """Some rows of a shard: when they were being answered, and the seconds that their requests took, one by one."""

    spans: Spans = field(default_factory=Spans)
    seconds: float = 0.0
    answered: float = 0.0  # of `seconds`, those of answers that are shown
    failed: float = 0.0  # those of rows that are shown as failed


@dataclass
class Work:
    """What the rows of one shard took: its session's own, and those `kept` of an attempt before that was entered.

    `shown` are the spans of the results that are shown; `answers` counts the answers among them, `varying` those that
    would be others if they were asked again.
    """

    shard: Shard
    own: Rows = field(default_factory=Rows)
    kept: Rows = field(default_factory=Rows)
    shown: Spans = field(default_factory=Spans)
    answers: int = 0
    varying: int = 0

    def add(self, started: float | None, seconds: float | None) -> float:
        """Add a row; return when it was answered, in seconds since 1970."""
        began, took = started or self.shard.header.created, seconds or 0.0
        rows = self._rows_of(began)
        rows.seconds += took
        return rows.spans.add(began, took)

    def _rows_of(self, began: float) -> Rows:
        """Return the rows among which one counts that was begun then."""
        return self.kept if began < self.shard.header.entered else self.own

    def show(self, head: Mapping[str, Any]) -> None:
        """Note that a result of these is shown."""
        is_answer = head["status"] == "succeeded"
        self.answers += is_answer
        self.varying += is_answer and head.get("repeats") != 1
        if head.get("shared"):
            return
        began, took = head.get("started") or self.shard.header.created, head.get("seconds") or 0.0
        self.shown.add(began, took)
        rows = self._rows_of(began)
        if is_answer:
            rows.answered += took
        else:
            rows.failed += took


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds of workers. The first three went into what is shown, the others were in vain."""

    load: float = 0.0
    answering: float = 0.0
    idle: float = 0.0
    not_shown: float = 0.0
    failed: float = 0.0
    loads_again: float = 0.0

    def __add__(self, other: Time) -> Time:
        return Time(*(one + another for one, another in zip(astuple(self), astuple(other), strict=True)))

    @property
    def useful(self) -> float:
        """Return what the shown answers took."""
        return self.load + self.answering + self.idle

    @property
    def in_vain(self) -> float:
        """Return what was paid besides."""
        return self.not_shown + self.failed + self.loads_again


@dataclass(frozen=True, slots=True)
class Spent:
    """The time of some sessions; `untold` are those whose loads no shard tells."""

    time: Time
    sessions: int
    untold: int


def add_up_time(works: Iterable[Work]) -> Spent:
    """Add up what all sessions took whose shards these are."""
    sessions: dict[tuple[str, float, str], list[Work]] = {}
    kept = Time()
    before = 0
    for work in works:
        header, loads = work.shard.header, work.shard.loads
        name = "" if header.entered else loads[0].name if loads else header.job
        sessions.setdefault((header.worker, header.entered, name), []).append(work)
        if spans := work.kept.spans.all:
            before += 1
            kept += _divide([work.kept], Time(answering=count_seconds(spans)))
    time = sum(map(_count_session, sessions.values()), kept)
    untold = sum(not _tells_loads(works) for works in sessions.values())
    return Spent(time, len(sessions) + before, untold + before)


def _tells_loads(works: list[Work]) -> bool:
    header = works[0].shard.header
    return header.entered > 0 or bool(header.parameters.get("ServerUrl"))


def _count_session(works: list[Work]) -> Time:
    """Return what one session took."""
    headers = [work.shard.header for work in works]
    entered, begun = headers[0].entered, min(header.created for header in headers)
    answering = [span for work in works for span in work.own.spans.all]
    first, again = _find_loads(works, entered, begun)
    answered, loaded = count_seconds(answering), count_seconds([*answering, *first])
    busy = [*answering, *first, *again]
    total = count_seconds(busy)
    start = entered or min((first for first, _ in busy), default=begun)
    end = max((last for _, last in busy), default=begun)
    idle = max(0.0, end - start - total)
    time = _divide([work.own for work in works], Time(loaded - answered, answered, idle))
    return time + Time(loads_again=total - loaded)


def _find_loads(works: list[Work], entered: float, begun: float) -> tuple[list[Span], list[Span]]:
    """Return when the session's model was loaded at first, and when it was again after a server had died.

    A session whose chunks all still run, or were interrupted, tells no loads: then its first one is what came before
    its first chunk.
    """
    loads: dict[str, Load] = {load.name: load for work in works for load in work.shard.loads if load.seconds}
    if not loads and entered and not works[0].shard.header.parameters.get("ServerUrl"):
        return [(entered, max(entered, begun))], []
    spans = [(load.began, load.began + load.seconds) for load in loads.values()]
    return [span for span in spans if span[0] <= begun], [span for span in spans if span[0] > begun]


def _divide(rows: list[Rows], time: Time) -> Time:
    """Return a time divided between what is shown and what was in vain, by the seconds of the rows it went into."""
    seconds = sum(each.seconds for each in rows)
    useful = min(1.0, sum(each.answered for each in rows) / seconds) if seconds else 0.0
    failed = min(1.0 - useful, sum(each.failed for each in rows) / seconds) if seconds else 1.0
    load, answering, idle = (useful * each for each in (time.load, time.answering, time.idle))
    return Time(load, answering, idle, time.useful * (1.0 - useful - failed), time.useful * failed)
