"""ModelInRows: which model answers a row that names one of its own."""

from __future__ import annotations

import pytest

from dialects.exchange import Ask
from dialects.models import choose_model
from engine.facts import Served
from engine.model_list import read_models
from rows.errors import RowError

ALONE = Served("m", names=frozenset({"m", "mine"}), alone=True)
ADAPTED = Served("m", names=frozenset({"m", "tuned"}))
UNKNOWN = Served("m")


@pytest.mark.parametrize(
    ("named", "rule", "served", "answers"),
    [
        ("gpt-4o-mini", "auto", ALONE, "m"),
        ("Toyota Corolla", "auto", ALONE, "m"),
        ("mine", "auto", ALONE, "mine"),
        ("m", "auto", ALONE, "m"),
        ("gpt-4o-mini", "auto", ADAPTED, "gpt-4o-mini"),
        ("tuned", "auto", ADAPTED, "tuned"),
        ("gpt-4o-mini", "auto", UNKNOWN, "gpt-4o-mini"),
        ("tuned", "error", ADAPTED, "tuned"),
        ("gpt-4o-mini", "error", UNKNOWN, "gpt-4o-mini"),
        ("gpt-4o-mini", "ignore", ADAPTED, "m"),
        ("tuned", "ignore", ADAPTED, "m"),
        ("gpt-4o-mini", "ignore", UNKNOWN, "m"),
    ],
)
def test_a_server_of_one_model_answers_for_every_name(named: str, rule: str, served: Served, answers: str) -> None:
    chosen = choose_model(Ask("/v1/completions", {"model": named, "prompt": "x"}), rule, served)
    assert chosen.body == {"model": answers, "prompt": "x"}
    assert chosen.replaced == ("" if answers == named else named)


@pytest.mark.parametrize("served", [ALONE, ADAPTED])
def test_a_name_that_is_not_served_is_refused_where_the_job_says_so(served: Served) -> None:
    with pytest.raises(RowError, match='"gpt-4o-mini" is not served; there is m') as raised:
        choose_model(Ask("/v1/completions", {"model": "gpt-4o-mini"}), "error", served)
    assert raised.value.code == "not_found"


@pytest.mark.parametrize(
    ("models", "one"),
    [
        ([{"id": "m"}], True),
        ([{"id": "m", "root": "/models/m"}, {"id": "mine", "root": "/models/m"}], True),
        ([{"id": "m", "root": "r"}, {"id": "tuned", "root": "/lora", "parent": "m"}], False),
        ([{"id": "m"}, {"id": "other"}], False),
        ([], False),
    ],
)
def test_a_list_of_one_model_is_told_from_adapters_and_from_several(models: list[dict[str, str]], one: bool) -> None:
    assert read_models(models).alone is one
