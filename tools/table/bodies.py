"""A response body as a table needs it: the answer's text, what else was answered, and what the body says of both.

Bodies of vLLM's endpoints are read by the worker's own readers; of others, such as Bedrock's model families, the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from dialects import answers
from dialects.exchange import Answer, Ask
from dialects.reply import read_content
from engine import routes
from job.defaults import Defaults
from rows.errors import RowError

TEXT = Defaults().output_field  # the name of an answer's text where nothing else names it
_FAMILIES: tuple[Callable[[Any], Any], ...] = (  # where other makers' bodies have their text
    lambda body: body if isinstance(body, str) else body["generation"],
    lambda body: body["completion"],
    lambda body: body["generated_text"],
    lambda body: body["results"][0]["outputText"],
    lambda body: body["outputs"][0]["text"],
    lambda body: body["generations"][0]["text"],
    lambda body: read_content(body["output"]["message"]["content"])[0],
    lambda body: body["text"],
)


@dataclass(slots=True)
class Reply:
    """What a body answers: its text (None where it has none), other answers, and details, by name."""

    text: str | None = None
    others: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


def read_body(body: Any) -> Reply:
    """Return what a body answers; one that nobody knows is an answer named `body`."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    text = _find_text(body)
    if text is not None:
        return Reply(text)
    route = _guess_route(body)
    try:
        found = answers.read_results(Ask(route, {}), Answer(200, "", body, ""), Defaults())
    except (RowError, AttributeError, TypeError):
        return Reply(others={"body": body})
    reply = Reply(details={name: value for name, value in found.items() if name in answers.DETAILS})
    reply.others = {name: value for name, value in found.items() if name not in answers.DETAILS}
    if route in routes.GENERATING:
        reply.text = reply.others.pop(TEXT) or ""
    return reply


def _find_text(body: Any) -> str | None:
    for find in _FAMILIES:
        try:
            text = find(body)
        except (KeyError, IndexError, TypeError):
            continue
        if isinstance(text, str):
            return text
    return None


def _guess_route(body: Any) -> str:
    """Return a route that answers with a body of this shape."""
    if not isinstance(body, dict):
        return ""
    choices, data = body.get("choices"), body.get("data")
    if isinstance(choices, list) and choices:
        return routes.CHAT if isinstance(choices[0], dict) and "message" in choices[0] else routes.COMPLETIONS
    if isinstance(body.get("content"), list):
        return routes.MESSAGES
    if isinstance(body.get("output"), list):
        return routes.RESPONSES
    is_scored = isinstance(data, list) and data and isinstance(data[0], dict) and "score" in data[0]
    return "/v1/score" if is_scored else "/tokenize" if "tokens" in body else "/v1/embeddings"
