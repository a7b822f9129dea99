"""Prompt rows, the project's own: a `prompt`, a `text` or `messages`, and any fields that a user wants to keep.

The job's Endpoint says what is asked of the server; `auto` takes what the model can do. The output is the row with
the results added, every field of the input unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialects import answers
from dialects.base import apply_defaults, check_messages, has_system, put_system, refuse_stream, require
from dialects.exchange import Answer, Ask, Failure
from dialects.marks import Marks
from dialects.tidy import from_text, merge_extra_body
from engine import routes
from engine.facts import Served
from job.defaults import Defaults
from job.options import OPTIONS, check_options, is_read
from rows.errors import RowError
from rows.json_text import quote_finite, shorten
from rows.row import Row

NAME = "prompt"
MARKS = Marks(added=frozenset({"error"}))  # what no other dialect claims
_EMBEDDINGS, _SCORE, _RERANK, _CLASSIFY, _POOLING = "/v1/embeddings", "/v1/score", "/v1/rerank", "/classify", "/pooling"
TEXTS = ("prompt", "text")
NAMES = 8  # of a row's fields that a message lists
_LAYOUTS = frozenset({"conversations", "instruction", "question", "query"})  # of well-known data sets
PAIRS = {  # the fields of a row that make the body of a comparing endpoint
    _SCORE: ("text_1", "text_2", "queries", "documents", "items", "data_1", "data_2"),
    _RERANK: ("query", "documents", "top_n"),
}
DOCUMENTS = ("documents", "text_2", "items", "data_2")  # those among them that are compared with a query
COMPARING = {"/score": _SCORE, _SCORE: _SCORE, "/rerank": _RERANK, _RERANK: _RERANK, "/v2/rerank": _RERANK}


def ask(row: Row, defaults: Defaults, served: Served) -> Ask:
    """Return the row's request on the job's endpoint."""
    route = _route(row.fields, defaults, served)
    columns = {} if defaults.columns_are_data else row.fields
    options = _options(row.fields, columns, route)
    system = _system(columns, options)
    if route in COMPARING:
        return Ask(route, {**_named(columns, options), **_pairs(row.fields, COMPARING[route], served)})
    content = _content(row.fields, defaults)
    if route not in routes.GENERATING:
        body = {"model": served.model, **_pooling(defaults), **_named(columns, options), **_input(content, route)}
        return Ask(route, body)
    body = {**_named(columns, options), **_generation_input(content, route, system, defaults, served)}
    return apply_defaults(route, body, defaults, served, own_system=system is not None)


def _route(fields: Mapping[str, Any], defaults: Defaults, served: Served) -> str:
    """Return the route that the job asks for, or the one that suits the row and the model."""
    if defaults.endpoint != "auto":
        if not served.has(defaults.endpoint):
            raise RowError("invalid_url", f"Endpoint {defaults.endpoint} is not answered by this model's server")
        return defaults.endpoint
    pair = _pair_route(fields)
    if not served.routes and pair and defaults.template is None and not _asks(fields):
        return pair  # nothing else could be asked of it
    if served.has(routes.CHAT) or served.has(routes.COMPLETIONS):
        is_talk = isinstance(from_text(fields.get("messages")), list)
        return routes.CHAT if served.chat or is_talk else routes.COMPLETIONS
    if pair and served.has(pair):
        return pair
    able = [route for route in (_EMBEDDINGS, _CLASSIFY, _SCORE, _POOLING) if route in served.routes]
    if not able:
        raise RowError("invalid_url", "the model's server answers no endpoint for prompt rows; set Endpoint")
    return able[0]


def _pair_route(fields: Mapping[str, Any]) -> str:
    if "documents" in fields and "query" in fields:
        return _RERANK
    return _SCORE if fields.keys() & {"text_1", "queries"} else ""


def _asks(fields: Mapping[str, Any]) -> bool:
    return any(fields.get(name) is not None for name in ("messages", *TEXTS))


def _options(fields: Mapping[str, Any], columns: Mapping[str, Any], route: str) -> dict[str, Any]:
    """Return the row's own request options, those of `sampling_params` before those of its columns.

    An option that the route does not read is not looked at, wherever it stands.
    """
    nested = merge_extra_body(require(fields.get("sampling_params") or {}, dict, "sampling_params", "an object"))
    refuse_stream(nested)
    results = answers.find_earlier(fields)
    top = {name: value for name, value in columns.items() if name in OPTIONS and name not in results}
    extra = columns.get("extra_body")
    top |= merge_extra_body({"extra_body": extra}) if isinstance(extra, dict) else {}
    return check_options({name: value for name, value in {**top, **nested}.items() if is_read(name, route)})


def _system(columns: Mapping[str, Any], options: dict[str, Any]) -> str | None:
    """Return the row's own system prompt, and take it from the options; a column of another kind is the user's own."""
    nested = options.pop("system", None)
    if nested is not None:
        require(nested, str, "sampling_params.system", "a text")
    own = columns.get("system")
    return own if isinstance(own, str) else nested


def _named(columns: Mapping[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with the model or adapter that the row names."""
    model = columns.get("model")
    if model is None:
        return options
    return {"model": require(model, str, "model", "the name of a model or adapter that is served"), **options}


