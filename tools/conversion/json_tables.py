"""Tables written as one JSON value: by columns, by an index, split into columns and cells, or a level or two down."""

from __future__ import annotations

from typing import Any

from conversion.conversations import COLUMNS

_OF_ROWS = frozenset(  # an object with one of these is a row itself
    {"prompt", "text", "messages", "conversations", "instruction", "question", "query", "queries", "text_1"}
    | {"custom_id", "input", "modelInput", *COLUMNS}
)
_COMPARED = frozenset({"queries", "documents", "text_1", "text_2", "data_1", "data_2", "items"})  # lists in one row
_BESIDE = frozenset({"features", "schema"})  # lists of objects that a data set's viewer adds


def read_rows(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of a table that is one JSON object, or None for an object that is a row itself."""
    return next((rows for read in _READERS if (rows := read(value)) is not None), None)


def _read_split(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    columns, cells = value.get("columns"), value.get("data")
    if not (isinstance(columns, list) and _are_lists(cells)):
        return None
    return [dict(zip(map(str, columns), row, strict=False)) for row in cells or ()]


def _read_columns(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of lists of cells, one a column and all of one length."""
    columns = list(value.values())
    if value.keys() & _COMPARED or not all(isinstance(each, list) and each for each in columns):
        return None
    cells = [cell for each in columns for cell in each]
    if len({len(each) for each in columns}) != 1 or any(isinstance(cell, dict | list) for cell in cells):
        return None
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]


def _read_wrapped(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows that are the object's only list, or stand a level further down."""
    if value.keys() & _OF_ROWS:
        return None
    wrapped = [inner for name, inner in value.items() if name not in _BESIDE and _are_objects(inner)]
    if len(wrapped) == 1:
        inside = all(isinstance(row.get("row"), dict) for row in wrapped[0])
        return [row["row"] for row in wrapped[0]] if inside else list(wrapped[0])
    inner = list(value.values())
    return read_rows(inner[0]) if len(inner) == 1 and isinstance(inner[0], dict) else None


def _read_index(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of an object of rows, whose names are a number each or are kept as `id`."""
    inner = list(value.values())
    if not _are_objects(inner):
        return None
    if _is_index(value):
        return inner
    is_named = all(each.keys() & _OF_ROWS for each in inner)
    return [{"id": name, **each} for name, each in value.items()] if is_named else None


def _read_indexed_columns(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    inner = list(value.values())
    if not inner or not all(isinstance(each, dict) and _is_index(each) for each in inner):
        return None
    places = dict.fromkeys(place for each in inner for place in each)
    return [{name: each.get(place) for name, each in value.items()} for place in places]


_READERS = (_read_split, _read_columns, _read_wrapped, _read_index, _read_indexed_columns)


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
