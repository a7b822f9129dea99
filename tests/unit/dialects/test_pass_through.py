"""What a user keeps in a row comes back as it was, byte for byte: numbers, key order, escapes and unicode."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.exchange import Answer, Ask, Failure
from dialects.recognise import recognise
from job.defaults import Defaults
from rows.json_text import quote
from rows.row import Row, parse

UNHURRIED = settings(deadline=None, max_examples=60)  # a busy machine is no fault of the rows
SPACE = st.sampled_from(["", " ", "  ", "\t"])
NUMBERS = st.one_of(
    st.integers(),
    st.integers(min_value=10**20, max_value=10**400),
    st.sampled_from(
        ["0.10", "1.0", "-0", "-0.0", "1E5", "1e-07", "1.50E+10", "1e400", "0.1000000000000000055511151231257827"]
    ),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ESCAPED = st.sampled_from(
    ['"\\u00e9"', '"\\/"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\u2028"', '"\u2028"', '"é"', '"\\u0000"']
)


def json_texts() -> st.SearchStrategy[str]:
    """Make JSON texts as people and programs write them, spacing and escapes at will."""
    leaves = st.one_of(
        NUMBERS.map(str),
        TEXTS.map(lambda text: json.dumps(text, ensure_ascii=False)),
        TEXTS.map(json.dumps),
        ESCAPED,
        st.sampled_from(["true", "false", "null"]),
    )

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        lists = st.tuples(st.lists(inner, max_size=3), SPACE).map(lambda made: f"[{(',' + made[1]).join(made[0])}]")
        members = st.tuples(TEXTS.map(json.dumps), SPACE, inner).map(lambda made: f"{made[0]}:{made[1]}{made[2]}")
        return lists | st.lists(members, max_size=3).map(lambda made: "{" + ", ".join(made) + "}")

    return st.recursive(leaves, grown, max_leaves=8)


MEMBERS = st.lists(
    st.tuples(st.text("abcdefgü", min_size=1, max_size=6).map(lambda name: "my_" + name), json_texts(), SPACE),
    max_size=6,
)
ANSWER = json.dumps(
    {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Paris."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }
)
CHAT = Ask("/v1/chat/completions", {})


def answer(row: Row, text: str) -> str:
    """Return the output line of a row that was answered with a body."""
    dialect, job = recognise(row.fields), Defaults()
    return dialect.write(row, dialect.read_answer(CHAT, Answer(200, text, json.loads(text), "r"), job), job)


def fail(row: Row, failure: Failure) -> str:
    """Return the output line of a row that failed."""
    dialect = recognise(row.fields)
    return dialect.write(row, dialect.read_failure(failure), Defaults())


def line_of(members: list[tuple[str, str, str]], head: str) -> str:
    """Write a row's line with a head of its dialect and the user's members."""
    return (
        "{"
        + ", ".join([head, *(f"{quote(name)}{space}:{space}{value}{space}" for name, value, space in members)])
        + "}"
    )


def members_of(row: Row) -> list[tuple[str, str]]:
    """Return each member's name and its text, in order."""
    return [(member.name, row.text[member.start : member.end]) for member in row.members]


HEADS = {
    "prompt": '"prompt": "What is the capital of France?"',
    "runpod": '"input": {"prompt": "x", "sampling_params": {"temperature": 0.70}}',
    "bedrock": '"recordId": "R1", "modelInput": {"prompt": "x", "temperature": 0.70}',
}


@pytest.mark.parametrize("dialect", HEADS)
@UNHURRIED
@given(members=MEMBERS)
def test_every_field_of_an_answered_row_is_there_unchanged_and_in_its_order(
    dialect: str, members: list[tuple[str, str, str]]
) -> None:
    line = line_of(members, HEADS[dialect])
    row = parse(1, line.encode())
    output = answer(row, ANSWER)
    result = parse(1, output.encode())
    assert members_of(result)[: len(row.members)] == members_of(row)
    assert output.startswith(line[:-1].rstrip())


@pytest.mark.parametrize("dialect", HEADS)
@UNHURRIED
@given(members=MEMBERS)
def test_every_field_of_a_failed_row_is_there_unchanged_and_in_its_order(
    dialect: str, members: list[tuple[str, str, str]]
) -> None:
    row = parse(1, line_of(members, HEADS[dialect]).encode())
    output = fail(row, Failure("invalid_request", "no \ud800", 400))
    assert members_of(parse(1, output.encode()))[: len(row.members)] == members_of(row)


@UNHURRIED
@given(value=json_texts())
def test_a_field_that_clashes_with_a_result_moves_to_previous_byte_for_byte(value: str) -> None:
    row = parse(1, f'{{"id": 1.0, "generated_text": {value}, "prompt": "x", "finish_reason": {value}}}'.encode())
    output = answer(row, ANSWER)
    result = parse(1, output.encode())
    assert result.raw("previous") == f'{{"generated_text": {value}, "finish_reason": {value}}}'
    assert (result.raw("id"), result.fields["generated_text"]) == ("1.0", "Paris.")


@UNHURRIED
@given(
    body=st.dictionaries(TEXTS, st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS, max_size=5)
)
@pytest.mark.parametrize("dialect", ["openai", "anthropic", "runpod", "bedrock"])
def test_a_response_body_is_kept_as_the_server_wrote_it(dialect: str, body: dict[str, Any]) -> None:
    heads = {**HEADS, "openai": '"custom_id": "a", "body": {}', "anthropic": '"custom_id": "a", "params": {}'}
    row = parse(1, ("{" + heads[dialect] + "}").encode())
    text = json.dumps(body, ensure_ascii=False, separators=(" ,", " :"))
    output = answer(row, text)
    assert f": {text}" in output
    assert json.loads(output)


@pytest.mark.parametrize("size", [300, 4_000])
def test_a_whole_number_of_many_digits_comes_back_digit_for_digit(size: int) -> None:
    digits = "7" * size
    row = parse(1, f'{{"prompt": "x", "big": {digits}}}'.encode())
    assert f'"big": {digits}' in fail(row, Failure("c", "m"))
