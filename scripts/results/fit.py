"""Which of the results that belong to no line by their place fit the lines that have no answer.

A result fits the line whose question it was asked. That two lines are equal and were asked on the same terms shows it
soonest; else the line's question is made again. Each line takes a result of its own, as long as there are as many: the
result of the same line first, else the newest.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dialects.line import RawLine
from engine.facts import Served
from results.chosen import BY_QUESTION, BY_ROW
from results.lookup import Lookup
from results.record import NO_KEY, digest_row, read_key
from results.retry import Input
from results.spares import Dealer, Spares
from results.terms import Terms
from rows.row import is_blank

Give = Callable[[int, int, int], None]  # a line, a result's number, and how it was found


@dataclass
class Asking:
    """On what terms the lines are asked, and what the servers said of themselves that were asked on them."""

    terms: Terms
    served: list[Served]


@dataclass
class Openings:
    """Lines of the input that lack an answer, ascending. `first` tells which were asked for: they are served first."""

    input: Input
    asking: Asking
    lines: array.array[int]
    first: bytearray
    rows: array.array[int] = field(default_factory=lambda: array.array("Q"))
    open: bytearray = field(init=False)
    _questions: list[array.array[int]] = field(default_factory=list)  # of each server
    repeats: bytearray = field(init=False)  # whoever asks the question again gets the same answer

    def __post_init__(self) -> None:
        self.open = bytearray(b"\1" * len(self.lines))
        self.repeats = bytearray(len(self.lines))

    def in_turn(self) -> Iterator[int]:
        """Yield the places of those that are open, in the order in which they are served."""
        for wanted in (True, False):
            for place in range(len(self.lines)):
                if self.open[place] and bool(self.first[place]) == wanted:
                    yield place

    def read_rows(self, find_row: Callable[[int], int]) -> None:
        """Look at the lines; `find_row` tells the row of a line that the input does not hold any more."""
        self.rows = array.array("Q", bytes(8 * len(self.lines)))
        raws = self.input.find_raws(self.lines)
        for place, line in enumerate(self.lines):
            raw = raws.find(line)
            if raw is None:
                self.rows[place] = find_row(line)
            elif is_blank(raw):
                self.open[place] = False
            else:
                self.rows[place] = read_key(digest_row(raw))

    def find_questions(self) -> list[array.array[int]]:
        """Return the questions of the lines that are open, as each server would be asked."""
        if not self._questions:
            asking = self.asking
            self._questions = [array.array("Q", bytes(8 * len(self.lines))) for _ in asking.served]
            raws = self.input.find_raws(line for line, open_ in zip(self.lines, self.open, strict=True) if open_)
            for place, line in enumerate(self.lines):
                raw = raws.find(line) if self.open[place] else None
                for served, questions in zip(asking.served, self._questions, strict=True):
                    if raw is not None and (found := asking.terms.find_question(RawLine(line, raw), served)):
                        questions[place] = read_key(found.name)
                        self.repeats[place] = found.repeats
        return self._questions


def fit(spares: Spares, openings: Openings, give: Give) -> None:
    """Give the lines that are open what fits them: an answer, else a failure."""
    for failed in (False, True):
        items = array.array("I", spares.unused(failed=failed))
        if any(spares.same[n] for n in items):
            if unmoved := array.array("I", _find_unmoved(spares, items, openings)):
                lookup = spares.by_line(unmoved)
                _deal(spares, lookup, openings.lines, openings, lambda line, n: give(line, n, BY_ROW))
            _deal(spares, spares.by_row(items), openings.rows, openings, lambda line, n: give(line, n, BY_ROW))
        items = array.array("I", (n for n in items if not spares.used[n] and spares.question[n]))
        if items and any(openings.open):
            lookup = spares.by_question(items)
            for questions in openings.find_questions():
                _deal(spares, lookup, questions, openings, lambda line, n: give(line, n, BY_QUESTION))


def _find_unmoved(spares: Spares, items: array.array[int], openings: Openings) -> Iterator[int]:
    """Yield the results on the same terms whose own line still has their row."""
    rows = array.array("Q", bytes(8 * (openings.input.lines + 1)))
    for line, row in zip(openings.lines, openings.rows, strict=True):
        rows[line] = row
    for n in items:
        line = spares.line[n]
        if spares.same[n] and line < len(rows) and rows[line] == spares.row[n] != NO_KEY:
            yield n


def _deal(
    spares: Spares, lookup: Lookup, keys: array.array[int], openings: Openings, give: Callable[[int, int], None]
) -> None:
    dealer = Dealer(spares, lookup)
    for place in openings.in_turn():
        chosen = dealer.deal(keys[place])
        if chosen is not None:
            openings.open[place] = False
            give(openings.lines[place], chosen)
