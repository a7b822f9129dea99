"""One value of a table: what it is, and its JSON text, so that no number changes on its way from output.jsonl."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rows.errors import RowError
from rows.row import Row, parse, quote

LARGEST = 32_767  # characters of a cell in Excel and its kin, counted as UTF-16
_LINE_BREAKS = str.maketrans("\r\n\t", "   ")  # between the values of a JSON text; none stands in a string
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}
_UNFIT = dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")  # no XML and no UTF-8 can hold them


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, and its JSON text on one line."""

    raw: str
    value: Any

    @classmethod
    def of(cls, value: Any) -> Cell:
        """Return the cell of a value that no line holds as it is."""
        return cls(quote(value), value)


def cells_of(row: Row) -> dict[str, Cell]:
    """Return the members of an object, in their order."""
    return {m.name: cell_at(row, m.value, m.end, m.name) for m in row.members}


def cell_at(row: Row, start: int, end: int, name: str) -> Cell:
    """Return the cell of the member that stands at a place of a row's text."""
    raw = row.text[start:end]
    return Cell(raw.translate(_LINE_BREAKS) if "\n" in raw or "\r" in raw else raw, row.fields[name])


def read_object(text: str) -> dict[str, Cell] | None:
    """Return the members of a text that is one JSON object, or None for another text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return cells_of(parse(0, text.encode("utf-8", "surrogatepass")))
    except RowError:
        return None


def is_exact(raw: str, value: float) -> bool:
    """Tell whether a double, written again, is the number that stands there."""
    return (len(raw) < 16 and "e" not in raw and "E" not in raw) or Decimal(raw) == Decimal(repr(value))


def show(text: str) -> str:
    """Return a text as a file for spreadsheets can hold it: control characters as their pictures (␀, ␇, ␛)."""
    return text if text.isprintable() else text.translate(_PICTURES).translate(_UNFIT)


def cut(text: str) -> str:
    """Return a text that fits a spreadsheet's cell; one that was cut says so at its end."""
    if len(text) * 2 <= LARGEST or _units(text) <= LARGEST:
        return text
    mark = f"... (cut; {len(text):,} characters)"
    kept = text[: LARGEST - len(mark)]
    while _units(kept) > LARGEST - len(mark):
        kept = kept[: -max(1, (_units(kept) + len(mark) - LARGEST) // 2)]
    return kept + mark


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
