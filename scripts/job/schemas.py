"""What no engine can make of a JSON schema, found without one and without packages: on the user's machine, too.

A schema without a fault here may still be more than an engine compiles; that shows at the first row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

LEVELS = 64  # objects and lists that vLLM lets a schema nest
_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")  # objects of schemas
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_UNCLOSED = re.compile(r"unterminated|missing \)|unbalanced|nothing to repeat|bad character range")


def find_fault(schema: Any) -> str:
    """Return what is wrong with a schema and where, or "" for one that an engine may take."""
    if not isinstance(schema, dict):
        return "" if isinstance(schema, bool) else "a schema is an object"
    if _is_too_deep(schema):
        return f"it nests more than {LEVELS} levels deep"
    return next(_faults(schema, schema, "#"), "")


def find_pattern_fault(pattern: str) -> str:
    """Return what is wrong with a regular expression in every dialect of them, or ""."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error) if _UNCLOSED.search(str(error)) else ""  # \p{L} is none of Python's, and fine elsewhere
    return ""


def _is_too_deep(schema: Any) -> bool:
    level = [schema]
    for _ in range(LEVELS):
        inner = (value.values() if isinstance(value, dict) else value for value in level)
        level = [each for values in inner for each in values if isinstance(each, dict | list)]
    return bool(level)


def _faults(root: dict[str, Any], schema: Any, place: str) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{place} is no schema"
        return
    kinds = schema.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if not isinstance(kind, str) or kind not in _TYPES:
            yield f"{place}/type: {kind!r} is no type of JSON; there are {', '.join(sorted(_TYPES))}"
    if isinstance(reference := schema.get("$ref"), str):
        yield from _reference_faults(root, reference, place)
    if isinstance(pattern := schema.get("pattern"), str) and (fault := find_pattern_fault(pattern)):
        yield f"{place}/pattern: {fault}"
    if "enum" in schema and (not isinstance(schema["enum"], list) or not schema["enum"]):
        yield f"{place}/enum must be a list that holds something"
    for name, inner in _inner(schema):
        yield from _faults(root, inner, f"{place}/{name}")


def _reference_faults(root: dict[str, Any], reference: str, place: str) -> Iterator[str]:
    if not reference.startswith("#"):
        yield f"{place}/$ref: {reference!r} is in another document, which no engine fetches; put it into $defs"
        return
    if reference != "#" and not reference.startswith("#/"):
        return  # an anchor
    found: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            yield f"{place}/$ref: {reference!r} is not in the schema"
            return


def _inner(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schemas within a schema, by their place in it."""
    for name in _BY_NAME:
        if isinstance(inner := schema.get(name), dict):
            yield from ((f"{name}/{key}", value) for key, value in inner.items())
    for name in _LISTED:
        if isinstance(inner := schema.get(name), list):
            yield from ((f"{name}/{place}", value) for place, value in enumerate(inner))
    for name in _SINGLE:
        if name in schema and not isinstance(schema[name], list):
            yield name, schema[name]
