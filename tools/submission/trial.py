"""A trial: some lines are asked first, and a person sees their answers and what all would take before the rest is."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from results.record import Record
from rows.ranges import Lines
from setup_env import say
from submission.arrivals import describe

SHOWN = 20  # answers of a longer trial


@dataclass(frozen=True, slots=True)
class Measured:
    """What a trial took: lines with an answer, lines in all, tokens, and seconds from its first request to its last."""

    answered: int
    lines: int
    tokens: int
    seconds: float

    @classmethod
    def of(cls, records: Sequence[Record]) -> Measured:
        """Measure a trial by its results."""
        good = [record.head for record in records if record.head["status"] == "succeeded"]
        asked = [record.head for record in records if record.head.get("started")]
        first = min((head["started"] for head in asked), default=0.0)
        last = max((head["started"] + head.get("seconds", 0) for head in asked), default=0.0)
        tokens = sum(int(head.get("in") or 0) + int(head.get("out") or 0) for head in good)
        return cls(len(good), len(records), tokens, last - first)

    def tell(self, rest: int, price: float) -> str:
        """Say what was measured, and what so many more lines would take at this rate; a price of 0 is not known."""
        if not self.answered or not self.seconds:
            return f"none of the {self.lines} lines has an answer"
        hours = rest * self.seconds / self.lines / 3600
        cost = f", ${hours * price:,.2f} at ${price:g} an hour" if price else ""
        return (
            f"{self.answered} of {self.lines} lines have an answer; {self.tokens:,} tokens in {self.seconds:,.1f} s, "
            f"{self.tokens / self.seconds:,.0f} a second. The other {rest:,} lines at this rate: "
            f"{_duration(hours)} of one worker{cost}, and its model's load. More lines in flight go faster"
        )


def _duration(hours: float) -> str:
    return f"{hours:,.1f} hours" if hours >= 2 else f"{hours * 60:,.1f} minutes"


def spread(lines: Lines, count: int) -> Lines:
    """Return so many of the lines, evenly apart, the first among them."""
    step = len(lines) // count
    return Lines.of(itertools.islice(lines, 0, step * count, step))


def without(lines: Lines, others: Lines) -> Lines:
    """Return the lines that are not among the others."""
    left_out = set(others)
    return Lines.of(line for line in lines if line not in left_out)


def show(records: Sequence[Record], field: str, rest: int, price: float) -> Measured:
    """Show a trial's answers and what it took; return that."""
    say("\nThe trial's answers:")
    for record in records[:SHOWN]:
        say(describe(record, field))
    if len(records) > SHOWN:
        say(f"  ... and {len(records) - SHOWN} more")
    measured = Measured.of(records)
    say(measured.tell(rest, price))
    return measured


def may_go_on(rest: int, *, yes: bool) -> bool:
    """Ask whether the rest is to be asked, where a person sits there and has not said so already."""
    if yes or not sys.stdin.isatty():
        return yes
    say(f"Ask the other {rest:,} lines? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
