"""What is changed in a row's own request before it is sent: every such change stands here, and in docs/rows.md.

A request goes out as the row has it, except for what no server reads as it was meant: the arguments of a client
(`extra_body`), nulls that a table puts where nothing is set, what is left over from streaming, and tools that are kept
as text, padded with nulls, or written in another API's shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.routes import CHAT, MESSAGES, RESPONSES
from rows.errors import RowError
from rows.json_text import shorten

_OF_THE_CLIENT = frozenset({"extra_headers", "extra_query", "timeout"})  # of the openai client, never in a request
_OF_STREAMS = frozenset({"stream", "stream_options", "background"})
_DROPPED = _OF_THE_CLIENT | _OF_STREAMS
_ONLY_TEXT = {str}
_GIVEN = frozenset({"arguments", "input"})  # what a call gave to a tool
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}


def merge_extra_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with what `extra_body` holds in its place, as the openai client sends it."""
    extra = body.get("extra_body")
    if not isinstance(extra, dict):
        return dict(body)
    if extra.get("stream"):
        raise RowError("stream_not_supported", '"stream" in "extra_body" has no place in a batch; leave it out')
    return {**{name: value for name, value in body.items() if name != "extra_body"}, **extra}


def tidy_request(body: Mapping[str, Any], route: str) -> dict[str, Any]:
    """Return the request as servers read it. Raises RowError for tools that are none."""
    merged = merge_extra_body(body) if "extra_body" in body else body
    whole = {name: value for name, value in merged.items() if value is not None and name not in _DROPPED}
    if isinstance(whole.get("messages"), list):
        whole["messages"] = _without_nulls(whole["messages"])
    if route in (CHAT, RESPONSES, MESSAGES) and "tools" in whole:
        whole["tools"] = [_shape(_without_padding(tool), route) for tool in read_tools(whole["tools"])]
        if not whole["tools"]:
            del whole["tools"]  # servers refuse an empty list
            if whole.get("tool_choice") in ("auto", "none"):
                del whole["tool_choice"]
    return whole


def _without_nulls(message: Any) -> Any:
    """Return a message without nulls; its own content may be null, and what a tool was given is left alone."""
    if isinstance(message, list):
        return list(map(_without_nulls, message))
    if not isinstance(message, dict) or set(map(type, message.values())) == _ONLY_TEXT:
        return message
    return {
        name: value if name in _GIVEN else _without_nulls(value)
        for name, value in message.items()
        if value is not None or name == "content"
    }


def _without_padding(value: Any) -> Any:
    """Return a tool without members that are null: a table writes them for every name that another tool has."""
    if isinstance(value, list):
        return list(map(_without_padding, value))
    if not isinstance(value, dict):
        return value
    own_null = value.get("type") == "null"  # a schema that means null
    return {name: _without_padding(inner) for name, inner in value.items() if inner is not None or own_null}


def read_tools(tools: Any) -> list[Any]:
    """Return the list of tools, each of which, or the whole, may be kept as JSON text. Raises RowError."""
    read = from_text(tools)
    if isinstance(read, list):
        found = list(map(from_text, read))
        if all(isinstance(tool, dict) for tool in found):
            return found
    raise RowError("invalid_value", f'"tools" must be a list of objects, got {shorten(tools)}')


def from_text(value: Any) -> Any:
    """Return what a table keeps as JSON text, nothing at all as an empty list; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else []
    except (ValueError, RecursionError):
        return value


def _shape(tool: dict[str, Any], route: str) -> dict[str, Any]:
    """Return a tool in the shape of the route's API: chat's in `function`, a response's flat, Anthropic's by schema."""
    inner = tool["function"] if isinstance(tool.get("function"), dict) else tool
    if not isinstance(inner.get("name"), str) or tool.get("type", "function") != "function":
        return tool  # a tool of the server's own, or one that the server is to judge
    schema = _schema(inner.get("parameters", inner.get("input_schema")))
    if route == MESSAGES:
        if "input_schema" in inner:
            return tool
        return _without_none({"name": inner["name"], "description": inner.get("description"), "input_schema": schema})
    own = {name: value for name, value in inner.items() if name not in ("type", "parameters", "input_schema")}
    own |= {} if schema is None else {"parameters": schema}
    return {"type": "function", **own} if route == RESPONSES else {"type": "function", "function": own}


def _schema(parameters: Any) -> Any:
    """Return a JSON schema of parameters; a plain list of them, as some data sets have it, becomes properties."""
    plain = isinstance(parameters, dict) and parameters and not parameters.keys() & {"type", "properties", "$ref"}
    if not plain or not all(isinstance(each, dict) for each in parameters.values()):
        return parameters
    return {"type": "object", "properties": {name: _property(each) for name, each in parameters.items()}}


def _property(described: dict[str, Any]) -> dict[str, Any]:
    kind = described.get("type")
    named = (
        _TYPES.get(kind.partition(",")[0].strip(), kind.partition(",")[0].strip()) if isinstance(kind, str) else kind
    )
    return {**described, "type": named} if kind is not None else described


def _without_none(value: dict[str, Any]) -> dict[str, Any]:
    return {name: inner for name, inner in value.items() if inner is not None}
