"""The members of a JSON object in its text: what each is, and where it stands.

A plain object is decoded at once by `scan_plain`; `walk` goes member by member, and says what stands twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple, NoReturn

from rows.errors import RowError
from rows.json_text import shorten

JSON_SPACE = " \t\r\n"
_match_colon = re.compile(f"[{JSON_SPACE}]*:[{JSON_SPACE}]*").match


class Member(NamedTuple):  # made faster than a frozen dataclass: there is one for every field of a job
    """Where one top-level member stands in the text of its row."""

    name: str
    start: int
    value: int
    end: int


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
scan_plain = _scanner(_fields_of_one_name_each)


def walk(text: str) -> tuple[dict[str, Any], tuple[Member, ...], str]:
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
