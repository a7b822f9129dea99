"""One line of the input as a row: its fields for asking, its text for answering.

`parse` turns the bytes of a line into a Row or says what is wrong with it. `Row.extended` writes a row back with
results added, every field that was there kept byte for byte: numbers, escapes and key order are those of the input.
Nothing here knows a dialect.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple, NoReturn

from rows.errors import RowError

BOM = b"\xef\xbb\xbf"
JSON_SPACE = " \t\r\n"
PREVIOUS = "previous"  # holds input fields whose names a result needs
_SEPARATORS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}
_match_colon = re.compile(f"[{JSON_SPACE}]*:[{JSON_SPACE}]*").match
QUOTE_LIMIT = 60  # characters of a user's value shown in a message


class Member(NamedTuple):  # made faster than a frozen dataclass: there is one for every field of a job
    """Where one top-level member stands in the text of its row."""

    name: str
    start: int
    value: int
    end: int


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
            _, self._members, _ = _walk(self.text)
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


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode  # made once: several times for every row


def quote(value: Any) -> str:
    """Return the JSON text of a value, encodable as UTF-8. Raises ValueError for NaN and infinity."""
    text = _encode(value)
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate stays an escape
        return json.dumps(value, allow_nan=False)
    return escape_separators(text)


def quote_finite(value: Any) -> str:
    """Return the JSON text of a value, NaN and infinity in it as null."""
    try:
        return quote(value)
    except ValueError:
        return quote(_make_finite(value))


def _make_finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _make_finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return list(map(_make_finite, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def escape_separators(text: str) -> str:
    """Return a JSON text in which the characters are escaped at which some readers end a line."""
    for character, escape in _SEPARATORS.items():
        text = text.replace(character, escape)
    return text


def shorten(value: Any) -> str:
    """Return a user's value as JSON, short enough for a message."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= QUOTE_LIMIT else text[: QUOTE_LIMIT - 3] + "..."


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


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number; write null or leave the field out")


Scan = Callable[[str, int], tuple[Any, int]]


class Doubled(ValueError):
    """A name that stands twice in one object, with two values."""


def _scanner(look: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None) -> Scan:
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=look)
    scan: Scan = decoder.scan_once  # type: ignore[attr-defined]
    return scan


def fields_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's fields. Raises Doubled for a name that has two values."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        for name, value in pairs:
            if fields[name] != value:
                both = f"{shorten(value)} and {shorten(fields[name])}"
                raise Doubled(f"{shorten(name)} stands twice in one object, with {both}; leave one of them out")
    return fields


def _fields_of_one_name_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Doubled
    return fields


_scan = _scanner(None)
_scan_once = _scanner(fields_once)
_scan_plain = _scanner(_fields_of_one_name_each)


def _object(line: int, text: str) -> Row:
    """Return the row of a text: in one go where it is a plain object, member by member where there is more to say."""
    try:
        fields, end = _scan_plain(text, 0)
    except (ValueError, StopIteration, RecursionError):
        end = 0
    if end == len(text) and type(fields) is dict:
        return Row(line, text, fields)
    fields, members, doubled = _walk(text)
    return Row(line, text, fields, doubled, members)


def _walk(text: str) -> tuple[dict[str, Any], tuple[Member, ...], str]:
    """Return the fields of an object, where each of its members stands, and what stands twice in it or "".

    Raises RowError not_an_object, ValueError and RecursionError.
    """
    if not text.startswith("{"):
        _, end = _value(text, 0)
        _nothing_after(text, end)
        raise RowError("not_an_object", f'a row is a JSON object like {{"prompt": "..."}}, this is {_kind(text)}')
    pairs: list[tuple[str, Any]] = []
    members: list[Member] = []
    doubled = ""
    at = _skip(text, 1)
    while text[at : at + 1] != "}":
        if members:
            at = _expect(text, at, ",", "',' delimiter")
        start = at
        name, at = scanstring(text, _expect(text, at, '"', "property name in double quotes", skip=False))
        colon = _match_colon(text, at)  # one call where the usual text stands
        value = colon.end() if colon else _expect(text, _skip(text, at), ":", "':' delimiter")
        try:
            found, end = _value(text, value, _scan_once if text[value : value + 1] in ("{", "[") else _scan)
        except Doubled as error:
            doubled = doubled or str(error)
            found, end = _scan(text, value)
        pairs.append((name, found))
        members.append(Member(name, start, value, end))
        at = _skip(text, end)
    _nothing_after(text, at + 1)
    try:
        fields = fields_once(pairs)
    except Doubled as error:
        fields, doubled = dict(pairs), str(error)
    return fields, tuple(members), doubled


def _value(text: str, at: int, scan: Scan = _scan) -> tuple[Any, int]:
    try:
        return scan(text, at)
    except StopIteration as stop:
        raise json.JSONDecodeError("Expecting value", text, stop.value) from None


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] not in JSON_SPACE:
        return at
    while at < len(text) and text[at] in JSON_SPACE:
        at += 1
    return at


def _expect(text: str, at: int, char: str, what: str, *, skip: bool = True) -> int:
    if text[at : at + 1] != char:
        raise json.JSONDecodeError(f"Expecting {what}", text, at)
    return _skip(text, at + 1) if skip else at + 1


def _nothing_after(text: str, at: int) -> None:
    at = _skip(text, at)
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)


def _kind(text: str) -> str:
    return {"[": "an array", '"': "a string", "n": "null"}.get(text[:1], "a number or a constant")
