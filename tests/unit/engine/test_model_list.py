"""Lists of models in the shapes that servers write them in, and which entry a name means."""

from __future__ import annotations

from typing import Any

import pytest

from engine.model_list import read_models

A, B = {"id": "org/a", "max_model_len": 4096}, {"id": "org/b"}


@pytest.mark.parametrize(
    "value",
    [
        {"object": "list", "data": [A, B]},
        [A, B],
        ["org/a", "org/b"],
        {"models": [{"name": "org/a", "model": "org/a"}, {"name": "org/b"}]},
        {"data": ["org/a", "org/b"]},
        {"models": {"org/a": {}, "org/b": {}}},
        {"models": None, "data": [A, B, None, {}, 5]},
    ],
)
def test_the_names_are_found_in_every_shape(value: Any) -> None:
    assert read_models(value).names == ("org/a", "org/b")


@pytest.mark.parametrize("value", [{"data": []}, {}, [], None, "x", 5, {"error": "x"}, {"data": {"a": 1}}])
def test_what_is_no_list_names_nothing(value: Any) -> None:
    assert read_models(value).names == ()


@pytest.mark.parametrize(
    ("names", "model", "found"),
    [
        (["llama3.1:latest", "qwen2.5:7b"], "llama3.1", "llama3.1:latest"),
        (["llama3.1:8b"], "llama3.1", ""),
        (["models/gemini"], "gemini", "models/gemini"),
        (["Org/Model"], "org/model", "Org/Model"),
        (["openai/*"], "openai/x", "openai/x"),
        (["openai/*"], "other/x", ""),
        (["a"], "a", "a"),
        ([], "a", ""),
    ],
)
def test_a_name_means_the_entry_that_it_is_written_as(names: list[str], model: str, found: str) -> None:
    assert read_models({"data": [{"id": name} for name in names]}).find(model) == found


def test_the_nearest_names_are_shown_and_not_the_first() -> None:
    listed = read_models([f"org/model-{n}" for n in range(400)])
    assert "org/model-377" in listed.nearest("org/model-3777")
    assert len(listed.nearest("zzz")) == 5


def test_a_pattern_says_nothing_of_which_models_there_are() -> None:
    served = read_models({"data": [{"id": "openai/*"}]}).choose("openai/x")
    assert (served.model, served.names, served.alone) == ("openai/x", frozenset(), False)


def test_the_longest_context_is_the_chosen_model_s() -> None:
    assert read_models([A, B]).choose("org/a").tokens == 4096
    assert read_models([A, B]).choose("org/b").tokens is None
    assert read_models([{"id": "a", "max_model_len": "4096"}]).choose("a").tokens is None
