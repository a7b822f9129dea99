"""One line of the input, before and after it is read as a row of a dialect."""

from __future__ import annotations

from dataclasses import dataclass

from dialects.base import Dialect
from dialects.exchange import Ask
from dialects.models import choose_model
from dialects.recognise import recognise
from engine.facts import Served
from job.defaults import Defaults
from rows.errors import RowError
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


def ask_row(row: Row, dialect: Dialect, defaults: Defaults, served: Served) -> Ask:
    """Return a row's request to a model that the server has. Raises RowError for a row that cannot be asked."""
    if row.doubled:
        raise RowError("doubled_name", row.doubled)
    return choose_model(dialect.ask(row, defaults, served), defaults.model_in_rows, served)
