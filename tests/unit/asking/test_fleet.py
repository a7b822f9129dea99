"""Rows over several engines: shared out evenly, each engine's deaths its own, and none lost with an engine."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking.fleet import share_out
from rows.errors import KILLED_SERVER
from support.scripted_engine import Engine, Report, ask_all


def never(_: int, __: int) -> bool:
    return False


def check_all_answered_once(report: Report, lines: int) -> None:
    assert report.gone is None
    assert report.told == Counter(range(1, lines + 1))
    assert set(report.outcomes.values()) == {""}


@pytest.mark.parametrize(
    ("concurrency", "weights", "shares"),
    [(8, [320], [8]), (8, [320, 320], [4, 4]), (1600, [1280, 320], [1280, 320]), (1, [320] * 3, [1, 1, 1]),
     (10, [320] * 3, [3, 3, 4])],
)  # fmt: skip
def test_what_is_in_flight_is_divided_by_what_each_copy_takes(
    concurrency: int, weights: list[int], shares: list[int]
) -> None:
    assert share_out(concurrency, weights) == shares


@pytest.mark.parametrize("lines", [10, 200])
def test_rows_go_to_the_copy_with_the_least_in_flight(lines: int) -> None:
    engines = [Engine(never, seed=number) for number in range(2)]
    check_all_answered_once(ask_all(range(1, lines + 1), *engines, concurrency=8), lines)
    first, second = (engine.asked.total() for engine in engines)
    assert abs(first - second) <= lines // 4


def test_a_slow_copy_gets_fewer_rows() -> None:
    slow, fast = Engine(never, seconds=40.0), Engine(never, seconds=4.0)
    check_all_answered_once(ask_all(range(1, 201), slow, fast), 200)
    assert fast.asked.total() > 4 * slow.asked.total()


def test_a_copy_that_dies_is_brought_back_while_the_others_go_on() -> None:
    one, other = Engine(lambda _, nth: nth == 5 and one.loads == 1), Engine(never, seed=1)
    check_all_answered_once(ask_all(range(1, 301), one, other), 300)
    assert (one.loads, other.loads) == (2, 1)
    assert other.asked.total() > 150
    assert one.asked.total() > 16, "it takes rows again"


def test_a_dead_copy_holds_no_new_rows() -> None:
    one, other = Engine(lambda _, nth: nth == 1 and one.loads == 1, seconds=1.0), Engine(never, seconds=1.0)
    check_all_answered_once(ask_all(range(1, 61), one, other, concurrency=4), 60)
    assert len(one.asked) < 20, "the other answered the rest before it was back"


def test_a_row_that_kills_is_found_on_the_copy_that_it_killed() -> None:
    engines = [Engine(lambda line, _: line == 7, seed=number) for number in range(3)]
    report = ask_all(range(1, 101), *engines)
    assert {line for line, code in report.outcomes.items() if code} == {7}
    assert report.outcomes[7] == KILLED_SERVER
    assert report.told == Counter(range(1, 101))
    assert sorted(engine.loads for engine in engines)[:2] == [1, 1]


def test_the_rows_of_a_copy_that_does_not_come_back_go_to_the_others() -> None:
    one = Engine(lambda _, nth: nth == 5, comes_back=lambda load: False)
    check_all_answered_once(ask_all(range(1, 101), one, Engine(never)), 100)


def test_rows_that_a_copy_leaves_last_are_asked_of_one_that_had_no_more() -> None:
    one = Engine(lambda _, nth: nth == 3, seconds=100.0, comes_back=lambda load: False)
    check_all_answered_once(ask_all(range(1, 7), one, Engine(never, seconds=0.1), concurrency=3), 6)


def test_copies_that_are_all_gone_leave_the_rest() -> None:
    engines = [Engine(lambda _, nth: nth == 5, comes_back=lambda load: False) for _ in range(2)]
    report = ask_all(range(1, 101), *engines)
    assert "does not start" in str(report.gone)
    assert Counter([*report.told, *report.rest]) == Counter(range(1, 101))
    assert len(report.rest) > 50


def test_a_copy_that_never_starts_leaves_its_rows_to_the_others() -> None:
    check_all_answered_once(ask_all(range(1, 51), Engine(never, alive=False), Engine(never)), 50)


def test_a_copy_that_is_late_joins() -> None:
    late = Engine(never, late=30.0)
    check_all_answered_once(ask_all(range(1, 201), Engine(never), late), 200)
    assert late.asked.total() > 20


def test_rows_wait_for_a_late_copy_where_the_first_is_gone() -> None:
    one = Engine(lambda _, nth: nth == 1, comes_back=lambda load: False)
    check_all_answered_once(ask_all(range(1, 51), one, Engine(never, late=600.0)), 50)


def test_a_copy_that_still_loads_is_not_waited_for() -> None:
    late = Engine(never, late=1e9)
    check_all_answered_once(ask_all(range(1, 51), Engine(never), late), 50)
    assert not late.asked


@pytest.mark.parametrize("late", [0.0, 1e9])
def test_a_stop_leaves_what_was_not_asked(late: float) -> None:
    report = ask_all(range(1, 101), Engine(never), Engine(never, late=late), stop_after=15.0)
    assert report.gone is None
    assert Counter([*report.told, *report.rest]) == Counter(range(1, 101))
    assert report.told
    assert report.rest


def test_a_stop_before_any_copy_is_ready_asks_nothing() -> None:
    report = ask_all(range(1, 11), Engine(never, late=1e9), stop_after=5.0)
    assert (report.told, sorted(report.rest), report.gone) == (Counter(), list(range(1, 11)), None)


@settings(max_examples=60)
@given(
    lines=st.integers(1, 60),
    concurrency=st.sampled_from([1, 3, 20]),
    killers=st.sets(st.integers(1, 60), max_size=3),
    dies=st.integers(2, 40),
    comes_back=st.booleans(),
    late=st.sampled_from([0.0, 5.0, 50.0]),
    seed=st.integers(0, 1000),
)
def test_whatever_dies_each_row_has_one_outcome(
    lines: int, concurrency: int, killers: set[int], dies: int, comes_back: bool, late: float, seed: int
) -> None:
    shaky = Engine(lambda _, nth: nth == dies, seed=seed, comes_back=lambda load: comes_back)
    sound = [Engine(lambda line, _: line in killers, seed=seed + number, late=late) for number in (1, 2)]
    report = ask_all(range(1, lines + 1), shaky, *sound, concurrency=concurrency)
    assert Counter([*report.told, *report.rest]) == Counter(range(1, lines + 1))
    assert {line for line, code in report.outcomes.items() if code} <= killers
