"""Making a row of a record: which of its fields are the prompt, by what the caller says or by a layout that is known.

Fields that are no prompt stay what they are, since the bundle passes them through. Text cells (of CSV) under the name
of a request option become numbers, so that a `temperature` column works.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from conversion.conversations import (
    COLUMNS,
    PAIR,
    ConversationError,
    are_messages,
    are_words,
    read_conversation,
)
from dialects.marks import OWN_PROMPTS
from dialects.recognise import PROMPT, recognise
from job.options import OPTIONS

_DECIMAL_COMMA = re.compile(r"^(-?\d+),(\d+)$")  # as spreadsheets of most of Europe write 0.7
_PLACE = re.compile(r"\{\{\s*(.+?)\s*\}\}")
BESIDE = "_beside"  # behind the name of a record's column that is not asked, where the row needs that name
_QUESTIONS = ("question", "query")
_STRUCTURES = frozenset({"messages", "sampling_params", "modelInput", *COLUMNS})  # which a table keeps as text
_OF_LINES = frozenset({"body", "params"})  # so are these, beside a custom_id
_UNSET = frozenset({"", "nan", "none", "null", "na", "n/a", "#n/a"})  # cells of an option that has none
_TRUTHS = {  # as spreadsheets of other languages write them
    **dict.fromkeys(("yes", "wahr", "vrai", "verdadero", "vero", "waar", "verdadeiro"), "true"),
    **dict.fromkeys(("no", "falsch", "faux", "falso", "onwaar"), "false"),
}


class LayoutError(Exception):
    """A record of which no row can be made; the message says what is missing."""


class EmptyError(LayoutError):
    """A record whose prompt is empty."""


@dataclass(frozen=True, slots=True)
class Fill:
    """A template's text, and the columns that stand in it."""

    template: str
    names: tuple[str, ...]

    def __call__(self, record: Mapping[str, Any]) -> str:
        """Return the template with a record's cells in its places."""
        return _PLACE.sub(lambda match: _text(_cell(record, match[1])), self.template)


def filled(template: str) -> Fill:
    """Return what fills a template's {{column}} places from a record. Raises LayoutError for one without a place."""
    names = tuple(dict.fromkeys(_PLACE.findall(template)))
    if not names:
        raise LayoutError(f"the template {template!r} names no column; write it like 'Summarise: {{{{text}}}}'")
    return Fill(template, names)


def row(
    record: Mapping[str, Any], *, columns: Sequence[str] = (), prompt_column: str = "", fill: Fill | None = None
) -> dict[str, Any]:
    """Return the row of a record. `columns` are the fields to keep, none meaning all. Raises LayoutError."""
    record = {name: _read_structure(name, value, record) for name, value in record.items()}
    parts = _parts(record, prompt_column, fill)
    kept = {name: _cell(record, name) for name in columns} if columns else dict(record)
    if "messages" in parts:
        made_of = (*COLUMNS, "prompt", "messages")
        kept = {n: v for n, v in kept.items() if not (n in made_of and isinstance(v, list) and v != parts["messages"])}
    elif parts and "messages" in kept:  # the worker would take them before the prompt
        kept = _set_beside(kept, "messages")
    for name, part in parts.items():
        if kept.get(name) and kept[name] != part:
            kept = _set_beside(kept, name)
    return {name: value for name, value in map(_option, kept.items()) if name} | parts


def _read_structure(name: str, value: Any, record: Mapping[str, Any]) -> Any:
    """Return a field's list or object where a table keeps it as text: as JSON, or as Python writes it."""
    is_one = name in _STRUCTURES or (name in _OF_LINES and "custom_id" in record)
    if not is_one or not isinstance(value, str) or value.strip()[:1] not in ("[", "{"):
        return value
    for read in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            found = read(value.strip())
            json.dumps(found, allow_nan=False)
            return found if isinstance(found, dict | list) else value
    return value


