"""One line of the input, before and after it is read as a row of a dialect."""

from __future__ import annotations

from dataclasses import dataclass

from dialects.base import Dialect
from dialects.recognise import recognise
from rows.row import Row, parse


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line as the input has it: its number, from 1, and its bytes without the line feed."""

    number: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class RowLine(RawLine):
    """A line that holds a row."""

    row: Row
    dialect: Dialect


def read_line(line: RawLine) -> RowLine:
    """Return the line as a row of its dialect. Raises RowError for a line that is no row."""
    row = parse(line.number, line.raw)
    return RowLine(line.number, line.raw, row, recognise(row.fields))
