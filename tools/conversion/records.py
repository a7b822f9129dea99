"""A record of a file: where it stands, and its fields as JSON values."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Say = Callable[[str], None]  # tells a person what was noticed


class RowsError(Exception):
    """A file that cannot be read as records; the message says where and what to do."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record: `place` is FILE:LINE where the file has lines, else the file and the record's number."""

    place: str
    fields: dict[str, Any]


def say_nothing(_: str) -> None:
    """Tell nobody."""


def number_names(names: Sequence[str], say: Say) -> list[str]:
    """Return columns' names of which each stands once: the second `id` is `id_2`, which is said; "" is no name."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        new, count = name, 1
        while new and new in taken:
            count += 1
            new = f"{name}_{count}"
        if new != name:
            say(f"the column {name!r} appears again; it is {new!r} in the rows")
        taken.add(new)
        found.append(new)
    return found


def plain(value: Any) -> Any:
    """Return the JSON value of a value; what JSON cannot say becomes text, and NaN and infinity become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
