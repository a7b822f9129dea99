"""Which columns a table has and of which kind, from one pass over the results: own ones, the answers', the details.

Answers become a column for each of their fields when at least half of the texts are JSON objects; a text that is none
stays whole in a column of the answer's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from conversion.layouts import BESIDE
from table.like import Like
from table.lines import Result
from table.values import MISSING, Written

MOST_FIELDS = 256  # of answers; objects with more different names are data, not records
SAFE_INT, LARGEST_INT = 1 << 53, 1 << 63  # a double and a column of integers hold whole numbers below these
ERRORS = ("error_code", "error_message")
_DETAILS = ("finish_reason", "prompt_tokens", "completion_tokens")


@dataclass(slots=True)
class Column:
    """One column: its heading, from which part of a result its cells come, and the kinds of values that it holds.

    Kinds: text, int, long (too long for a double), huge (for a column of integers), float, inexact, bool, numbers
    (a list of them), nested.
    """

    heading: str
    part: str
    name: str
    kinds: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Census:
    """What all results hold: names and kinds by part, in the order in which they came up, and counts."""

    rows: int = 0
    failed: int = 0
    texts: int = 0
    objects: int = 0
    parts: dict[str, dict[str, set[str]]] = field(
        default_factory=lambda: {part: {} for part in ("own", "text", "whole", "field", "other", "detail")}
    )

    def add(self, result: Result) -> None:
        """Count a result."""
        self.rows += 1
        self.failed += result.failed
        if result.text is not MISSING:
            self._note("text", result.name, result.text)
            self.texts += bool(result.text)
            self.objects += result.fields is not None
            if result.fields is None and result.text:
                self._note("whole", result.name, result.text)
        for part, values in _parts(result).items():
            for name, value in values.items():
                if part != "field" or len(self.parts["field"]) <= MOST_FIELDS:
                    self._note(part, name, value)

    def _note(self, part: str, name: str, value: Any) -> None:
        names = self.parts[part]
        kinds = names.get(name)
        if kinds is None:
            kinds = names[name] = set()
        if value is not None:
            kinds.add(tell_kind(value))

    @property
    def is_split(self) -> bool:
        """Tell whether answers become columns."""
        return 2 * self.objects >= self.texts > 0 and 0 < len(self.parts["field"]) <= MOST_FIELDS


def _parts(result: Result) -> dict[str, dict[str, Any]]:
    return {"own": result.own, "field": result.fields or {}, "other": result.others, "detail": result.details}


def tell_kind(value: Any) -> str:
    """Return the kind of a value that is not null."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        size = abs(value)
        return "int" if size <= SAFE_INT else "long" if size < LARGEST_INT else "huge"
    if isinstance(value, float):
        return "float" if not isinstance(value, Written) or value.is_exact else "inexact"
    is_numbers = isinstance(value, list) and value and all(map(_is_number, value))
    return "numbers" if is_numbers else "nested"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def plan(census: Census, like: Like | None = None, *, details: bool = False) -> list[Column]:
    """Return the columns of a table. `like` chooses the own ones, `details` adds how each answer came about."""
    own = _own_columns(census, like)
    answers = _columns(census, "field" if census.is_split else "text")
    answers += _columns(census, "whole") if census.is_split else []
    answers += _columns(census, "other")
    beyond = _detail_columns(census) if details else []
    taken: set[str] = set()
    for column, owner in [
        *((c, "own") for c in own),
        *((c, "answer") for c in answers),
        *((c, "result") for c in beyond),
    ]:
        while column.heading in taken:  # a user's own column keeps its name
            column.heading = f"{owner}.{column.heading}"
        taken.add(column.heading)
    return own + answers + beyond


def _columns(census: Census, part: str) -> list[Column]:
    return [Column(name, part, name, kinds) for name, kinds in census.parts[part].items()]


def _own_columns(census: Census, like: Like | None) -> list[Column]:
    columns = {column.name: column for column in _columns(census, "own")}
    if like is not None:
        return [_find_like(columns, name) for name in like.names]
    for name in [name for name in columns if name.endswith(BESIDE)]:
        if name.removesuffix(BESIDE) not in columns:
            columns[name].heading = name.removesuffix(BESIDE)
    return list(columns.values())


def _find_like(columns: dict[str, Column], name: str) -> Column:
    found = columns.get(name + BESIDE) or columns.get(name) or Column(name, "own", name)
    return Column(name, "own", found.name, found.kinds)


def _detail_columns(census: Census) -> list[Column]:
    found = census.parts["detail"]
    names = [*(name for name in _DETAILS if name in found), *(n for n in found if n not in (*_DETAILS, *ERRORS))]
    names += [name for name in ERRORS if name in found]
    return [Column(name, "detail", name, found[name]) for name in names]


def fill(columns: Iterable[Column], result: Result, *, is_split: bool) -> Iterator[Any]:
    """Yield a result's value for each column, MISSING where it has none."""
    parts = _parts(result)
    parts["text"] = {} if result.text is MISSING else {result.name: result.text}
    parts["whole"] = parts["text"] if is_split and result.fields is None else {}
    for column in columns:
        yield parts[column.part].get(column.name, MISSING)
