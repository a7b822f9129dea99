"""Values of a table: read from JSON and written again without a number changing on its way."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NoReturn

import bundle  # noqa: F401  (puts scripts/ on the path)
from rows.json_text import escape_separators, quote

MISSING: Any = object()  # stands where a row has no value, which is not null
LARGEST = 32_767  # characters of a cell in Excel and its kin, counted as UTF-16
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}
_UNFIT = dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")  # no XML and no UTF-8 can hold them


class Written(float):
    """A number that Python would write in another way, with the text that stands in the results."""

    __slots__ = ("text",)

    text: str

    @property
    def is_exact(self) -> bool:
        """Tell whether a double holds the number that stands there."""
        return Decimal(self.text) == Decimal(repr(float(self)))


def _read_number(text: str) -> float:
    value = float(text)
    if float.__repr__(value) == text:
        return value
    written = Written(value)
    written.text = text
    return written


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


_decode = json.JSONDecoder(parse_float=_read_number, parse_constant=_refuse).decode


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is, or None for another text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = _decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def write_json(value: Any) -> str:
    """Return the JSON text of a value on one line, numbers as they stood."""
    if isinstance(value, Written):
        return value.text
    if isinstance(value, dict | list) and _holds_written(value):
        return escape_separators(_write_parts(value))
    return quote(value)


def _holds_written(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_written, value.values() if isinstance(value, dict) else value))
    return type(value) is Written


def _write_parts(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quote(name)}: {_write_parts(each)}" for name, each in value.items()) + "}"
    return "[" + ", ".join(map(_write_parts, value)) + "]" if isinstance(value, list) else write_json(value)


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
