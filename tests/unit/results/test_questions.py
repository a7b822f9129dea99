"""Whatever becomes of a file between jobs, each line has the answer to its own question, and nothing is asked twice."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.scripted_job import Folder, asks

UNHURRIED = settings(deadline=None, max_examples=25)  # a busy machine is no fault of the merge
PROMPTS = st.sampled_from("abcd")
LINES = st.lists(PROMPTS, min_size=1, max_size=7)
TERMS = st.sampled_from([{}, {"SystemPrompt": "Be kind."}, {"MaxTokens": 9}])
JOBS = st.lists(st.tuples(LINES, TERMS, st.integers(0, 7)), min_size=1, max_size=4)


def as_lines(prompts: list[str]) -> list[bytes]:
    """Make a file of the prompts, each with a note of its place."""
    return [json.dumps({"note": n, "prompt": text}).encode() for n, text in enumerate(prompts)]


def of_one_answer(body: dict[str, Any], _: int) -> str:
    return asks(body)


def another_each_time(body: dict[str, Any], number: int) -> str:
    return json.dumps([asks(body), number])


@UNHURRIED
@given(jobs=JOBS, last=LINES, terms=TERMS)
def test_the_output_is_that_of_a_run_from_nothing(
    tmp_path_factory: pytest.TempPathFactory, jobs: Any, last: list[str], terms: dict[str, Any]
) -> None:
    folder, fresh = (Folder(tmp_path_factory.mktemp(name), of_one_answer) for name in ("folder", "fresh"))
    for prompts, changed, stop_after in jobs:
        folder.run(as_lines(prompts), stop_after=stop_after, **changed)
    folder.run(as_lines(last), **terms)
    fresh.run(as_lines(last), **terms)
    assert folder.merge() == fresh.merge()


@UNHURRIED
@given(jobs=JOBS)
def test_as_much_is_asked_as_there_are_new_questions(tmp_path_factory: pytest.TempPathFactory, jobs: Any) -> None:
    folder = Folder(tmp_path_factory.mktemp("folder"), of_one_answer)
    for prompts, changed, stop_after in jobs:
        have = Counter((text, str(terms)) for text, terms in asked_so_far(folder))
        wanted = Counter((text, str(system_of(changed))) for text in prompts)
        new = (wanted - have).total()
        assert folder.run(as_lines(prompts), stop_after=stop_after, **changed) == min(new, stop_after)


def asked_so_far(folder: Folder) -> list[tuple[str, Any]]:
    """Return what was asked: the prompt, and what else was said."""
    return [(body["messages"][-1]["content"], (len(body["messages"]), budget(body))) for body in folder.asked]


def system_of(changed: dict[str, Any]) -> tuple[int, int]:
    return 1 + ("SystemPrompt" in changed), changed.get("MaxTokens", 512)


def budget(body: dict[str, Any]) -> int:
    return int(body.get("max_completion_tokens") or body["max_tokens"])


@UNHURRIED
@given(jobs=JOBS)
def test_equal_lines_keep_different_answers(tmp_path_factory: pytest.TempPathFactory, jobs: Any) -> None:
    folder = Folder(tmp_path_factory.mktemp("folder"), another_each_time)
    for prompts, changed, stop_after in jobs:
        folder.run(as_lines(prompts), stop_after=stop_after, **changed)
    answered = [row for row in folder.merge() if "generated_text" in row]
    texts = [json.loads(row["generated_text"]) for row in answered]
    assert len({number for _, number in texts}) == len(texts)
    for row, (question, _) in zip(answered, texts, strict=True):
        assert json.dumps({"role": "user", "content": row["prompt"]})[1:-1] in json.dumps(json.loads(question)[1])
        assert ("Be kind." in question) == ("SystemPrompt" in jobs[-1][1])


@UNHURRIED
@given(files=st.lists(LINES, min_size=2, max_size=4))
def test_what_must_have_one_answer_is_asked_once_over_all_jobs(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[str]]
) -> None:
    folder = Folder(tmp_path_factory.mktemp("folder"), another_each_time)
    for prompts in files:
        folder.run(as_lines(list(dict.fromkeys(prompts))), Temperature=0.0)  # within a task the worker sees to it
        folder.run(as_lines(prompts), Temperature=0.0)
    assert len(folder.asked) == len(set(itertools.chain(*files)))
    by_prompt: dict[str, set[str]] = {}
    for row in folder.merge():
        by_prompt.setdefault(row["prompt"], set()).add(row["generated_text"])
    assert all(len(texts) == 1 for texts in by_prompt.values())
    shared = len(files[-1]) - len(set(files[-1]))
    assert folder.summary()["shared"] == shared


def test_every_dialect_s_answer_goes_to_another_row_that_asks_the_same(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    rows = [
        {"custom_id": "{n}", "method": "POST", "url": "/v1/chat/completions", "body": body},
        {"custom_id": "{n}", "params": {**body, "max_tokens": 5}},
        {"id": "{n}", "input": {"prompt": "Hi"}},
        {"recordId": "{n}", "modelInput": body},
        {"id": "{n}", "prompt": "Hi", "previous": 1, "finish_reason": "mine"},
    ]
    files = [
        [json.dumps(row).replace("{n}", f"{name} {n}").encode() for n, row in enumerate(rows)]
        for name in ("first", "second")
    ]
    folder = Folder(tmp_path, of_one_answer)
    assert folder.run(files[0]) == 5
    first = folder.merge()
    assert folder.run(reversed(files[1])) == 0
    for one, two in zip(first, reversed(folder.merge()), strict=True):
        wanted = json.loads(json.dumps(one).replace('"first ', '"second '))
        assert {**wanted, "id": 0} == {**two, "id": 0}, "an OpenAI line has an id of its own"
        assert list(one) == list(two)


FAMILIES = [
    {"prompt": "Hi", "max_gen_len": 5},
    {"prompt": "Hi", "max_tokens": 5},
    {"prompt": "Hi", "max_tokens_to_sample": 5},
    {"prompt": "Hi", "maxTokens": 5},
    {"prompt": "Hi", "max_tokens": 5, "return_likelihoods": "NONE"},
    {"inputText": "Hi", "textGenerationConfig": {"maxTokenCount": 5}},
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5},
    {"message": "Hi", "max_tokens": 5},
    {"messages": [{"role": "user", "content": "Hi"}], "inferenceConfig": {"maxTokens": 5}},
]


def test_bedrock_families_that_ask_the_same_have_answers_of_their_own_shape(tmp_path: Path) -> None:
    def as_file(inputs: list[Any]) -> list[bytes]:
        return [json.dumps({"recordId": str(n), "modelInput": given}).encode() for n, given in enumerate(inputs)]

    folder = Folder(tmp_path, of_one_answer)
    asked = [folder.run(as_file([given]), Temperature=0.0) for given in FAMILIES]
    assert asked == [1] * len(FAMILIES)
    assert folder.run(as_file(FAMILIES), Temperature=0.0) == 0
    shapes = [tuple(row["modelOutput"]) for row in folder.merge()]
    assert len(set(shapes)) == len(FAMILIES)


def test_an_answer_of_equal_text_stays_byte_for_byte(tmp_path: Path) -> None:
    lines = [b'{"x": 1.0,  "prompt": "a"}', b'{"prompt":"b"}']
    folder = Folder(tmp_path, of_one_answer)
    folder.run(lines)
    folder.merge()
    before = folder.lines()
    folder.run(reversed(lines))
    folder.merge()
    assert folder.lines() == before[::-1]
