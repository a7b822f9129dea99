"""OpenAI Batch lines: `custom_id`, `method`, `url`, `body`, for any JSON endpoint of the server.

Source: OpenAI API reference, "Batch"; vllm/entrypoints/openai/run_batch.py for audio lines with `file_url`.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any

from dialects.answers import check_schema
from dialects.base import apply_defaults, refuse_stream, require, route_of
from dialects.exchange import Answer, Ask, Failure
from dialects.marks import OWN_PROMPTS, Marks, besides
from engine.facts import Served
from engine.routes import CHAT, COMPLETIONS
from job.defaults import Defaults
from rows.errors import RowError
from rows.json_text import quote, shorten
from rows.row import Row

NAME = "openai"
MARKS = Marks(
    asked=(("custom_id", "body"), ("custom_id", "method", "url")),
    unless=besides(*OWN_PROMPTS),
    answered=(("custom_id", "response"),),
)
UNNAMED = {"messages": CHAT, "prompt": COMPLETIONS}  # the endpoint of a line that names none, by what it asks
AUDIO = ("/v1/audio/transcriptions", "/v1/audio/translations")


def ask(row: Row, defaults: Defaults, served: Served) -> Ask:
    """Return the line's request; `body.model` is the server's own where the line has none."""
    fields = row.fields
    require(fields["custom_id"], str, "custom_id", "a string")
    method = fields.get("method", "POST")
    if method != "POST":
        raise RowError("invalid_method", f'"method" must be "POST", got {shorten(method)}')
    body = require(fields.get("body"), dict, "body", "the request's JSON object")
    route = route_of(fields["url"] if "url" in fields else _find_url(body), served)
    refuse_stream(body)
    if route in AUDIO:
        audio = require(body.get("file_url"), str, "body.file_url", "an http, https or data URL")
        return apply_defaults(route, {k: v for k, v in body.items() if k != "file_url"}, defaults, served, audio)
    return apply_defaults(route, body, defaults, served)


def _find_url(body: Mapping[str, Any]) -> str | None:
    """Return what a line without a `url` asks: some APIs name the endpoint once for a whole batch."""
    return next((url for name, url in UNNAMED.items() if name in body), None)


def read_answer(ask: Ask, answer: Answer, defaults: Defaults) -> dict[str, str]:
    """Return the response, its body as the server wrote it."""
    check_schema(ask, answer, defaults)
    return {"response": _response(answer.status, answer.request_id, answer.text), "error": "null"}


def read_failure(failure: Failure) -> dict[str, str]:
    """Return an HTTP failure as a response with its status and body, any other failure as an error."""
    if failure.status is not None and failure.body:
        return {"response": _response(failure.status, "", failure.body), "error": "null"}
    return {"response": "null", "error": quote({"code": failure.code, "message": failure.message})}


def write(row: Row, results: Mapping[str, str], defaults: Defaults) -> str:
    """Return the Batch API's line."""
    response, error = results["response"], results["error"]
    whole = f"{row.line}\0{row.text}\0{response}\0{error}"  # the same line again when the same result is merged again
    own = quote(f"batch_req_{hashlib.sha256(whole.encode()).hexdigest()[:32]}")
    return f'{{"id": {own}, "custom_id": {row.raw("custom_id")}, "response": {response}, "error": {error}}}'


def _response(status: int, request_id: str, body: str) -> str:
    known = quote(request_id or f"req_{uuid.uuid4().hex}")
    return f'{{"status_code": {status}, "request_id": {known}, "body": {body}}}'
