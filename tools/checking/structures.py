"""Structures of answers and tools in a request, as vLLM reads them.

Source: vLLM's StructuredOutputsParams and its request models, versions 0.19 to 0.33.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from job.schemas import find_fault, find_pattern_fault
from rows.json_text import shorten

_FORMATS = ("text", "json_object", "json_schema", "structural_tag")
_KINDS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")  # of structured_outputs, one of them
_FLAGS = "--enable-auto-tool-choice --tool-call-parser NAME"
_CHOICES = {CHAT: ("none", "auto", "required"), RESPONSES: ("none", "auto", "required")}


def faults(route: str, body: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the server would refuse in the structure that a request wants of its answer."""
    if route in (CHAT, COMPLETIONS) and body.get("response_format") is not None:
        yield from _format_faults(body["response_format"])
    if route == RESPONSES and isinstance(body.get("text"), dict):
        yield from _text_format_faults(body["text"].get("format"))
    if route != MESSAGES and body.get("structured_outputs") is not None and not body.get("use_beam_search"):
        yield from _structure_faults(body["structured_outputs"])
        yield from _twofold_faults(body["structured_outputs"], body.get("response_format"))


def _format_faults(wanted: Any) -> Iterator[str]:
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind not in _FORMATS:
        yield f'"response_format" must have a "type" of {", ".join(_FORMATS)}, got {shorten(kind)}'
    elif kind == "json_schema":
        named = wanted.get("json_schema")
        if not isinstance(named, dict) or not isinstance(named.get("name"), str):
            yield '"response_format" of type json_schema needs "json_schema" with a "name" and a "schema"'
        elif not isinstance(named.get("schema"), dict):
            yield '"json_schema" needs a "schema", an object'
        elif fault := find_fault(named["schema"]):
            yield f"the schema of response_format cannot be used: {fault}"


def _text_format_faults(wanted: Any) -> Iterator[str]:
    if wanted is None:
        return
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind not in _FORMATS[:3]:
        yield f'"text.format" must have a "type" of {", ".join(_FORMATS[:3])}, got {shorten(kind)}'
    elif kind == "json_schema":
        if not isinstance(wanted.get("name"), str) or not isinstance(wanted.get("schema"), dict):
            yield '"text.format" of type json_schema needs a "name" and a "schema"'
        elif fault := find_fault(wanted["schema"]):
            yield f"the schema of text.format cannot be used: {fault}"


def _structure_faults(wanted: Any) -> Iterator[str]:
    given = [name for name in _KINDS if isinstance(wanted, dict) and wanted.get(name) is not None]
    if len(given) != 1:
        yield f'"structured_outputs" must hold one of {", ".join(_KINDS)}, got {shorten(wanted)}'
        return
    kind, value = given[0], wanted[given[0]]
    if kind == "json":
        fault = (
            find_fault(value)
            if isinstance(value, dict)
            else ""
            if isinstance(value, str) and value.strip()
            else "no schema"
        )
    elif kind == "choice":
        texts = isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
        fault = "" if texts else "a list of texts is needed"
    elif kind == "json_object":
        fault = "" if value is True else "true is needed"
    elif kind == "grammar" and not (isinstance(value, str) and ":" in value):  # of EBNF's ::= and of Lark's rules
        fault = "a grammar of rules (root ::= ...) is needed"
    elif not isinstance(value, str) or (kind != "regex" and not value.strip()):
        fault = "a text is needed"
    else:
        fault = find_pattern_fault(value) if kind == "regex" else ""
    if fault:
        yield f'"{kind}" of structured_outputs cannot be used: {fault}'


def _twofold_faults(structure: Any, wanted: Any) -> Iterator[str]:
    """Yield a clash of `structured_outputs` with a `response_format` of another kind."""
    named = wanted.get("type") if isinstance(wanted, dict) else None
    kind = {"json_object": "json_object", "json_schema": "json"}.get(str(named))
    if kind and isinstance(structure, dict) and any(structure.get(name) for name in _KINDS if name != kind):
        yield '"structured_outputs" and "response_format" want two structures; leave one of them out'


def tool_faults(route: str, body: Mapping[str, Any], *, calls_tools: bool) -> Iterator[str]:
    """Yield what the server would refuse in a request's tools, and in its choice among them."""
    tools, choice = body.get("tools"), body.get("tool_choice")
    if route not in (CHAT, RESPONSES, MESSAGES) or (not tools and choice in (None, "none")):
        return
    yield from _shape_faults(route, tools or [])
    if route == MESSAGES:
        yield from _message_choice_faults(choice)
    else:
        yield from _choice_faults(route, tools or [], choice)
    wanted = choice.get("type") if route == MESSAGES and isinstance(choice, dict) else choice
    if route != RESPONSES and tools and wanted != "none" and not calls_tools:
        yield f"the server calls no tools unless VllmArgs has {_FLAGS}"


def _shape_faults(route: str, tools: list[Any]) -> Iterator[str]:
    for place, tool in enumerate(tools, 1):
        inner = tool.get("function") if route == CHAT and isinstance(tool, dict) else tool
        schema = "input_schema" if route == MESSAGES else "parameters"
        plain = route == RESPONSES and isinstance(tool, dict) and tool.get("type") != "function"
        if plain:
            continue
        if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
            yield f'tool {place} must be a function with a "name", got {shorten(tool)}'
        elif not isinstance(inner.get(schema), dict) and (route == MESSAGES or inner.get(schema) is not None):
            yield f'tool {place}, {inner["name"]}, needs "{schema}", an object'


def _message_choice_faults(choice: Any) -> Iterator[str]:
    kind = choice.get("type") if isinstance(choice, dict) else choice
    known = ("auto", "any", "tool", "none")
    if choice is not None and (not isinstance(choice, dict) or kind not in known):
        yield f'"tool_choice" must be an object with a "type" of {", ".join(known)}'
    elif kind == "tool" and isinstance(choice, dict) and not choice.get("name"):
        yield '"tool_choice" of type tool needs the "name" of a tool'


def _choice_faults(route: str, tools: list[Any], choice: Any) -> Iterator[str]:
    known = _CHOICES[route]
    if choice is None or choice == "none":
        return
    if not tools and not (route == RESPONSES and choice == "auto"):
        yield '"tool_choice" needs "tools"'
    elif isinstance(choice, dict):
        named = choice.get("function") if route == CHAT else choice
        name = named.get("name") if isinstance(named, dict) else None
        names = [(tool.get("function") or {}).get("name") if route == CHAT else tool.get("name") for tool in tools]
        if name not in names and (route == CHAT or choice.get("type") == "function"):
            yield f'"tool_choice" names {shorten(name)}, which is none of "tools"'
    elif choice not in known:
        yield f'"tool_choice" must be {", ".join(known)} or name a tool, got {shorten(choice)}'
