"""CSV and TSV as spreadsheets, clusters and clipboards leave them: rows of cells, one record a row.

Rows may end early where their last cells are empty, and rows and columns of separators alone are nothing. A first line
`sep=;` names the separator. Spark's way of quoting, a backslash before a quotation mark, is told by where it stands.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import IO, Any

from conversion.records import Say, number_names

SEPARATORS = ",;\t|"
NO_SEPARATOR = "\x1f"  # of a table of one column: its texts may hold any of the others
LARGEST_CELL = 1 << 26  # characters; more is a quotation mark that is never closed
SAMPLE = 64  # lines that are looked at for the way of quoting
_QUOTED = re.compile(r'"[^"]*"')
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*')
_SPARK = re.compile(r'[^\\]\\"(?=[^,;|\t\r\n"])')  # a path's last backslash has a separator behind
_WHAT = {
    "unexpected end of data": "unexpected end of data: a quotation mark is opened here and never closed",
    "field larger than field limit": "a quotation mark is opened here and never closed",
}


class TableError(Exception):
    """A table that cannot be read; `line` is where, None for the whole of it."""

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_table(file: IO[str], separator: str, say: Say) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line where each record of a table begins, and the record. Raises TableError.

    The separator is read off the first line where none is given; a name that stands twice there is numbered.
    """
    csv.field_size_limit(LARGEST_CELL)
    separator, head, before = read_head(file, separator)
    sample = [head, *itertools.islice(file, SAMPLE)]
    escape = "\\" if _SPARK.search("".join(sample)) else None
    lines = itertools.chain(sample, file)
    reader = csv.reader(lines, delimiter=separator, strict=True, escapechar=escape)
    try:
        names = number_names(name_columns(next(reader, [])), say)
    except csv.Error as error:
        raise TableError(1 + before, f"{error}; are its columns separated by another character?") from None
    if not any(names):
        raise TableError(None, "the first line must name the columns; it is empty")
    yield from _read_rows(reader, names, separator, before)


def read_head(file: IO[str], separator: str = "") -> tuple[str, str, int]:
    """Return a table's separator, the line that names its columns, and how many lines stand before it."""
    head, before = file.readline(), 0
    named = _SEPARATOR_LINE.fullmatch(head)
    if named:
        separator, head, before = named[1], file.readline(), 1
    unquoted = _QUOTED.sub("", head)
    found = max(SEPARATORS, key=unquoted.count)
    return separator or (found if found in unquoted else NO_SEPARATOR), head, before


def _read_rows(reader: Any, names: Sequence[str], separator: str, before: int) -> Iterator[tuple[int, dict[str, Any]]]:
    while True:
        start = reader.line_num + before + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            what = next((told for begin, told in _WHAT.items() if str(error).startswith(begin)), "")
            advice = "double a quotation mark that stands in a quoted cell"
            raise TableError(start, what or f"{error}; {advice}") from None
        if cells is None:
            return
        if any(cells):
            yield start, _record(cells, names, start, separator)


def _record(cells: list[str], names: Sequence[str], line: int, separator: str) -> dict[str, Any]:
    """Return a row's record; a column without a name is a field only where it holds something."""
    last = max((place for place, cell in enumerate(cells, 1) if cell), default=0)
    if last > len(names):
        raise TableError(
            line,
            f"{last} cells, but {len(names)} columns; put cells that hold {separator!r} or line breaks in "
            '"quotes", or take the line out',
        )
    whole = [*cells, *[""] * (len(names) - len(cells))]
    found = zip(_numbered(names), names, whole, strict=False)
    return {name: cell for name, given, cell in found if given or cell}


def name_columns(cells: Sequence[str]) -> list[str]:
    """Return the columns' names as they are shown, without line breaks; "" for one without a name."""
    return [" ".join(cell.split()) for cell in cells] if any(cells) else []


def _numbered(names: Sequence[str]) -> list[str]:
    """Return the columns' names; one without a name is numbered, by a name that no other has."""
    whole = list(names)
    for place, name in enumerate(whole):
        if not name:
            new = f"column_{place + 1}"
            whole[place] = new + "_" * sum(other.rstrip("_") == new for other in whole)
    return whole
