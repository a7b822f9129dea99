"""Reading one line as a row, and writing it back with results."""

from __future__ import annotations

import json

import pytest

from rows.errors import RowError
from rows.json_text import quote, shorten
from rows.members import walk
from rows.row import is_blank, parse


def extend(line: str, results: dict[str, str], reserved: frozenset[str] = frozenset()) -> str:
    return parse(1, line.encode()).extend(results, reserved)


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ('{"a": 1}', '{"a": 1, "x": 2}'),
        ('{ "a" : 1.50 }', '{ "a" : 1.50, "x": 2}'),
        ("{}", '{"x": 2}'),
        ("{ }", '{"x": 2}'),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2, "x": 2}'),
        ('{"a": {"x": 1}}', '{"a": {"x": 1}, "x": 2}'),
    ],
)
def test_results_are_added_behind_the_fields_of_the_row(line: str, output: str) -> None:
    assert extend(line, {"x": "2"}) == output


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ('{"x": 1.0, "a": 1}', '{"a": 1, "x": 2, "previous": {"x": 1.0}}'),
        ('{"x": 1, "error": "e"}', '{"x": 2, "previous": {"x": 1, "error": "e"}}'),
        ('{"x": 1, "previous": {"x": 0}}', '{"x": 2, "previous": {"x": 1, "previous": {"x": 0}}}'),
        ('{"previous": 7, "a": 1}', '{"previous": 7, "a": 1, "x": 2}'),
        ('{"\\u0078": 1}', '{"x": 2, "previous": {"\\u0078": 1}}'),
    ],
    ids=["a clash", "a reserved name", "a second clash", "no clash", "a clash in escapes"],
)
def test_a_field_named_like_a_result_moves_to_previous(line: str, output: str) -> None:
    assert extend(line, {"x": "2"}, frozenset({"error"})) == output
    assert json.loads(output)


@pytest.mark.parametrize(
    ("raw", "blank"),
    [(b"", True), (b" \t\r", True), (b"\xef\xbb\xbf", True), (b"\xc2\xa0", False), (b"{}", False), (b"null", False)],
)
def test_a_line_of_white_space_is_blank(raw: bytes, blank: bool) -> None:
    assert is_blank(raw) is blank


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (b'{"prompt": "caf\xe9"}', "invalid_utf8", "byte 16 .* UTF-8"),
        (b'{"prompt": "x"', "invalid_json", "Expecting ',' delimiter at character 15"),
        (b"", "invalid_json", "Expecting value at character 1"),
        (b'{"a": NaN}', "invalid_json", "NaN is not a JSON number"),
        (b'{"a": 1} 2', "invalid_json", "Extra data at character 10"),
        (b"[" * 100_000, "invalid_json", "nested too deeply"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "invalid_json", "a whole number is too long"),
        (b'["a"]', "not_an_object", "this is an array"),
        (b"7", "not_an_object", "a number or a constant"),
    ],
)
def test_a_line_that_is_no_row_is_refused_with_what_is_wrong(raw: bytes, code: str, words: str) -> None:
    with pytest.raises(RowError, match=words) as raised:
        parse(1, raw)
    assert raised.value.code == code


def test_a_line_separator_inside_a_text_is_part_of_it() -> None:
    assert parse(1, '{"prompt": "a\u2028b"}'.encode()).fields == {"prompt": "a\u2028b"}


@pytest.mark.parametrize("value", ["é\u2028", "\ud800", {"a": [1, 2.5, None]}])
def test_a_quoted_value_is_json_that_utf8_can_hold(value: object) -> None:
    assert json.loads(quote(value).encode("utf-8")) == value


def test_what_is_written_here_is_one_line_to_every_reader() -> None:
    assert len(quote("a\u2028b\u2029c\x85d\x0b\x1c").splitlines()) == 1


def test_a_value_in_a_message_is_ascii_on_one_line_and_short() -> None:
    assert shorten("a\nopenjd_fail: é" * 20).isascii()
    assert len(shorten("x" * 1_000)) == 60
    assert "\n" not in shorten("a\nopenjd_fail: x")


@pytest.mark.parametrize(
    ("line", "doubled", "repeats"),
    [
        ('{"a": {"b": [1, {"c": "}"}]}, "d": 1.50}', "", False),
        (' { "a" :1 ,"\\u0062":"\\"" } ', "", False),
        ('{"a": 1, "a": 1}', "", True),
        ('{"a": 1, "a": 2}', '"a" stands twice', True),
        ('{"a": {"b": 1, "b": 2}, "c": 3}', '"b" stands twice', False),
        ('{"a": {"b": 1, "b": 1}}', "", False),
        ('{"a": ' + "[" * 500 + "]" * 500 + "}", "", False),
    ],
    ids=["nested", "spaces and escapes", "one value", "two values", "two values inside", "one value inside", "deep"],
)
def test_a_row_is_read_the_same_at_once_and_member_by_member(line: str, doubled: str, repeats: bool) -> None:
    row = parse(1, line.encode())
    fields, members, told = walk(row.text)
    assert (row.fields, list(row.fields), row.members, row.doubled) == (fields, list(fields), members, told)
    assert (row.doubled[: len(doubled)], row.repeats) == (doubled, repeats)
    assert [json.loads(row.text[m.value : m.end]) for m in members if not told] == [
        fields[m.name] for m in members if not told
    ]
