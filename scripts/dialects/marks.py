"""How rows of each dialect are told from others, as data: the worker reads it here, and both pages carry it.

A sign is a field ("custom_id"), a field of an object ("input.messages"), or a field with a value ("status=FAILED").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

OWN_PROMPTS = ("prompt", "text", "messages")  # a row with one of these is a prompt row, whatever else it carries


class _Sign(NamedTuple):
    """A sign as it is read: a field, the field inside it or "", and the value it must have or None."""

    name: str
    inner: str
    value: str | None


_Signs = tuple[tuple[_Sign, ...], ...]


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
    _asked: _Signs = field(
        init=False, repr=False, compare=False
    )  # read once: rows are told apart for every row of a job
    _unless: _Signs = field(init=False, repr=False, compare=False)
    _answered: _Signs = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("asked", "unless", "answered"):
            read = tuple(tuple(map(_read_sign, signs)) for signs in getattr(self, name))
            object.__setattr__(self, f"_{name}", read)

    def tell(self, fields: Mapping[str, Any]) -> bool:
        """Tell whether a row is to be asked in this dialect."""
        return _fit(fields, self._asked) and not _fit(fields, self._unless)

    def tell_answered(self, fields: Mapping[str, Any]) -> bool:
        """Tell whether an output line is a result in this dialect."""
        return _fit(fields, self._answered)


def besides(*signs: str) -> tuple[tuple[str, ...], ...]:
    """Return one alternative for each sign."""
    return tuple((sign,) for sign in signs)


def _fit(fields: Mapping[str, Any], alternatives: _Signs) -> bool:
    for signs in alternatives:  # a loop: this runs some ten times for every row of a job
        for name, inner, value in signs:
            if name not in fields or ((inner or value is not None) and not _holds(fields[name], inner, value)):
                break
        else:
            return True
    return False


def _read_sign(sign: str) -> _Sign:
    name, _, inner = sign.partition(".")
    name, equals, value = name.partition("=")
    return _Sign(name, inner, value if equals else None)


def _holds(found: Any, inner: str, value: str | None) -> bool:
    """Tell whether a field has the other field, or the value, that a sign wants of it."""
    return (isinstance(found, dict) and inner in found) if inner else bool(found == value)
