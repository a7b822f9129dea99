"""One line of the input as a row: its fields for asking, its text for answering.

`parse` turns the bytes of a line into a Row or says what is wrong with it. `Row.extend` writes a row back with
results added, every field that was there kept byte for byte: numbers, escapes and key order are those of the input.
Nothing here knows a dialect.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rows.errors import RowError
from rows.json_text import quote
from rows.members import JSON_SPACE, Member, scan_plain, walk

BOM = b"\xef\xbb\xbf"
PREVIOUS = "previous"  # holds input fields whose names a result needs


@dataclass(slots=True)  # not frozen, which would take twice as long to make: there is one for every line of a job
class Row:
    """A JSON object of the input: its line (from 1), its text and its parsed fields.

    `doubled` names what stands twice in one object with two values, of which readers of JSON take one or the other.
    """

    line: int
    text: str
    fields: dict[str, Any]
    doubled: str = ""
    _members: tuple[Member, ...] | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        """Return where each top-level member stands in the text; found when first wanted, which most rows never are."""
        if self._members is None:
            _, self._members, _ = walk(self.text)
        return self._members

    @property
    def repeats(self) -> bool:
        """Tell whether a top-level name stands more than once, whatever its values."""
        return self._members is not None and len(self._members) != len(self.fields)

    def raw(self, name: str) -> str:
        """Return the JSON text of a field as the input has it, or `null`."""
        found = [self.text[m.value : m.end] for m in self.members if m.name == name]
        return found[-1] if found else "null"

    def find_results(self, count: int) -> dict[str, str]:
        """Return the last `count` members, name to JSON text, as `extend` added them; it adds `previous` after them."""
        members = self.members[:-1] if self.members and self.members[-1].name == PREVIOUS else self.members
        return {m.name: self.text[m.value : m.end] for m in members[len(members) - count :]}

    def extend(self, results: Mapping[str, str], reserved: frozenset[str] = frozenset()) -> str:
        """Return the row's text with `results` (name to JSON text) added at its end.

        An input field named like a result, or in `reserved`, moves into an object named `previous`.
        """
        taken = self.fields.keys() & (results.keys() | reserved)
        added = dict(results)
        if taken:
            if PREVIOUS in self.fields:
                taken.add(PREVIOUS)
            moved = (self.text[m.start : m.end] for m in self.members if m.name in taken)
            added[PREVIOUS] = "{" + ", ".join(moved) + "}"
        tail = ", ".join(f"{quote(name)}: {value}" for name, value in added.items())
        if not taken:
            body = self.text[1:-1].rstrip(JSON_SPACE)
        else:
            body = ", ".join(self.text[m.start : m.end] for m in self.members if m.name not in taken)
        return "{" + ", ".join(part for part in (body, tail) if part) + "}"


def is_blank(raw: bytes) -> bool:
    """Tell whether a line holds nothing but white space and a byte order mark."""
    return not raw.removeprefix(BOM).strip(b" \t\r")


def parse(line: int, raw: bytes) -> Row:
    """Return the row of a line's bytes (without the line feed).

    Raises RowError with code invalid_utf8, invalid_json or not_an_object.
    """
    try:
        text = raw.removeprefix(BOM).decode("utf-8").strip(JSON_SPACE)
    except UnicodeDecodeError as error:
        at = error.start + 1
        raise RowError("invalid_utf8", f"byte {at} of the line is not UTF-8; save the file as UTF-8") from None
    try:
        return _object(line, text)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise RowError("invalid_json", f"not JSON: {what} at character {error.pos + 1}") from None
    except RecursionError:
        raise RowError("invalid_json", "the JSON is nested too deeply; flatten it") from None
    except ValueError as error:
        reason = "a whole number is too long" if "digits" in str(error) else error
        raise RowError("invalid_json", f"not JSON: {reason}") from None


def _object(line: int, text: str) -> Row:
    """Return the row of a text: in one go where it is a plain object, member by member where there is more to say."""
    try:
        fields, end = scan_plain(text, 0)
        if end == len(text) and type(fields) is dict:
            return Row(line, text, fields)
    except (ValueError, StopIteration, RecursionError):
        pass
    fields, members, doubled = walk(text)
    return Row(line, text, fields, doubled, members)
