"""What every dialect can do, and what all of them share: the job's defaults, routes, and checks of a row's fields.

A dialect is a module with NAME, MARKS, `ask`, `read_answer`, `read_failure` and `write`. What it reads of an answer is
written to any row that asks the same, then or years later.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Protocol

from dialects.exchange import Answer, Ask, Failure
from dialects.marks import Marks
from dialects.tidy import tidy_request
from engine import routes
from engine.facts import Served
from engine.routes import ANY_ROUTE
from job.defaults import Defaults
from job.options import BUDGET, BUDGET_NAMES, BUDGET_ORDER
from job.translation import refuse_structure_with_beams, translate_options
from rows.errors import RowError
from rows.json_text import shorten
from rows.row import Row

_STRUCTURE_NAMES = frozenset(
    {"response_format", "structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar"}
    | {"guided_json_object", "text", "output_config"}
)
_STOP_NAMES = frozenset({"stop", "stop_sequences"})
_SYSTEM_FIELDS = {routes.CHAT: "messages", routes.RESPONSES: "instructions", routes.MESSAGES: "system"}
MESSAGES_OPTIONS = BUDGET_NAMES | {"temperature", "top_p", "top_k", "stop", "stop_sequences"}


class Dialect(Protocol):
    """What each dialect's module offers."""

    NAME: str
    MARKS: Marks

    def ask(self, row: Row, defaults: Defaults, served: Served) -> Ask:
        """Return the row's request. Raises RowError for a row that cannot be asked."""

    def read_answer(self, ask: Ask, answer: Answer, defaults: Defaults) -> dict[str, str]:
        """Return what an answer adds to a row, name to JSON text. Raises RowError when it is not what was asked for."""

    def read_failure(self, failure: Failure) -> dict[str, str]:
        """Return what a failure adds to a row, name to JSON text."""

    def write(self, row: Row, results: Mapping[str, str], defaults: Defaults) -> str:
        """Return the output line of a row: what was read of its answer or of its failure stands last in it."""


def apply_defaults(
    route: str,
    body: Mapping[str, Any],
    defaults: Defaults,
    served: Served,
    file_url: str = "",
    *,
    own_system: bool = False,
    form: str = "",
) -> Ask:
    """Return the request with the job's defaults put where the row says nothing.

    `own_system` tells that the body holds a system prompt of the row's, which need not be a message of its own; `form`
    is the request's.
    """
    own = tidy_request(body, route)
    own.setdefault("model", served.model)
    if route not in routes.GENERATING:
        return Ask(route, own, file_url, form=form)
    lent = _lend(own, route, defaults, served)
    whole = translate_options({**lent, **own}, route, served.limit)
    added = whole.keys() - own.keys()
    if not added <= lent.keys():  # some are the row's own, or the job's, under the route's name
        added &= translate_options(lent, route, served.limit).keys()
    from_job = frozenset(added)
    if defaults.system_prompt and not own_system:
        from_job |= _add_system_prompt(whole, route, defaults.system_prompt, served)
    governed = defaults.schema is not None and not _STRUCTURE_NAMES & own.keys()
    if governed:
        refuse_structure_with_beams(whole)
        _add_schema(whole, route, defaults.schema)
    budget = "" if not BUDGET_NAMES.isdisjoint(own) else served.limit if route == routes.CHAT else BUDGET[route]
    return Ask(route, whole, file_url, governed, budget if budget in whole else "", "", from_job, form)


def _lend(own: dict[str, Any], route: str, defaults: Defaults, served: Served) -> dict[str, Any]:
    """Return the job's options for what a row does not say; each group of names that mean one thing counts as one.

    Rows that say alike are lent the same object, which is not to be changed.
    """
    said = (not BUDGET_NAMES.isdisjoint(own), not _STRUCTURE_NAMES.isdisjoint(own), not _STOP_NAMES.isdisjoint(own))
    searches = bool(own.get("use_beam_search"))
    key = (route, served.tokens, said, searches)
    lent = defaults.lent.get(key)
    if lent is None:
        lent = defaults.lent[key] = _choose_lent(defaults, route, served.tokens, said, searches=searches)
    return lent


