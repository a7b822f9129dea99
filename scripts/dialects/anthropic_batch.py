"""Anthropic batch lines: `custom_id` with `params`, asked through the server's `/v1/messages`.

Source: Anthropic API reference, "Message Batches" and "Errors".
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from dialects.answers import check_schema
from dialects.base import apply_defaults, check_messages, refuse_stream, require
from dialects.exchange import Answer, Ask, Failure
from dialects.marks import OWN_PROMPTS, Marks, besides
from engine.facts import Served
from engine.routes import MESSAGES
from job.defaults import Defaults
from rows.errors import RowError
from rows.json_text import quote
from rows.row import Row

NAME = "anthropic"
MARKS = Marks(
    asked=(("custom_id", "params"),),
    unless=besides(*OWN_PROMPTS),
    answered=(("custom_id", "result.type"),),
)
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}


def ask(row: Row, defaults: Defaults, served: Served) -> Ask:
    """Return the line's request."""
    require(row.fields["custom_id"], str, "custom_id", "a string")
    params = require(row.fields["params"], dict, "params", "the request's JSON object")
    check_messages(params.get("messages"), "params.messages")
    refuse_stream(params)
    if not served.has(MESSAGES):
        raise RowError(
            "invalid_url", f"this model's server does not answer {MESSAGES}; write the line as an OpenAI one"
        )
    return apply_defaults(MESSAGES, params, defaults, served)


def read_answer(ask: Ask, answer: Answer, defaults: Defaults) -> dict[str, str]:
    """Return the result with the message as the server wrote it."""
    check_schema(ask, answer, defaults)
    return {"result": f'{{"type": "succeeded", "message": {answer.text}}}'}


def read_failure(failure: Failure) -> dict[str, str]:
    """Return the result with an error in the API's own shape."""
    own = _anthropic_error(failure.body)
    if own is None:
        kind = _TYPES.get(failure.http_status, "api_error")
        own = quote({"type": "error", "error": {"type": kind, "message": failure.message}})
    return {"result": f'{{"type": "errored", "error": {own}}}'}


def _anthropic_error(body: str) -> str | None:
    """Return the server's error when it has the names that this API's users look for; vLLM's own are others."""
    value = json.loads(body) if body else {}
    error = value.get("error") if value.get("type") == "error" else None
    return body if isinstance(error, dict) and str(error.get("type")).endswith("_error") else None


def write(row: Row, results: Mapping[str, str], defaults: Defaults) -> str:
    """Return the API's line."""
    return f'{{"custom_id": {row.raw("custom_id")}, "result": {results["result"]}}}'
