"""Rows as the tests of the dialects ask them: a row in, the request or the output line out, no server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dialects.exchange import Answer, Ask, Failure
from dialects.recognise import recognise
from engine.facts import Served
from job.defaults import Defaults
from rows.errors import RowError
from rows.row import parse

CHAT, COMPLETIONS, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"
ROUTES = frozenset({CHAT, COMPLETIONS, RESPONSES, MESSAGES, "/v1/embeddings", "/score", "/v1/score", "/v1/rerank"})
SERVED = Served(model="m", routes=ROUTES | {"/tokenize", "/classify"}, tokens=4096)
BASE_MODEL = Served(model="m", routes=ROUTES, chat=False)
ENCODER = Served(
    model="e",
    routes=frozenset({"/v1/embeddings", "/v1/score", "/v1/rerank", "/pooling"}),
    chat=False,
    tokens=256,
)
JOB = Defaults(options={"max_tokens": 512, "temperature": 0.7})
USER = [{"role": "user", "content": "Hi"}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def asked(row: dict[str, Any], job: Defaults = JOB, served: Served = SERVED) -> Ask:
    parsed = parse(1, json.dumps(row).encode())
    return recognise(parsed.fields).ask(parsed, job, served)


def refused(row: dict[str, Any], job: Defaults = JOB, served: Served = SERVED) -> tuple[str, str]:
    with pytest.raises(RowError) as raised:
        asked(row, job, served)
    return raised.value.code, raised.value.message


def answered(row: dict[str, Any], body: Any, job: Defaults = JOB, served: Served = SERVED) -> dict[str, Any]:
    parsed = parse(1, json.dumps(row).encode())
    dialect = recognise(parsed.fields)
    results = dialect.read_answer(dialect.ask(parsed, job, served), Answer(200, json.dumps(body), body, "req_7"), job)
    result: dict[str, Any] = json.loads(dialect.write(parsed, results, job))
    return result


def failed(row: dict[str, Any], failure: Failure) -> dict[str, Any]:
    parsed = parse(1, json.dumps(row).encode())
    dialect = recognise(parsed.fields)
    result: dict[str, Any] = json.loads(dialect.write(parsed, dialect.read_failure(failure), JOB))
    return result


def chat_body(*texts: str, reason: str = "stop", **message: Any) -> dict[str, Any]:
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text, **message}, "finish_reason": reason}
        for i, text in enumerate(texts)
    ]
    return {"id": "c", "model": "m", "choices": choices, "usage": {"prompt_tokens": 7, "completion_tokens": 42}}