def _choose_lent(
    defaults: Defaults, route: str, tokens: int | None, said: tuple[bool, bool, bool], *, searches: bool
) -> dict[str, Any]:
    options = dict(defaults.options)
    if searches:
        options["temperature"] = 0  # as vLLM's LLM.beam_search has it
    unwanted: set[str] = set()
    for group, is_said in zip((BUDGET_NAMES, _STRUCTURE_NAMES, _STOP_NAMES), said, strict=True):
        if is_said or (group is _STRUCTURE_NAMES and defaults.schema is not None):
            unwanted |= group
    if route == routes.MESSAGES:
        unwanted |= options.keys() - MESSAGES_OPTIONS
    kept = {name: value for name, value in options.items() if name not in unwanted}
    budgets = [kept.pop(name) for name in BUDGET_ORDER if name in kept]
    if budgets:  # once, so that one name gives way
        kept["max_tokens"] = min(budgets[0], tokens or budgets[0])
    return kept


def _add_system_prompt(body: dict[str, Any], route: str, text: str, served: Served) -> set[str]:
    """Add the job's system prompt where the row has none; return the field that holds it then."""
    name = _SYSTEM_FIELDS.get(route)
    if name is None:
        return set()
    if name != "messages":
        if name in body:
            return set()
        body[name] = text
        return {name}
    messages = body.get("messages")
    if not isinstance(messages, list) or has_system(messages):
        return set()
    body["messages"] = put_system(messages, text, served)
    return {name}


def has_system(messages: list[Any]) -> bool:
    """Tell whether a conversation has a system message of its own."""
    return any(isinstance(each, dict) and each.get("role") in ("system", "developer") for each in messages)


def put_system(messages: list[Any], text: str, served: Served) -> list[Any]:
    """Return a conversation with a system prompt; before its first user turn where the model has no system message."""
    if served.system:
        return [{"role": "system", "content": text}, *messages]
    for place, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            whole = [{"type": "text", "text": text}, *content] if isinstance(content, list) else f"{text}\n\n{content}"
            return [*messages[:place], {**message, "content": whole}, *messages[place + 1 :]]
    return [{"role": "user", "content": text}, *messages]


def _add_schema(body: dict[str, Any], route: str, schema: dict[str, Any] | None) -> None:
    named = {"name": "response", "schema": schema, "strict": True}
    if route == routes.CHAT:
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    elif route == routes.COMPLETIONS:
        body["structured_outputs"] = {"json": schema}
    elif route == routes.RESPONSES:
        body["text"] = {"format": {"type": "json_schema", **named}}
    else:
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}


def route_of(url: Any, served: Served) -> str:
    """Return the server's route for a line's url, with or without `/v1` or an Azure deployment before it.

    Raises RowError invalid_url for a url that no row may ask or that the server does not answer.
    """
    if not isinstance(url, str) or not url.startswith("/"):
        raise RowError("invalid_url", f'"url" must be a path such as "/v1/chat/completions", got {shorten(url)}')
    known = _find_routes(url)
    if not known:
        told = "is no endpoint that answers rows; all of them are ROUTES in scripts/engine/routes.py"
        raise RowError("invalid_url", f'"url" {shorten(url)} {told}')
    for route in known:
        if served.has(route):
            return route
    raise RowError("invalid_url", f'"url" {shorten(url)} is not answered by this model\'s server')


@functools.lru_cache(maxsize=256)  # the rows of a file name few urls
def _find_routes(url: str) -> tuple[str, ...]:
    path = re.sub(r"^/openai(/deployments/[^/]+|(?=/v1/))", "", url.partition("?")[0].rstrip("/"))
    return tuple(route for route in (path, "/v1" + path, path.removeprefix("/v1")) if route in ANY_ROUTE)


def refuse_stream(body: Mapping[str, Any]) -> None:
    """Raise RowError stream_not_supported for a request that asks for a stream."""
    if body.get("stream"):
        text = shorten(body["stream"])
        raise RowError("stream_not_supported", f'"stream": {text} has no place in a batch; leave it out')


def require(value: Any, kind: type, name: str, must: str) -> Any:
    """Return a value of the right kind. Raises RowError missing_field or invalid_value, naming the field."""
    if value is None:
        raise RowError("missing_field", f'"{name}" is missing; it must be {must}')
    if not isinstance(value, kind):
        raise RowError("invalid_value", f'"{name}" must be {must}, got {shorten(value)}')
    return value


def check_messages(messages: Any, name: str = "messages") -> list[Any]:
    """Return a conversation that a server can read. Raises RowError naming what is wrong with which message."""
    require(messages, list, name, "a list of messages")
    if not messages:
        raise RowError("invalid_value", f'"{name}" is empty; it needs at least one message')
    for place, message in enumerate(messages, 1):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise RowError("invalid_value", f'message {place} of "{name}" must be an object with a "role"')
        content = message.get("content")
        if not isinstance(content, str) and not isinstance(content, list | None):
            raise RowError("invalid_value", f'"content" of message {place} must be a text or a list of parts')
    return list(messages)