def _parts(record: Mapping[str, Any], prompt_column: str, fill: Fill | None) -> dict[str, Any]:
    """Return the fields that ask: as the caller says, or by the record's layout."""
    if fill is not None:
        if not any(_text(_cell(record, name)).strip() for name in fill.names):
            raise EmptyError(f"what the template names is empty ({', '.join(fill.names)}); fill it in")
        return {"prompt": fill(record)}
    if not prompt_column:
        return _by_layout(record)
    text = _text(_cell(record, prompt_column))
    if not text.strip():
        raise EmptyError(f"{prompt_column!r} is empty; fill it in")
    return {"prompt": text}


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
    plain = value.strip().lower()
    if not plain or (plain in _UNSET and not OPTIONS[name].holds(value)):
        return "", None
    for text in (value, plain, _TRUTHS.get(plain, ""), _DECIMAL_COMMA.sub(r"\1.\2", value.strip())):
        with contextlib.suppress(ValueError, RecursionError):
            read = json.loads(text)
            json.dumps(read, allow_nan=False)  # NaN and infinity are no values of a row
            if OPTIONS[name].holds(read):
                return name, read
    return field


def _holds(value: Any) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)


def _talk(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the messages of a record that holds a conversation in another shape than chats have, else nothing."""
    if any(isinstance(record.get(name), str) and _holds(record[name]) for name in OWN_PROMPTS):
        return {}
    lists = [name for name in ("messages", "prompt", *COLUMNS) if isinstance(record.get(name), list) and record[name]]
    name = lists[0] if lists else ""
    if not name or (are_messages if name == "messages" else _is_no_talk)(record[name]):
        return {}
    try:
        messages, reference = read_conversation(name, record[name])
    except ConversationError as error:
        raise LayoutError(str(error)) from None
    return {"messages": messages, **({} if reference is None else {"reference": reference})}


def _is_no_talk(value: list[Any]) -> bool:
    """Tell a list of tokens, which is left to the worker to judge."""
    return not any(isinstance(turn, dict | str) or are_words(turn) for turn in value)


def _after(history: Any, prompt: str) -> dict[str, Any]:
    """Return what asks a prompt, behind the questions and answers before it where there are any."""
    if not (isinstance(history, list) and history and all(map(are_words, history))):
        return {"prompt": prompt}
    before = [{"role": role, "content": text} for turn in history for role, text in zip(PAIR, turn, strict=True)]
    return {"messages": [*before, {"role": "user", "content": prompt}]}


def _find_question(record: Mapping[str, Any]) -> str:
    """Return the column that holds a question, or a prompt under a heading in capitals, "" for none."""
    known = [*(_QUESTIONS if "documents" not in record else ())]
    known += [name for name in record if name not in _QUESTIONS and name.lower() in (*OWN_PROMPTS[:2], *_QUESTIONS)]
    return next((name for name in known if _holds(record.get(name))), "")


def _by_layout(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that make a record a row, by its layout."""
    if recognise(record) is not PROMPT:
        return {}
    talk = _talk(record)
    if talk:
        return talk
    own = next((name for name in OWN_PROMPTS if _holds(record.get(name))), None)
    if own:
        return {own: record[own]}
    if _holds(record.get("instruction")):
        asked = [_text(record["instruction"]), _text(record.get("input"))]
        return _after(record.get("history"), "\n\n".join(part for part in asked if part))
    compares = {"query", "documents"} <= record.keys() or bool(record.keys() & {"text_1", "queries"})
    question = _find_question(record)
    if question or compares:  # rows of a score or a rerank model ask as they are
        return {"prompt": _text(record[question])} if question else {}
    empty = next((name for name in (*OWN_PROMPTS, *_QUESTIONS, "instruction") if name in record), None)
    if empty:
        raise EmptyError(f"{empty!r} is empty; fill it in")
    names = ", ".join(map(repr, record))
    raise LayoutError(f"nothing says which column is the prompt; name it with --prompt-column or --template ({names})")
