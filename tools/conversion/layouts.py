"""Making a row of a record: which of its fields are the prompt, by what the caller says or by a layout that is known.

Fields that are no prompt stay what they are, since the bundle passes them through. Text cells (of CSV) under the name
of a request option become numbers, so that a `temperature` column works.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from dialects.marks import OWN_PROMPTS
from dialects.recognise import PROMPT, recognise
from job.options import OPTIONS

Fill = Callable[[Mapping[str, Any]], str]
_DECIMAL_COMMA = re.compile(r"^(-?\d+),(\d+)$")  # as spreadsheets of most of Europe write 0.7
_PLACE = re.compile(r"\{\{\s*(.+?)\s*\}\}")
BESIDE = "_beside"  # behind the name of a record's column that is not asked, where the row needs that name
_QUESTIONS = ("question", "query")
ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "model", "bot", "chatgpt", "bing", "bard"), "assistant"),
    **dict.fromkeys(("system", "tool", "developer"), ""),  # named alike
    **dict.fromkeys(("function_response", "observation"), "tool"),
}


class LayoutError(Exception):
    """A record of which no row can be made; the message says what is missing."""


def filled(template: str) -> Fill:
    """Return what fills a template's {{column}} places from a record. Raises LayoutError for one without a place."""
    if not _PLACE.search(template):
        raise LayoutError(f"the template {template!r} names no column; write it like 'Summarise: {{{{text}}}}'")

    def fill(record: Mapping[str, Any]) -> str:
        return _PLACE.sub(lambda match: _text(_cell(record, match[1])), template)

    return fill


def row(
    record: Mapping[str, Any], *, columns: Sequence[str] = (), prompt_column: str = "", fill: Fill | None = None
) -> dict[str, Any]:
    """Return the row of a record. `columns` are the fields to keep, none meaning all. Raises LayoutError."""
    if fill is not None:
        parts = {"prompt": fill(record)}
    elif prompt_column:
        parts = {"prompt": _text(_cell(record, prompt_column))}
        if not parts["prompt"]:
            raise LayoutError(f"{prompt_column!r} is empty; fill it in, or leave the record out")
    else:
        parts = _by_layout(record)
    kept = {name: _cell(record, name) for name in columns} if columns else dict(record)
    if "messages" in parts:
        kept.pop("conversations", None)  # they are what the messages were made of
    elif parts and "messages" in kept:  # the worker would take them before the prompt
        kept = _set_beside(kept, "messages")
    for name, part in parts.items():
        if kept.get(name) and kept[name] != part:
            kept = _set_beside(kept, name)
    return {name: value for name, value in map(_option, kept.items()) if name} | parts


def _set_beside(kept: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Give a column another name, in its place, because the row needs its own for what is asked."""
    beside = name + BESIDE
    beside += "_" * (beside in kept)
    return {beside if each == name else each: value for each, value in kept.items()}


def _cell(record: Mapping[str, Any], name: str) -> Any:
    name = name if name in record else " ".join(name.split())
    if name not in record:
        raise LayoutError(f"there is no column {name!r}; there are {', '.join(map(repr, record))}")
    return record[name]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _option(field: tuple[str, Any]) -> tuple[str, Any]:
    """Return a field as a row has it; a request option's empty cell is no option, and its name comes back empty."""
    name, value = field
    if name not in OPTIONS or not isinstance(value, str):
        return field
    if not value.strip():
        return "", None
    for text in (value, value.strip().lower(), _DECIMAL_COMMA.sub(r"\1.\2", value.strip())):
        with contextlib.suppress(ValueError, RecursionError):
            read = json.loads(text)
            json.dumps(read, allow_nan=False)  # NaN and infinity are no values of a row
            if OPTIONS[name].holds(read):
                return name, read
    return field


def _by_layout(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that make a record a row, by its layout."""
    if recognise(record) is not PROMPT:
        return {}
    for name in OWN_PROMPTS:
        if record.get(name):
            return {name: record[name]}
    if isinstance(record.get("conversations"), list):
        return _conversation(record["conversations"])
    if record.get("instruction"):
        asked = [_text(record["instruction"]), _text(record.get("input"))]
        return {"prompt": "\n\n".join(part for part in asked if part)}
    for name in _QUESTIONS:
        if record.get(name) and "documents" not in record:
            return {"prompt": _text(record[name])}
    if {"query", "documents"} <= record.keys() or record.keys() & {"text_1", "queries"}:
        return {}  # rows of a score or a rerank model
    empty = next((name for name in (*OWN_PROMPTS, *_QUESTIONS, "instruction") if name in record), None)
    if empty:
        raise LayoutError(f"{empty!r} is empty; fill it in, or leave the record out")
    names = ", ".join(map(repr, record))
    raise LayoutError(f"nothing says which column is the prompt; name it with --prompt-column or --template ({names})")


def _conversation(turns: Sequence[Any]) -> dict[str, Any]:
    """Return the messages of `from` and `value` turns; what the assistant says last is kept aside as `reference`."""
    messages = [_message(place, turn) for place, turn in enumerate(turns, 1)]
    reference = {}
    if messages and messages[-1]["role"] == "assistant":
        reference = {"reference": messages.pop()["content"]}
    if not messages:
        raise LayoutError('"conversations" holds no turn of a user')
    return {"messages": messages, **reference}


def _message(place: int, turn: Any) -> dict[str, Any]:
    if not isinstance(turn, dict):
        raise LayoutError(f'turn {place} of "conversations" is not an object')
    speaker, content = turn.get("from", turn.get("role")), turn.get("value", turn.get("content"))
    if not isinstance(speaker, str) or speaker.lower() not in ROLES:
        raise LayoutError(f'turn {place} of "conversations" is from {speaker!r}; known are {", ".join(ROLES)}')
    return {"role": ROLES[speaker.lower()] or speaker.lower(), "content": _text(content)}
