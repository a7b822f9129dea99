"""What a chunk and the merge write down of a row: the record of a failure, and the usage of an answer."""

from __future__ import annotations

import hashlib
from typing import Any

from dialects.base import Dialect
from dialects.exchange import Failure
from job.defaults import Defaults
from results.shards import Record
from rows.row import Row

_TOKENS_LIMIT = 2**40  # more is no count but a fault of the server
_REASON_LIMIT = 100  # characters


def row_digest(raw: bytes) -> str:
    """Return a short digest of an input line, by which a result can be traced to its row."""
    return hashlib.sha256(raw).hexdigest()[:16]


def failed_record(
    line: int, raw: bytes, dialect: Dialect | None, row: Row | None, failure: Failure, defaults: Defaults
) -> Record:
    """Return the record of a row without an answer; a line that is no row has an output line of its own."""
    head = {
        "line": line,
        "status": "failed",
        "row": row_digest(raw),
        "code": failure.code,
        "attempts": failure.attempts,
    }
    if dialect is None or row is None:
        return Record({**head, "dialect": "none"}, f'{{"line": {line}, "error": {failure.as_json()}}}'.encode())
    return Record({**head, "dialect": dialect.NAME}, dialect.failed(row, failure, defaults).encode())


def usage(body: Any) -> dict[str, Any]:
    """Return an answer's finish reason and tokens, where its endpoint tells them."""
    if not isinstance(body, dict):
        return {}
    told = body.get("usage")
    counts = told if isinstance(told, dict) else {}
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    tokens = {
        "in": counts.get("prompt_tokens", counts.get("input_tokens")),
        "out": counts.get("completion_tokens", counts.get("output_tokens")),
    }
    known: dict[str, Any] = {
        name: count for name, count in tokens.items() if type(count) is int and 0 <= count < _TOKENS_LIMIT
    }
    finish = first.get("finish_reason") or body.get("stop_reason")
    if isinstance(finish, str) and len(finish) < _REASON_LIMIT:
        known["finish"] = finish
    return known
