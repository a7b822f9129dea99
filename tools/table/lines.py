"""One line of output.jsonl as a table needs it: the row's own fields, its answer, and what the result says besides.

A result's members stand behind the row's own, in an order that the worker keeps; fields that had to give way are in
`previous`, and come back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from dialects import answers
from dialects.recognise import OTHERS
from rows.row import PREVIOUS, Row, parse, quote
from table.bodies import DETAILS, TEXT, read_body
from table.cells import Cell, cell_at, cells_of, read_object

_FENCED = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)
_POOLED: tuple[frozenset[str], ...] = (  # results of endpoints that generate nothing; those of a group come together
    *(frozenset({name}) for name in ("results", "score", "scores", "data", "embedding")),
    frozenset({"label", "probs", "num_classes"}),
    frozenset({"count", "max_model_len", "tokens", "token_strs"}),
)


@dataclass(slots=True)
class Result:
    """One line's result. `name` is that of the answer's text; `fields` are those of a text that is a JSON object."""

    own: dict[str, Cell] = field(default_factory=dict)
    name: str = TEXT
    text: Cell | None = None
    fields: dict[str, Cell] | None = None
    others: dict[str, Cell] = field(
        default_factory=dict
    )  # answers that are no text: tool calls, scores, vectors, labels
    details: dict[str, Cell] = field(default_factory=dict)
    failed: bool = False


def read_result(number: int, raw: bytes) -> Result:
    """Return the result of a line of output.jsonl. Raises RowError for a line that is no JSON object."""
    row = parse(number, raw)
    result = _READERS[_find_dialect(row.fields)](row)
    if result.text is not None and isinstance(result.text.value, str):
        fenced = _FENCED.fullmatch(result.text.value)
        result.fields = read_object(fenced[1] if fenced else result.text.value)
    return result


def _find_dialect(fields: Mapping[str, Any]) -> str:
    if fields.keys() >= answers.ALWAYS:
        return "prompt"  # whatever dialect the row that it was asked from had
    if fields.keys() == {"line", "error"}:
        return "none"
    return next((dialect.NAME for dialect in OTHERS if dialect.MARKS.tell_answered(fields)), "prompt")


def _read_prompt(row: Row) -> Result:
    members = row.members
    end = len(members) - (bool(members) and members[-1].name == PREVIOUS)
    start = _find_results([member.name for member in members[:end]], row.fields)
    result = Result(own={m.name: cell_at(row, m.value, m.end, m.name) for m in members[:start]})
    result.own |= _read_previous(row) if end < len(members) else {}
    if start < end and row.fields.keys() >= answers.ALWAYS:
        text = members[start]
        result.name, result.text = text.name, cell_at(row, text.value, text.end, text.name)
        start += 1
    for member in members[start:end]:
        if member.name == "error":
            _fail(result, row.fields["error"])
        else:
            kind = result.details if member.name in DETAILS else result.others
            kind[member.name] = cell_at(row, member.value, member.end, member.name)
    return result


def _find_results(names: list[str], fields: Mapping[str, Any]) -> int:
    """Return the place of the first member that is a result's."""
    if fields.keys() >= answers.ALWAYS:
        return max(0, names.index("finish_reason") - 1)
    if names[-1:] == ["error"]:
        return len(names) - 1
    end = start = len(names) - (names[-1:] == ["prompt_tokens"])
    group = next((group for group in _POOLED if end and names[end - 1] in group), frozenset())
    while start and names[start - 1] in group:
        start -= 1
    return start


def _read_previous(row: Row) -> dict[str, Cell]:
    """Return the row's own fields that gave way to the result's."""
    return read_object(row.raw(PREVIOUS)) or {}


def _read_openai(row: Row) -> Result:
    result = Result(own=_keep(row, ("custom_id",)))
    response = row.fields["response"] if isinstance(row.fields["response"], dict) else {}
    body, status = response.get("body"), response.get("status_code")
    if row.fields.get("error"):
        _fail(result, row.fields["error"], status)
    elif isinstance(status, int) and status >= 400:
        _fail(result, body, status)
    else:
        _answer(result, body)
    return result


def _read_anthropic(row: Row) -> Result:
    result = Result(own=_keep(row, ("custom_id",)))
    outcome = row.fields["result"]
    if outcome["type"] == "succeeded":
        _answer(result, outcome.get("message"))
    else:
        _fail(
            result, outcome.get("error") or {"code": outcome["type"], "message": f"the request was {outcome['type']}"}
        )
    return result


def _read_runpod(row: Row) -> Result:
    return _read_added(row, {"status", "output", "error"}, "output")


def _read_bedrock(row: Row) -> Result:
    return _read_added(row, {"modelOutput", "error"}, "modelOutput")


def _read_added(row: Row, added: set[str], answer: str) -> Result:
    """Return the result of a line that keeps its own members and has others added."""
    moved = row.members[-1].name == PREVIOUS
    taken = added | ({PREVIOUS} if moved else set())
    result = Result(own=_keep(row, (member.name for member in row.members if member.name not in taken)))
    result.own |= _read_previous(row) if moved else {}
    if "error" in row.fields:
        _fail(result, row.fields["error"])
    else:
        _answer(result, row.fields.get(answer))
    return result


def _read_none(row: Row) -> Result:
    result = Result()
    _fail(result, row.fields["error"])
    told = result.details["error_message"].value
    result.details["error_message"] = Cell.of(f"line {row.raw('line')}: {told}")
    return result


_READERS = {
    "prompt": _read_prompt,
    "openai": _read_openai,
    "anthropic": _read_anthropic,
    "runpod": _read_runpod,
    "bedrock": _read_bedrock,
    "none": _read_none,
}


def _answer(result: Result, body: Any) -> None:
    reply = read_body(body)
    result.text = None if reply.text is None else Cell.of(reply.text)
    result.others = {name: Cell.of(value) for name, value in reply.others.items()}
    result.details = {name: Cell.of(value) for name, value in reply.details.items()}


def _fail(result: Result, error: Any, status: Any = None) -> None:
    """Note a failure, in any dialect's form, as its code and its message."""
    told = error
    while isinstance(told, dict) and isinstance(told.get("error"), dict | str):
        told = told["error"]
    told = told if isinstance(told, dict) else {"message": told}
    named = [told[name] for name in ("code", "errorCode", "type") if told.get(name)]
    code = next((name for name in named if isinstance(name, str)), named[0] if named else status or "error")
    message = told.get("message", told.get("errorMessage", error))
    result.failed = True
    result.details["error_code"] = Cell.of(str(code))
    result.details["error_message"] = Cell.of(message if isinstance(message, str) else quote(message))


def _keep(row: Row, names: Iterable[str]) -> dict[str, Cell]:
    wanted = set(names)
    return {name: cell for name, cell in cells_of(row).items() if name in wanted}
