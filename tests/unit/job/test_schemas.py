"""What no engine can make of a JSON schema is found before a model is loaded, without packages."""

from __future__ import annotations

from typing import Any

import pytest

from job.schemas import LEVELS, find_fault, find_pattern_fault


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "nonsense"}, "'nonsense' is no type"),
        ({"type": ["string", 5]}, "5 is no type"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "#/properties/a/$ref: '#/$defs/b' is not in the schema"),
        ({"$ref": "https://example.org/a.json"}, "in another document"),
        ({"anyOf": [{"type": "string"}, {"$ref": "#/anyOf/7"}]}, "#/anyOf/1/$ref"),
        ({"type": "string", "pattern": "(a"}, "#/pattern"),
        ({"properties": {"a": 5}}, "#/properties/a is no schema"),
        ({"enum": []}, "enum"),
        ({"items": {"additionalProperties": {"type": "int"}}}, "'int' is no type"),
        (nested(LEVELS + 1), "levels deep"),
        ([], "an object"),
    ],
)
def test_a_fault_is_told_with_its_place(schema: Any, words: str) -> None:
    assert words in find_fault(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"$defs": {"a/b": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a~1b"}}},
        {"properties": {"child": {"$ref": "#"}, "type": {"type": "string"}, "$ref": {"type": "string"}}},
        {"type": ["object", "null"], "additionalProperties": False, "required": ["a"]},
        {"anyOf": [{"const": {"type": "nonsense"}}, {"enum": [{"$ref": "#/nowhere"}]}]},
        {"type": "string", "pattern": r"^\p{L}+$"},
        {"$ref": "#anchor", "$defs": {"a": {"$anchor": "anchor"}}},
        nested(20),
    ],
)
def test_a_schema_that_an_engine_may_take_has_none(schema: Any) -> None:
    assert find_fault(schema) == ""


@pytest.mark.parametrize(("pattern", "told"), [("(", True), ("*a", True), ("[a-z]+", False), (r"\p{Lu}", False)])
def test_a_pattern_is_judged_by_what_all_engines_agree_on(pattern: str, told: bool) -> None:
    assert bool(find_pattern_fault(pattern)) == told
