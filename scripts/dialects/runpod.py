"""RunPod worker lines: an `input` object in one of the four shapes that RunPod's vLLM worker takes.

Source: RunPod documentation, "Send requests to vLLM workers" and "OpenAI API compatibility".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialects.answers import check_schema
from dialects.base import apply_defaults, check_messages, require, route_of
from dialects.exchange import Answer, Ask, Failure
from engine import routes
from engine.facts import Served
from job.defaults import Defaults
from job.options import check_options
from rows.errors import RowError
from rows.row import Row, shorten

NAME = "runpod"
_SHAPES = frozenset({"messages", "prompt", "openai_route", "openai_input", "route"})
_RESERVED = frozenset({"status", "output", "error"})
_STREAM = frozenset({"stream", "stream_options"})


def recognises(fields: Mapping[str, Any]) -> bool:
    """Tell by an `input` object of a known shape.

    Beside an instruction or a prompt it is a user's own data, beside an `output` or a failure it was asked before.
    """
    inner = fields.get("input")
    if not isinstance(inner, dict) or fields.keys() & {"prompt", "text", "messages", "instruction", "output"}:
        return False
    if "error" in fields and fields.get("status") == "FAILED":
        return False
    return bool(inner.keys() & _SHAPES)


def ask(row: Row, defaults: Defaults, served: Served) -> Ask:
    """Return the line's request; one that asks for a stream is answered whole."""
    inner = row.fields["input"]
    if "openai_route" in inner or "openai_input" in inner:
        return _passed_through(inner.get("openai_route"), inner.get("openai_input"), "openai_input", defaults, served)
    if "route" in inner:
        if inner.get("method", "POST") != "POST":
            raise RowError("invalid_method", f'"input.method" must be "POST", got {shorten(inner["method"])}')
        return _passed_through(inner["route"], inner.get("body"), "body", defaults, served)
    options = require(inner.get("sampling_params") or {}, dict, "input.sampling_params", "an object")
    checked = check_options({name: value for name, value in options.items() if name not in _STREAM})
    if "messages" in inner:
        messages = check_messages(inner["messages"], "input.messages")
        return _chat(messages, checked, defaults, served)
    prompt = require(inner.get("prompt"), str, "input.prompt", "a text")
    if inner.get("apply_chat_template"):
        return _chat([{"role": "user", "content": prompt}], checked, defaults, served)
    return apply_defaults(routes.COMPLETIONS, {"prompt": prompt, **checked}, defaults, served)


def _chat(messages: list[Any], options: dict[str, Any], defaults: Defaults, served: Served) -> Ask:
    return apply_defaults(routes.CHAT, {"messages": messages, **options}, defaults, served)


def _passed_through(route: Any, body: Any, name: str, defaults: Defaults, served: Served) -> Ask:
    content = require(body, dict, f"input.{name}", "the request's JSON object")
    whole = {key: value for key, value in content.items() if key not in _STREAM}
    return apply_defaults(route_of(route, served), whole, defaults, served)


def write_answer(row: Row, ask: Ask, answer: Answer, defaults: Defaults) -> str:
    """Return the line's fields with the endpoint's response body as `output`."""
    check_schema(ask, answer, defaults)
    return row.extend({"status": '"COMPLETED"', "output": answer.text}, _RESERVED)


def write_failure(row: Row, failure: Failure, defaults: Defaults) -> str:
    """Return the line's fields with the error."""
    return row.extend({"status": '"FAILED"', "error": failure.as_json()}, _RESERVED)
