"""A row on its way to the server: its request, and what happened to it so far."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from dialects.exchange import Ask
from dialects.line import RowLine, ask_row
from dialects.question import NO_QUESTION, Question, name_question
from engine.facts import Served
from job.defaults import Defaults


@dataclass(slots=True, eq=False)
class Pending:
    """A row, its request, the request's bytes, the question that it is, and its attempts so far.

    `started` is when its first attempt began, in seconds since 1970, 0 before; `begun` is the same moment by the clock
    that only goes forward, for durations. `deaths` and `seen_alone` are for `Suspects`; `lowered` tells that its
    limit gave way, and `answers` how many rows the server had answered when it first did not take this one.
    """

    line: RowLine
    ask: Ask
    encoded: bytes
    question: Question = NO_QUESTION
    attempts: int = 0
    started: float = 0.0
    begun: float = 0.0
    deaths: list[int] = field(default_factory=list)  # of the server, while the row was in flight
    lowered: bool = False
    answers: int = -1
    seen_alone: bool = False  # it was the only row in flight at one of them

    def start(self) -> None:
        """Note that an attempt begins."""
        if not self.started:
            self.started, self.begun = time.time(), time.monotonic()

    def change(self, ask: Ask) -> None:
        """Ask another request from now on."""
        self.ask, self.encoded = ask, ask.encode()


def prepare(line: RowLine, defaults: Defaults, served: Served, server: str) -> Pending:
    """Return a row with its request to a server. Raises RowError for a row that cannot be asked."""
    ask = ask_row(line.row, line.dialect, defaults, served)
    return Pending(line, ask, ask.encode(), name_question(line.dialect.NAME, ask, server))
