"""The seam between a row and the server: what is asked, what came back, and what every dialect can do.

A dialect is a module with NAME, `recognises`, `ask`, `succeeded` and `failed`; this one holds their common types and
the job's defaults, which all dialects apply in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import sampling
from job import Defaults, Served
from rows import Row, RowError, quoted, shown

_STRUCTURE_NAMES = frozenset(
    {"response_format", "structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar"}
    | {"guided_json_object", "text"}
)
_BUDGET_NAMES = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
_ANTHROPIC_OPTIONS = frozenset({"max_tokens", "temperature", "top_p", "top_k", "stop_sequences"})


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: the route on the server and the JSON body; `file_url` names audio that is sent as a file."""

    route: str
    body: dict[str, Any]
    file_url: str = ""
    schema: bool = False  # the job's ResponseSchemaFile governs this answer

    def encoded(self) -> bytes:
        """Return the body as JSON. Raises RowError invalid_value for what JSON or UTF-8 cannot say."""
        try:
            return json.dumps(self.body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        except UnicodeEncodeError:
            raise RowError("invalid_value", "a text holds half of a surrogate pair (\\ud800 to \\udfff)") from None
        except ValueError:
            raise RowError("invalid_value", "a number is too large for JSON (infinity)") from None


@dataclass(frozen=True, slots=True)
class Answer:
    """A 2xx answer: its body as one line of JSON text, kept as the server wrote it, and the same body parsed."""

    status: int
    text: str
    body: Any
    request_id: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a row has no answer. `status` is the HTTP status or None, `body` the server's own JSON error or ""."""

    code: str
    message: str
    status: int | None = None
    attempts: int = 0
    body: str = ""

    def as_json(self) -> str:
        """Return the error object of this project's own rows."""
        keys = {"code": self.code, "message": self.message, "status": self.status, "attempts": self.attempts}
        return quoted(keys)


class Dialect(Protocol):
    """What each dialect's module offers."""

    NAME: str

    def recognises(self, fields: Mapping[str, Any]) -> bool:
        """Tell whether a row with these fields is written in this dialect."""

    def ask(self, row: Row, defaults: Defaults, served: Served) -> Ask:
        """Return the row's request. Raises RowError for a row that cannot be asked."""

    def succeeded(self, row: Row, ask: Ask, answer: Answer, defaults: Defaults) -> str:
        """Return the output line of an answered row. Raises RowError when the answer is not what was asked for."""

    def failed(self, row: Row, failure: Failure, defaults: Defaults) -> str:
        """Return the output line of a failed row."""


def generating(route: str, body: Mapping[str, Any], defaults: Defaults, served: Served, file_url: str = "") -> Ask:
    """Return the request with the job's defaults put where the row says nothing."""
    whole = {name: value for name, value in body.items() if value is not None}
    whole.setdefault("model", served.model)
    if route not in sampling.GENERATING:
        return Ask(route, whole, file_url)
    whole = with_default_options(whole, route, defaults)
    whole = sampling.translated(whole, route) if route != sampling.MESSAGES else whole
    _add_system_prompt(whole, route, defaults.system_prompt)
    governed = defaults.schema is not None and not _STRUCTURE_NAMES & body.keys()
    if governed:
        _add_schema(whole, route, defaults.schema)
    return Ask(route, whole, file_url, governed)


def with_default_options(body: dict[str, Any], route: str, defaults: Defaults) -> dict[str, Any]:
    """Return the body over the job's options; a row's limit of tokens, under any of its names, beats the job's."""
    own = set(body)
    options = defaults.options
    if own & _BUDGET_NAMES:
        options = {name: value for name, value in options.items() if name not in _BUDGET_NAMES}
    if own & _STRUCTURE_NAMES:
        options = {name: value for name, value in options.items() if name not in _STRUCTURE_NAMES}
    if route == sampling.MESSAGES:
        options = {name: value for name, value in options.items() if name in _ANTHROPIC_OPTIONS}
    return {**options, **body}


def _add_system_prompt(body: dict[str, Any], route: str, text: str) -> None:
    if not text:
        return
    if route == sampling.CHAT and isinstance(messages := body.get("messages"), list):
        roles = {m.get("role") for m in messages if isinstance(m, dict)}
        if not roles & {"system", "developer"}:
            body["messages"] = [{"role": "system", "content": text}, *messages]
    elif route == sampling.RESPONSES:
        body.setdefault("instructions", text)
    elif route == sampling.MESSAGES:
        body.setdefault("system", text)


def _add_schema(body: dict[str, Any], route: str, schema: dict[str, Any] | None) -> None:
    named = {"name": "response", "schema": schema, "strict": True}
    if route == sampling.CHAT:
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    elif route == sampling.COMPLETIONS:
        body["structured_outputs"] = {"json": schema}
    elif route == sampling.RESPONSES:
        body["text"] = {"format": {"type": "json_schema", **named}}
    else:
        raise RowError("invalid_value", f"ResponseSchemaFile cannot be enforced on {route}; use a chat row")


def route_of(url: Any, served: Served) -> str:
    """Return the server's route for a line's url, with or without `/v1` or an Azure deployment before it.

    Raises RowError invalid_url for a url that the server does not answer.
    """
    if not isinstance(url, str) or not url.startswith("/"):
        raise RowError("invalid_url", f'"url" must be a path such as "/v1/chat/completions", got {shown(url)}')
    path = url.split("?")[0].rstrip("/")
    if path.startswith("/openai/deployments/"):
        path = "/" + path.split("/", 4)[-1]
    candidates = [path, "/v1" + path, path.removeprefix("/v1")]
    if not served.routes:
        return candidates[1] if "/v1" + path in sampling.GENERATING | {"/v1/embeddings"} else path
    for candidate in candidates:
        if candidate in served.routes:
            return candidate
    raise RowError("invalid_url", f'"url" {shown(url)} is not answered by this model\'s server')


def refuse_stream(body: Mapping[str, Any]) -> None:
    """Raise RowError stream_not_supported for a request that asks for a stream."""
    if body.get("stream"):
        raise RowError("stream_not_supported", '"stream": true has no place in a batch; leave it out')


def require(value: Any, kind: type, name: str, must: str) -> Any:
    """Return a value of the right kind. Raises RowError missing_field or invalid_value, naming the field."""
    if value is None:
        raise RowError("missing_field", f'"{name}" is missing; it must be {must}')
    if not isinstance(value, kind):
        raise RowError("invalid_value", f'"{name}" must be {must}, got {shown(value)}')
    return value


def check_messages(messages: Any, name: str = "messages") -> list[Any]:
    """Return a conversation that a server can read. Raises RowError naming what is wrong with which message."""
    require(messages, list, name, "a list of messages")
    if not messages:
        raise RowError("invalid_value", f'"{name}" is empty; it needs at least one message')
    for place, message in enumerate(messages, 1):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise RowError("invalid_value", f'message {place} of "{name}" must be an object with a "role"')
        if not isinstance(message.get("content"), str | list | None):
            raise RowError("invalid_value", f'"content" of message {place} must be a text or a list of parts')
    return list(messages)
