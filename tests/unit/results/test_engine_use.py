"""What engines did, as footers tell it and the summary says it, and when it is said what to do about it."""

from __future__ import annotations

from typing import Any

import pytest

from results.engine_use import EngineUse, add_up, read_use

ONE: dict[str, float] = {"full": 60, "part": 20, "little": 10, "idle": 10, "generated": 5000, "preemptions": 2}
WASTED = {"full": 300.0, "little": 250.0, "idle": 50.0}


@pytest.mark.parametrize("told", [None, [], "x", {"full": -1}, {"full": "1"}, {"full": True}, {"other": 1}])
def test_a_footer_without_proper_figures_tells_nothing(told: Any) -> None:
    assert read_use(told) == {}


def test_the_summary_has_shares_of_the_engines_time_and_what_they_counted() -> None:
    another = {**ONE, "prefix_asked": 400, "prefix_found": 100, "cache": 0.5}
    assert EngineUse(2, 1, add_up([ONE, another, {"cache": 0.25}])).as_json() == {
        "seconds": 200,
        "full": 0.6,
        "part": 0.2,
        "little": 0.1,
        "idle": 0.1,
        "tokens_per_second": 50.0,
        "preemptions": 4,
        "highest_cache_use": 0.5,
        "prefix_hit_rate": 0.25,
    }


def test_shards_of_earlier_releases_say_nothing_of_engines() -> None:
    assert EngineUse(3, 1, add_up([{}, {}])).as_json() is None


def test_time_in_vain_is_said_with_what_to_do() -> None:
    (said,) = EngineUse(9, 2, WASTED).advise(0)
    assert said.startswith("50 % of the tasks' time the engines had less than a quarter of the rows")
    assert said.endswith("use larger tasks (ChunkSize, BlockSize)")
    assert EngineUse(1, 1, WASTED).advise(16)[0].endswith("leave MaxConcurrency at 0")


@pytest.mark.parametrize(
    ("tasks", "sums"),
    [(2, WASTED), (9, {"full": 900.0, "idle": 299.0}), (9, {"full": 3.0, "idle": 200.0}), (9, {})],
    ids=["one task a worker", "most of it was full", "a small job", "nothing is known"],
)
def test_nothing_is_said_where_nothing_can_be_done(tasks: int, sums: dict[str, float]) -> None:
    assert EngineUse(tasks, 2, sums).advise(0) == []
