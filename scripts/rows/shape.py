"""What a file is as a whole, where its lines are no rows: told once, with what to do, before a model is paid for."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rows.row import BOM
from rows.source import Source, SourceError

_LOOKED_AT = 20  # lines
_OF_ROWS = frozenset(  # an object with one of these is a row
    {"prompt", "text", "messages", "custom_id", "input", "modelInput", "query", "queries", "text_1", "conversations"}
    | {"instruction", "question", "conversation", "dialog", "dialogue", "turns", "contents", "documents"}
)


def refuse_other_text(source: Source) -> None:
    """Raise SourceError for a text whose lines are no rows, such as CSV or JSON over several lines."""
    what = _other_text(Path(source.path))
    if what:
        raise SourceError(
            f"{source.name} {what}; the input is JSONL, one object a line; "
            "tools/make_rows.py makes it from CSV and from JSON"
        )


def _other_text(path: Path) -> str:
    """Return what a text is instead of rows, or "" for rows, good or bad, and for blank lines."""
    with path.open("rb") as file:
        first = list(itertools.islice(_lines(file), _LOOKED_AT))
    opening, second, *more = [*first, b"", b""]
    if opening.startswith(b"["):
        return _array(path, opening, second)
    if not opening.startswith(b"{"):
        return _no_objects(path, opening) if opening else ""
    value = _read(opening)
    if value is None and second[:1] in (b'"', b"}"):
        return "holds JSON objects that are printed over several lines each"
    if second and all(line.endswith(b",") and isinstance(_read(line[:-1]), dict) for line in first[:-1]):
        return "has a comma behind each of its objects, as in an array"
    return _wrapped(value) if isinstance(value, dict) and not second and not any(more) else ""


def _lines(file: Any) -> Iterator[bytes]:
    """Yield the lines that hold something, without their margins."""
    return filter(None, (line.removeprefix(BOM).strip() for line in file))


def _array(path: Path, opening: bytes, second: bytes) -> str:
    """Tell an array over several lines, or on one, from lines of which the first alone is an array."""
    if _read(opening) is None:
        over_lines = opening in (b"[", b"[{") or opening.endswith(b",") or second == b"{"
        return (
            "is one JSON array over several lines"
            if over_lines and _ends_in_bracket(path)
            else _no_objects(path, opening)
        )
    return _no_objects(path, opening)


def _ends_in_bracket(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - (1 << 12)))
        return file.read().rstrip().endswith(b"]")


def _no_objects(path: Path, opening: bytes) -> str:
    """Say what a text is in which no line begins an object, or "" for one in which some line does."""
    firsts: set[bytes] = set()
    with path.open("rb") as file:
        for text in _lines(file):
            if text.startswith(b"{"):
                return ""
            firsts.add(text[:1])
    kind = "it is another text, such as CSV"
    if b"[" in firsts:
        kind = "it is a JSON array"
    elif isinstance(inner := _read(opening), str) and isinstance(_read(inner.encode()), dict):
        kind = "its lines are texts that hold objects, written as JSON twice"
    return f"has no line that begins a JSON object ({kind})"


def _wrapped(value: dict[str, Any]) -> str:
    """Tell a file that is one object around its rows from one row."""
    if _is_table(value):
        return "is one table, written as JSON by its columns"
    if value.keys() & _OF_ROWS:
        return ""
    lists = {name: inner for name, inner in value.items() if _are_rows(inner)}
    for outer, inner in value.items():
        lists |= {f"{outer}.{name}": deep for name, deep in _members(inner) if _are_rows(deep)}
    if len(lists) != 1:
        return ""
    (name, rows), *_ = lists.items()
    return f"is one JSON object that holds {len(rows):,} rows in {json.dumps(name)}"


def _members(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _is_table(value: dict[str, Any]) -> bool:
    """Tell a data frame, with its cells by column or in rows of a list, from a row, whose prompt is a text."""
    if value.keys() >= {"columns", "data"} and isinstance(value["columns"], list) and isinstance(value["data"], list):
        return bool(_OF_ROWS.intersection(filter(_is_text, value["columns"])))
    columns = list(value.values())
    prompts = value.get("prompt")
    if isinstance(prompts, list):
        alone = len(columns) == 1 or not all(map(_is_text, prompts))  # a row's own, which is refused by its type
        return not alone and all(isinstance(one, list) and len(one) == len(columns[0]) for one in columns)
    by_number = {str(number) for number in range(len(columns[0]))} if columns and isinstance(columns[0], dict) else None
    return bool(value.keys() & _OF_ROWS) and all(isinstance(one, dict) and one.keys() == by_number for one in columns)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_rows(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, dict) and (row.keys() & _OF_ROWS or _is_inner(row)) for row in value)
    )


def _is_inner(row: dict[str, Any]) -> bool:
    """Tell a data set viewer's row, which holds the row itself."""
    inner = row.get("row")
    return isinstance(inner, dict) and bool(inner.keys() & _OF_ROWS)


def _read(text: bytes) -> Any:
    """Return the JSON value of a text, None for what is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
