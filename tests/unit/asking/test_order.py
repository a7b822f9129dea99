"""The order of rows: long answers first, equal beginnings together whatever else rows say, every row once."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from asking import order
from asking.pending import Pending
from dialects.exchange import Ask

CHAT = "/v1/chat/completions"
BEGINNINGS = [f"You are assistant number {number}. " + "Think. " * 40 for number in range(4)]


def row(body: dict[str, Any], route: str = CHAT) -> Pending:
    nobody: Any = None
    ask = Ask(route, body)
    return Pending(nobody, ask, ask.encode(), nobody)


def chat(beginning: str, text: str, **options: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": beginning}, {"role": "user", "content": text}]
    return {**options, "model": "m", "messages": messages}


def mixed(**options: Any) -> list[Pending]:
    """Return 64 rows of 4 beginnings, in any order, with options drawn from lists."""
    rand = random.Random(7)
    rows = [
        row(chat(BEGINNINGS[n % 4], f"row {n}", **{name: rand.choice(each) for name, each in options.items()}))
        for n in range(64)
    ]
    rand.shuffle(rows)
    return rows


def count_switches(rows: list[Pending]) -> int:
    """Return how often a row begins otherwise than the one before it."""
    begun = [pending.ask.body["messages"][0]["content"] for pending in rows]
    return sum(one != other for one, other in pairwise(begun))


@pytest.mark.parametrize(
    "options",
    [{}, {"seed": range(1000)}, {"temperature": [0, 0.5, 1]}, {"seed": range(1000), "max_tokens": range(300, 600)}],
    ids=["nothing", "seeds", "temperatures", "seeds and limits"],
)
def test_equal_beginnings_go_together_whatever_else_rows_say(options: dict[str, Any]) -> None:
    assert count_switches(list(order.arrange(iter(mixed(**options))))) == 3


def test_long_answers_go_first_and_a_task_ends_on_short_ones() -> None:
    limits = [4096, 2000, 300, 16, 8]
    arranged = list(order.arrange(iter(mixed(max_tokens=limits))))
    asked = [pending.ask.body["max_tokens"] for pending in arranged]
    assert all(later <= 4 * earlier for place, earlier in enumerate(asked) for later in asked[place:])
    assert (asked[0], asked[-1]) == (4096, 8)
    assert count_switches(arranged) <= 4 * len(limits) - 1


def test_another_model_is_another_beginning() -> None:
    rows = [row({"model": f"m{n % 2}", "prompt": "x", "seed": n}, "/v1/completions") for n in range(10)]
    models = [pending.ask.body["model"] for pending in order.arrange(iter(rows))]
    assert models == ["m0"] * 5 + ["m1"] * 5


def test_every_row_is_asked_once_a_window_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "WINDOW", 10)
    rows = [row({"prompt": "x" * (n % 7), "max_tokens": n}, "/v1/completions") for n in range(35)]
    taken = iter(rows)
    arranged = order.arrange(taken)
    assert max(next(arranged).ask.body["max_tokens"] for _ in range(10)) == 9
    assert sorted(pending.ask.body["max_tokens"] for pending in arranged) == list(range(10, 35))


def test_a_row_that_is_nested_too_deeply_to_be_compared_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    deepest = Pending(*([None] * 3))  # type: ignore[arg-type]
    deepest.ask, deepest.encoded = Ask(CHAT, {"model": "m", "messages": deep}), b"{}"
    assert len(list(order.arrange(iter([*mixed(), deepest])))) == 65


def test_rows_that_generate_nothing_go_by_what_they_ask() -> None:
    texts = ["b", "a", "b", "a"]
    arranged = order.arrange(row({"model": "m", "input": text}, "/v1/embeddings") for text in texts)
    assert [pending.ask.body["input"] for pending in arranged] == ["a", "a", "b", "b"]
