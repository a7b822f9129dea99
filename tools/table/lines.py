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
from rows.errors import RowError
from rows.json_text import quote
from rows.row import BOM, PREVIOUS, parse
from table.bodies import TEXT, read_body
from table.values import MISSING, read_object

_FENCED = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)
_POOLED: tuple[frozenset[str], ...] = (  # results of endpoints that generate nothing; those of a group come together
    *(frozenset({name}) for name in ("results", "score", "scores", "data", "embedding")),
    frozenset({"label", "probs", "num_classes"}),
    frozenset({"count", "max_model_len", "tokens", "token_strs"}),
)


@dataclass(slots=True)
class Result:
    """One line's result. `name` is that of the answer's text; `fields` are those of a text that is a JSON object."""

    own: dict[str, Any] = field(default_factory=dict)
    name: str = TEXT
    text: Any = MISSING
    fields: dict[str, Any] | None = None
    others: dict[str, Any] = field(
        default_factory=dict
    )  # answers that are no text: tool calls, scores, vectors, labels
    details: dict[str, Any] = field(default_factory=dict)
    failed: bool = False


def read_result(number: int, raw: bytes) -> Result:
    """Return the result of a line of output.jsonl. Raises RowError for a line that is no JSON object."""
    row = read_object(raw.removeprefix(BOM).decode("utf-8", "surrogateescape"))
    if row is None:
        parse(number, raw)  # raises what is wrong
        raise RowError("invalid_json", "not JSON")
    result = _READERS[_find_dialect(row)](row)
    if isinstance(result.text, str) and "{" in result.text:
        fenced = _FENCED.fullmatch(result.text)
        result.fields = read_object(fenced[1] if fenced else result.text)
    return result


def _find_dialect(row: Mapping[str, Any]) -> str:
    if row.keys() >= answers.ALWAYS:
        return "prompt"  # whatever dialect the row that it was asked from had
    if row.keys() == {"line", "error"}:
        return "none"
    return next((dialect.NAME for dialect in OTHERS if dialect.MARKS.tell_answered(row)), "prompt")


def _read_prompt(row: dict[str, Any]) -> Result:
    names = list(row)
    end = len(names) - (names[-1:] == [PREVIOUS])
    start = _find_results(names[:end], row)
    result = Result(own=_keep(row, names[:start]) | (_read_previous(row) if end < len(names) else {}))
    if start < end and row.keys() >= answers.ALWAYS:
        result.name = names[start]
        result.text = row[result.name]
        start += 1
    for name in names[start:end]:
        if name == "error":
            _fail(result, row["error"])
        else:
            kind = result.details if name in answers.DETAILS else result.others
            kind[name] = row[name]
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


def _read_previous(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row's own fields that gave way to the result's."""
    return row[PREVIOUS] if isinstance(row[PREVIOUS], dict) else {}


def _read_openai(row: dict[str, Any]) -> Result:
    result = Result(own=_keep(row, ("custom_id",)))
    response = row["response"] if isinstance(row["response"], dict) else {}
    body, status = response.get("body"), response.get("status_code")
    if row.get("error"):
        _fail(result, row["error"], status)
    elif isinstance(status, int) and status >= 400:
        _fail(result, body, status)
    else:
        _answer(result, body)
    return result


def _read_anthropic(row: dict[str, Any]) -> Result:
    result = Result(own=_keep(row, ("custom_id",)))
    outcome = row["result"]
    if outcome["type"] == "succeeded":
        _answer(result, outcome.get("message"))
    else:
        _fail(
            result, outcome.get("error") or {"code": outcome["type"], "message": f"the request was {outcome['type']}"}
        )
    return result


def _read_runpod(row: dict[str, Any]) -> Result:
    return _read_added(row, {"status", "output", "error"}, "output")


def _read_bedrock(row: dict[str, Any]) -> Result:
    return _read_added(row, {"modelOutput", "error"}, "modelOutput")


def _read_added(row: dict[str, Any], added: set[str], answer: str) -> Result:
    """Return the result of a line that keeps its own members and has others added."""
    moved = next(reversed(row)) == PREVIOUS
    taken = added | ({PREVIOUS} if moved else set())
    result = Result(own=_keep(row, (name for name in row if name not in taken)))
    result.own |= _read_previous(row) if moved else {}
    if "error" in row:
        _fail(result, row["error"])
    else:
        _answer(result, row.get(answer))
    return result


def _read_none(row: dict[str, Any]) -> Result:
    result = Result()
    _fail(result, row["error"])
    result.details["error_message"] = f"line {row['line']}: {result.details['error_message']}"
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
    result.text = MISSING if reply.text is None else reply.text
    result.others, result.details = reply.others, reply.details


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
    result.details["error_code"] = str(code)
    result.details["error_message"] = message if isinstance(message, str) else quote(message)


def _keep(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row}
