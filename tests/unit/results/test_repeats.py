"""The commonest answer is found in bounded memory."""

from __future__ import annotations

import pytest

from dialects.reply import read_texts
from results.repeats import MOST, Repeats


def count(answers: list[str]) -> dict[str, int] | None:
    repeats = Repeats()
    for line, answer in enumerate(answers, 1):
        repeats.add(answer, line)
    return repeats.find_commonest()


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ([], None),
        (["a", "b", "c"], None),
        (["a", "b", "b", "c", "b"], {"rows": 3, "line": 2}),
        (["a", "b", "b", "a"], {"rows": 2, "line": 1}),
    ],
    ids=["none", "all differ", "one", "as many"],
)
def test_the_commonest_answer_is_told_with_its_first_line(answers: list[str], found: dict[str, int] | None) -> None:
    assert count(answers) == found


def test_among_many_different_answers_the_commonest_is_still_found() -> None:
    answers = [f"own {n}" if n % 5 else "alike" for n in range(MOST * 20)]
    found = count(answers)
    assert found is not None
    assert MOST * 4 - 20 <= found["rows"] <= MOST * 4


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ({"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]}, ["a", "b"]),
        ({"choices": [{"text": "a"}]}, ["a"]),
        ({"choices": [{"message": {"content": None}}]}, []),
        ({"type": "message", "content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"}]}, ["a"]),
        ({"object": "response", "output": [{"type": "message", "content": [{"text": "a"}]}]}, ["a"]),
        ({"data": [{"embedding": [1]}]}, []),
        ("a", []),
    ],
    ids=["chat", "completions", "nothing", "anthropic", "responses", "embedding", "no object"],
)
def test_an_answer_s_texts_are_read_in_any_api_s_form(body: object, texts: list[str]) -> None:
    assert read_texts(body) == texts
