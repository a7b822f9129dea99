"""Tables written as one JSON value: by columns, by an index, split into columns and cells, or a level or two down."""

from __future__ import annotations

from typing import Any

from conversion.conversations import COLUMNS

_OF_ROWS = frozenset(  # an object with one of these is a row itself
    {"prompt", "text", "messages", "conversations", "instruction", "question", "query", "queries", "text_1"}
    | {"custom_id", "input", "modelInput", *COLUMNS}
)
_BESIDE = frozenset({"features", "schema"})  # lists of objects that a data set's viewer adds


def read_rows(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of a table that is one JSON object, or None for an object that is a row itself."""
    columns, cells = value.get("columns"), value.get("data")
    if isinstance(columns, list) and isinstance(cells, list) and _are_lists(cells):
        return [dict(zip(map(str, columns), row, strict=False)) for row in cells]
    if not value.keys() & _OF_ROWS:
        wrapped = [inner for name, inner in value.items() if name not in _BESIDE and _are_objects(inner)]
        if len(wrapped) == 1:
            inside = all(isinstance(row.get("row"), dict) for row in wrapped[0])
            return [row["row"] for row in wrapped[0]] if inside else list(wrapped[0])
    inner = list(value.values())
    if _is_index(value) and _are_objects(inner):
        return inner
    if inner and all(isinstance(each, dict) and _is_index(each) for each in inner):
        places = dict.fromkeys(place for each in inner for place in each)
        return [{name: each.get(place) for name, each in value.items()} for place in places]
    return None


def read_cells(rows: list[Any]) -> list[dict[str, Any]] | None:
    """Return the rows of a list of lists, the first of which names the columns, or None for another list."""
    if not _are_lists(rows) or len(rows) < 2 or not all(isinstance(name, str) for name in rows[0]):
        return None
    return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]


def _is_index(value: dict[str, Any]) -> bool:
    return bool(value) and all(name.isdecimal() for name in value)


def _are_lists(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, list) for each in value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)
