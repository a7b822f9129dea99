"""How rows of each dialect are told from others, as data: the worker reads it here, and both pages carry it.

A sign is a field ("custom_id"), a field of an object ("input.messages"), or a field with a value ("status=FAILED").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OWN_PROMPTS = ("prompt", "text", "messages")  # a row with one of these is a prompt row, whatever else it carries


@dataclass(frozen=True, slots=True)
class Marks:
    """The signs of one dialect.

    asked: a line has all signs of one of these. unless: and not all signs of any of these.
    answered: an output line has all signs of one of these. added: the members that a result adds to its line.
    """

    asked: tuple[tuple[str, ...], ...] = ()
    unless: tuple[tuple[str, ...], ...] = ()
    answered: tuple[tuple[str, ...], ...] = ()
    added: frozenset[str] = frozenset()

    def tell(self, fields: Mapping[str, Any]) -> bool:
        """Tell whether a row is to be asked in this dialect."""
        return _fit(fields, self.asked) and not _fit(fields, self.unless)

    def tell_answered(self, fields: Mapping[str, Any]) -> bool:
        """Tell whether an output line is a result in this dialect."""
        return _fit(fields, self.answered)


def besides(*signs: str) -> tuple[tuple[str, ...], ...]:
    """Return one alternative for each sign."""
    return tuple((sign,) for sign in signs)


def _fit(fields: Mapping[str, Any], alternatives: tuple[tuple[str, ...], ...]) -> bool:
    return any(all(_has(fields, sign) for sign in signs) for signs in alternatives)


def _has(fields: Mapping[str, Any], sign: str) -> bool:
    field, dot, inner = sign.partition(".")
    if dot:
        return isinstance(fields.get(field), dict) and inner in fields[field]
    field, equals, value = sign.partition("=")
    return fields.get(field) == value if equals else field in fields
