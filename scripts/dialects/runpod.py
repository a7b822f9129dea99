"""RunPod worker lines: an `input` object in one of the four shapes that RunPod's vLLM worker takes.

Source: RunPod documentation, "Send requests to vLLM workers" and "OpenAI API compatibility".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialects.answers import check_schema
from dialects.base import apply_defaults, check_messages, require, route_of
from dialects.exchange import Answer, Ask, Failure
from dialects.marks import OWN_PROMPTS, Marks, besides
from engine import routes
from engine.facts import Served
from job.defaults import Defaults
from job.options import check_options
from rows.errors import RowError
from rows.json_text import shorten
from rows.row import Row

NAME = "runpod"
MARKS = Marks(
    asked=besides("input.messages", "input.prompt", "input.openai_route", "input.openai_input", "input.route"),
    # beside an instruction or a prompt it is a user's own data, beside an output or a failure it was asked before
    unless=(*besides(*OWN_PROMPTS, "instruction", "output"), ("error", "status=FAILED")),
    answered=(("input", "output", "status=COMPLETED"), ("input", "error", "status=FAILED")),
    added=frozenset({"status", "output", "error"}),
)
STREAM = frozenset({"stream", "stream_options"})


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
    checked = check_options({name: value for name, value in options.items() if name not in STREAM})
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
    whole = {key: value for key, value in content.items() if key not in STREAM}
    return apply_defaults(route_of(route, served), whole, defaults, served)


def read_answer(ask: Ask, answer: Answer, defaults: Defaults) -> dict[str, str]:
    """Return the endpoint's response body as `output`."""
    check_schema(ask, answer, defaults)
    return {"status": '"COMPLETED"', "output": answer.text}


def read_failure(failure: Failure) -> dict[str, str]:
    """Return the error."""
    return {"status": '"FAILED"', "error": failure.as_json()}


def write(row: Row, results: Mapping[str, str], defaults: Defaults) -> str:
    """Return the line's fields with the results."""
    return row.extend(results, MARKS.added)
