"""Sets of line numbers, written as Open Job Description integer range expressions.

`parse` reads what the host accepts (`1-10`, `2,5,8-9`, `1-100:2`, `10-1:-3`, spaces, negative numbers) and refuses
what it refuses; numbers past LAST_LINE are refused, too, since a range of 2**63 of them cannot be counted, by the host
neither. `Lines` is a set of line numbers that stays small for ranges of millions of lines.

Source: Open Job Description wiki, "2023-09 Template Schemas", section 3.4.1.1 IntRangeExpr.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

_NUMBER = r"\s*(-?)\s*0*([0-9]+)\s*"
_ELEMENT = re.compile(f"{_NUMBER}(?:-{_NUMBER}(?::{_NUMBER})?)?")
EXPRESSION_LIMIT = 1024  # characters in one parameter value
LAST_LINE = 10**18  # no file has more, and Python's len() ends at 2**63


class RangeError(ValueError):
    """A range expression that Open Job Description does not accept, or of lines that no file has."""


def parse(expression: str) -> list[range]:
    """Return the ranges of an expression, ascending and disjoint.

    Raises RangeError for an empty, malformed, descending or overlapping expression, and for a number past LAST_LINE.
    """
    ranges = sorted((_element(text, expression) for text in expression.split(",")), key=lambda r: r.start)
    for before, after in itertools.pairwise(ranges):
        if before[-1] >= after.start:
            raise RangeError(f"{expression!r}: {_text(before)} overlaps {_text(after)}")
    return ranges


def _element(text: str, expression: str) -> range:
    match = _ELEMENT.fullmatch(text)
    if not match:
        raise RangeError(f"{expression!r} is not a range: {text.strip()!r} should be like 5, 1-10 or 1-100:2")
    sign, first, end_sign, last, step_sign, step = match.groups()
    for digits in (first, last or "0", step or "0"):
        if len(digits) > len(str(LAST_LINE)) or int(digits) > LAST_LINE:  # int() refuses more than 4,300 digits
            raise _past_last(expression)
    start = int(sign + first)
    if last is None:
        return range(start, start + 1)
    stop, stride = int(end_sign + last), int((step_sign or "") + (step or "1"))
    if stride == 0:
        raise RangeError(f"{expression!r}: a step must not be 0")
    if (stop - start) * stride < 0:
        raise RangeError(f"{expression!r}: {text.strip()!r} runs against its step; write {stop}-{start}")
    if stride < 0:
        return range(start, stop - 1, stride)[::-1]
    return range(start, stop + 1, stride)


def _past_last(expression: str) -> RangeError:
    return RangeError(f"line numbers end at {LAST_LINE:,}, and {expression!r} goes on")


def _text(numbers: range) -> str:
    if len(numbers) == 1:
        return str(numbers.start)
    if len(numbers) == 2:
        return f"{numbers.start},{numbers[-1]}"
    return f"{numbers.start}-{numbers[-1]}" + (f":{numbers.step}" if numbers.step != 1 else "")


def write(numbers: Iterable[int]) -> str:
    """Return the expression of ascending, distinct numbers; progressions of three or more become `a-b:step`."""
    pieces: list[range] = []
    for number in numbers:
        last = pieces[-1] if pieces else None
        if last is not None and len(last) == 1:
            pieces[-1] = range(last.start, number + 1, number - last.start)
        elif last is not None and number == last[-1] + last.step:
            pieces[-1] = range(last.start, number + 1, last.step)
        else:
            if last is not None and len(last) == 2 and last.step > 1 and number == last[-1] + 1:
                pieces[-1:] = [range(last.start, last.start + 1), range(last[-1], number + 1)]
                continue
            pieces.append(range(number, number + 1))
    return ",".join(_text(piece) for piece in pieces)


def of_values(expression: str, block_size: int) -> Lines:
    """Return the lines that range values stand for: value v is lines (v-1)*block_size+1 to v*block_size.

    Raises RangeError for an expression that is malformed, names a value below 1, since lines count from 1, or goes past
    LAST_LINE.
    """
    values = parse(expression)
    if values[0].start < 1:
        raise RangeError(f"{expression!r} begins at {values[0].start}, but lines are counted from 1")
    if values[-1][-1] * block_size > LAST_LINE:
        raise _past_last(expression)
    return Lines(block for numbers in values for block in _blocks(numbers, block_size))


def _blocks(values: range, size: int) -> Iterator[range]:
    """Yield the lines of range values: of values that follow each other in one piece, however many they are."""
    if size == 1:
        yield values
    elif values.step == 1:
        yield range((values.start - 1) * size + 1, values[-1] * size + 1)
    else:
        for value in values:
            yield range((value - 1) * size + 1, value * size + 1)


class Lines:
    """An immutable set of line numbers, kept as ascending disjoint ranges (numbers next to each other are joined)."""

    def __init__(self, ranges: Iterable[range] = ()) -> None:
        self.ranges: tuple[range, ...] = tuple(_join(ranges))

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Lines:
        """Return the set of ascending numbers."""
        return cls(_join_runs(numbers))

    def __iter__(self) -> Iterator[int]:
        for numbers in self.ranges:
            yield from numbers

    def __len__(self) -> int:
        return sum(len(numbers) for numbers in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __contains__(self, number: int) -> bool:
        return any(number in numbers for numbers in self.ranges)

    def __or__(self, other: Lines) -> Lines:
        return Lines((*self.ranges, *other.ranges))

    def up_to(self, last: int) -> Lines:
        """Return the lines that are not past `last`."""
        return Lines(numbers[: _count_up_to(numbers, last)] for numbers in self.ranges)

    def as_mask(self, last: int) -> bytearray:
        """Return a byte for each number from 0 to `last`, 1 where it is of the set."""
        mask = bytearray(last + 1)
        for numbers in self.up_to(last).ranges:
            mask[numbers.start : numbers.stop : numbers.step] = b"\1" * len(numbers)
        return mask

    def __str__(self) -> str:
        return ",".join(_text(numbers) for numbers in self.ranges)


def _join_runs(numbers: Iterable[int]) -> Iterator[range]:
    """Join ascending numbers into ranges."""
    start = stop = 0
    for number in numbers:
        if number != stop:
            if stop > start:
                yield range(start, stop)
            start = number
        stop = number + 1
    if stop > start:
        yield range(start, stop)


def _count_up_to(numbers: range, last: int) -> int:
    return len(range(numbers.start, min(numbers[-1], last) + 1, numbers.step)) if numbers.start <= last else 0


def _join(ranges: Iterable[range]) -> Iterator[range]:
    """Yield the union as disjoint ranges; a stepped range that meets another is taken apart into its numbers."""
    pending: range | None = None
    for numbers in _take_apart(sorted((r for r in ranges if r), key=lambda r: (r.start, r[-1]))):
        if pending is None:
            pending = numbers
        elif pending.step == numbers.step == 1 and numbers.start <= pending.stop:
            pending = range(pending.start, max(pending.stop, numbers.stop))
        else:
            yield pending
            pending = numbers
    if pending is not None:
        yield pending


def _take_apart(ordered: list[range]) -> list[range]:
    """Return ranges of which no stepped one overlaps another, ascending by their start."""
    single = [range(r.start, r.start + 1) if len(r) == 1 else r for r in ordered]
    meets = [False] * len(single)
    furthest, owner = -1, -1
    for place, numbers in enumerate(single):
        if owner >= 0 and numbers.start <= furthest:
            meets[place] = meets[owner] = True
        if numbers[-1] > furthest:
            furthest, owner = numbers[-1], place
    if not any(meet and numbers.step > 1 for meet, numbers in zip(meets, single, strict=True)):
        return single
    parts = (
        [range(n, n + 1) for n in numbers] if meet and numbers.step > 1 else [numbers]
        for meet, numbers in zip(meets, single, strict=True)
    )
    return sorted((piece for part in parts for piece in part), key=lambda r: (r.start, r[-1]))
