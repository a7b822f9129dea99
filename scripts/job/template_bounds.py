"""How much a prompt template may make of a row: counts, not a clock, so that a row fails alike everywhere."""

from __future__ import annotations

import re
from typing import Any

STEPS = 200_000  # rounds of loops and calls of macros; about half a second
SIZE = 10_000_000  # characters of one text, and of all that a rendering writes; no model reads more
BITS = 20_000  # of a whole number; more cannot be written out anyway
WIDE = re.compile(r"\d{7}|\*")  # a width in a format that is too large, or is taken from a value
PADDING = frozenset({"center", "indent", "wordwrap", "batch", "slice", "tojson", "ljust", "rjust", "zfill"})
PADDING |= {"expandtabs"}
WRITING = frozenset({"tojson", "string", "pprint", "join"})


class RenderingError(Exception):
    """A rendering that is no text, takes too long or grows too large; the message says which."""


def check_size(value: Any) -> Any:
    """Return a value. Raises RenderingError for one that is too large."""
    if isinstance(value, str | list | tuple) and len(value) > SIZE:
        raise RenderingError(f"a value grows beyond {SIZE:,} characters")
    if isinstance(value, int):
        refuse_bits(value.bit_length())
    return value


def count_values(value: Any) -> int:
    """Return how many values a value holds. Raises RenderingError for too many: a list may hold another many times."""
    count, waiting = 0, [value]
    while waiting:
        inner = waiting.pop()
        count += 1
        if count > STEPS:
            raise RenderingError(f"a value holds more than {STEPS:,} others")
        if isinstance(inner, dict):
            waiting.extend(inner.values())
        elif isinstance(inner, list | tuple):
            waiting.extend(inner)
    return count


def refuse_bits(bits: int) -> None:
    """Raise RenderingError for a whole number of so many bits."""
    if bits > BITS:
        raise RenderingError("a whole number grows too long")


def refuse_product(left: Any, right: Any) -> None:
    """Raise RenderingError for two values whose product is too large to be made."""
    for many, count in ((left, right), (right, left)):
        if isinstance(many, str | list | tuple) and isinstance(count, int) and len(many) * count > SIZE:
            raise RenderingError(f"a value grows beyond {SIZE:,} characters")
    if isinstance(left, int) and isinstance(right, int):
        refuse_bits(left.bit_length() + right.bit_length())


def check_call(name: str, value: Any, args: tuple[Any, ...]) -> None:
    """Raise RenderingError for a filter or a method of texts that would make more than SIZE characters."""
    if name in WRITING:
        count_values(value)
    if name == "join" and args:
        between, parts = (value, args[0]) if isinstance(value, str) else (args[0], value)
        size = len(str(between)) * len(parts) if hasattr(parts, "__len__") else 0
    elif name == "replace" and len(args) > 1:
        size = (str(value).count(str(args[0])) or 1) * len(str(args[1]))
    elif name == "format":
        size = SIZE + 1 if WIDE.search(str(value)) else 0
    elif name in PADDING:
        size = max((arg for arg in args if isinstance(arg, int)), default=0)
    else:
        size = 0
    if size > SIZE:
        raise RenderingError(f"{name} makes more than {SIZE:,} characters")
