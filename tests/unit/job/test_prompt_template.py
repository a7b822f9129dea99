"""Prompt templates: fields before methods, null as nothing, and an end to every rendering."""

from __future__ import annotations

from typing import Any

import pytest

from job.prompt_template import PromptTemplate
from rows.errors import RowError

ROW: dict[str, Any] = {
    "id": "a",
    "items": ["x", None],
    "note": None,
    "title": "t",
    "inner": {"keys": "k", "none": None},
    "row": 7,
    "odd name": "z",
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ row.items }}", "['x', None]"),
        ("{{ row.items | join('+') }}", "x+"),
        ("{{ inner.keys }}", "k"),
        ("{{ row.keys() | first }}", "id"),
        ("{{ row.values | default('none') }}", "none"),
        ("{{ title.upper() }}", "T"),
        ("{{ row['odd name'] }}", "z"),
        ("{{ row.title }} {{ row }} {{ row.row }}", "t 7 7"),
    ],
)
def test_a_field_is_found_before_a_method_of_the_same_name(template: str, text: str) -> None:
    assert PromptTemplate(template).render(ROW) == text


@pytest.mark.parametrize(
    "template",
    ["{{ row.keys }}", "{{ row.get }}", "{{ title.upper }}", "{{ range }}", "{{ items | map('upper') }}", "{{ self }}"],
)
def test_what_is_no_text_is_the_rows_error_and_no_prompt(template: str) -> None:
    with pytest.raises(RowError) as caught:
        PromptTemplate(template).render(ROW)
    assert caught.value.code == "template_error"
    assert "0x" not in caught.value.message


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("<{{ note }}>", "<>"),
        ("<{{ 'a' ~ note }}>", "<a>"),
        ("<{{ note | upper }}>", "<>"),
        ("<{{ '%s' | format(note) }}>", "<>"),
        ("<{{ inner.none }}>", "<>"),
        ("<{{ note or 'no note' }}>", "<no note>"),
        ("{{ note is none }} {{ note == none }} {{ note is defined }}", "True True True"),
        ("{% if note %}Note{% else %}nothing{% endif %}", "nothing"),
        ("{{ inner | tojson }}", '{"keys": "k", "none": null}'),
    ],
)
def test_null_is_written_as_nothing(template: str, text: str) -> None:
    assert PromptTemplate(template).render(ROW) == text


def test_a_column_named_row_that_is_an_object_gives_its_members() -> None:
    row = {"row_idx": 3, "row": {"text": "inside", "row_idx": "hidden"}}
    assert PromptTemplate("{{ row.text }} {{ row.row_idx }} {{ row.row.row_idx }}").render(row) == "inside 3 hidden"


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10**10 }}",
        "{{ 'a' * items | length * 10**9 }}",
        "{{ [1] * 10**9 }}",
        "{{ (2 ** 99999) ** 99999 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%*d' | format(10**9, 1) }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ title | center(10**10) }}",
        "{{ title.ljust(10**10) }}",
        "{{ row | tojson(indent=10**9) }}",
        "{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}",
        "{{ (['a'] * 10**6) | join('b' * 10**6) }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% set c = 1 %}{% endfor %}{% endfor %}",
        "{% set n = namespace(x='ab') %}{% for a in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x='ab') %}{% for a in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x='ab') %}{% for a in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
        "{% macro more(n) %}{% if n %}{{ more(n - 1) }}{{ more(n - 1) }}{% endif %}{% endmacro %}{{ more(60) }}",
    ],
)
def test_a_rendering_without_end_is_the_rows_error(template: str) -> None:
    with pytest.raises(RowError) as caught:
        PromptTemplate(template).render(ROW)
    assert caught.value.code == "template_error"


def test_a_template_over_a_long_list_is_no_rendering_without_end() -> None:
    row = {"items": [{"n": n} for n in range(20_000)]}
    text = PromptTemplate("{% for item in items %}{{ item.n }} {% endfor %}").render(row)
    assert len(text.split()) == 20_000


def test_only_the_fields_of_the_row_are_taken_for_the_rows_fields() -> None:
    with pytest.raises(RowError, match="'missing' is undefined; the row has no such field"):
        PromptTemplate("{{ row.missing }}").render(ROW)