def _pooling(defaults: Defaults) -> dict[str, Any]:
    """Return the job's options that mean something where nothing is generated."""
    return {name: value for name, value in defaults.options.items() if is_read(name, _POOLING)}


def _content(fields: Mapping[str, Any], defaults: Defaults) -> str | list[Any]:
    """Return the prompt or the conversation of a row."""
    if defaults.template is not None:
        content = defaults.template.render(dict(fields))
        return check_messages(content, "messages of PromptTemplateFile") if isinstance(content, list) else content
    if fields.get("messages") is not None:
        return check_messages(from_text(fields["messages"]))
    for name in TEXTS:
        if fields.get(name) is not None:
            text = require(fields[name], str, name, _must_be(fields[name]))
            if not text:
                raise RowError("invalid_value", f'"{name}" is empty; write what to ask')
            return str(text)
    need = 'the row needs "prompt", "text" or "messages" (or the job a PromptTemplateFile)'
    raise RowError("missing_field", f"{need}; it has {_list_names(fields)}")


def _list_names(fields: Mapping[str, Any]) -> str:
    """List the fields of a row for a message, and where its layout is one that make_rows.py knows, say so."""
    known = "; tools/make_rows.py makes rows of these" if fields.keys() & _LAYOUTS else ""
    names = [shorten(name) for name in fields]
    more = f" and {len(names) - NAMES:,} more" if len(names) > NAMES else ""
    return (", ".join(names[:NAMES]) or "no fields") + more + known


def _must_be(value: Any) -> str:
    """Say what a prompt must be, and where the thing that it is belongs."""
    is_talk = isinstance(value, list) and any(isinstance(each, dict) and "role" in each for each in value)
    return 'a text (a list of messages stands in "messages")' if is_talk else "a text"


def _generation_input(
    content: str | list[Any], route: str, system: str | None, defaults: Defaults, served: Served
) -> dict[str, Any]:
    if route == routes.COMPLETIONS:
        if not isinstance(content, str):
            raise RowError("invalid_value", '"messages" cannot be asked on completions; write a "prompt"')
        before = system or defaults.system_prompt
        return {"prompt": f"{before}\n\n{content}" if before else content}
    if not served.chat and route == routes.CHAT:
        message = 'the model has no chat template; write a "prompt", or give --chat-template in VllmArgs'
        raise RowError("no_chat_template", message)
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
    if system is None or has_system(messages):
        return {"input" if route == routes.RESPONSES else "messages": messages}
    if route == routes.MESSAGES:
        return {"system": system, "messages": messages}
    if route == routes.RESPONSES:
        return {"instructions": system, "input": messages}
    return {"messages": put_system(messages, system, served)}


def _input(content: str | list[Any], route: str) -> dict[str, Any]:
    if not isinstance(content, str):
        return {"messages": content}
    return {"prompt" if route == "/tokenize" else "input": content}


def _pairs(fields: Mapping[str, Any], route: str, served: Served) -> dict[str, Any]:
    body = {name: fields[name] for name in PAIRS[route] if name in fields}
    if len(body) < 2:
        need = '"query" and "documents"' if route == _RERANK else '"queries" and "documents" (or "text_1" and "text_2")'
        raise RowError("missing_field", f"the row needs {need} for {route}")
    return {"model": served.model, **body}


def read_answer(ask: Ask, answer: Answer, defaults: Defaults) -> dict[str, str]:
    """Return the results of the row's endpoint."""
    results = answers.read_results(ask, answer, defaults)
    answers.check_schema(ask, answer, defaults)
    return {name: quote_finite(value) for name, value in results.items()}


def read_failure(failure: Failure) -> dict[str, str]:
    """Return the row's error."""
    return {"error": failure.as_json()}


def write(row: Row, results: Mapping[str, str], defaults: Defaults) -> str:
    """Return the row with its results; beside an error a field named like the answer's is not the answer, and moves."""
    failed = frozenset({defaults.output_field}) if "error" in results else frozenset()
    return row.extend(results, answers.find_earlier(row.fields) | failed)
