"""The dispatcher, its link and its suspects with an engine that dies as scripted, on scripted time."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking.link import CHUNK_LOADS, LoadsSpent
from asking.trust import Trust
from rows.errors import KILLED_SERVER
from support.scripted_engine import Engine, Report, ask_all


def check_once_each(report: Report, lines: int) -> None:
    """Fail unless every line has one outcome or is left over, and none is both."""
    assert set(report.told.values()) <= {1}
    assert Counter([*report.told, *report.rest]) == Counter(range(1, lines + 1))


def loads_for(killers: int) -> int:
    """Return how many loads a chunk may cost: the first, and at most four for each row that kills.

    In flight with others, among as many suspects as the square root of these, alone, and once more alone on a new
    engine; fewer where guilty rows share a death.
    """
    return 1 + 4 * killers


@settings(max_examples=60)
@given(
    lines=st.integers(1, 60),
    concurrency=st.sampled_from([1, 3, 8, 60]),
    killers=st.sets(st.integers(1, 60), max_size=6),
    seed=st.integers(0, 1000),
    notice=st.sampled_from([0.0, 0.5, 3.0]),
)
def test_whichever_rows_kill_they_alone_are_guilty(
    lines: int, concurrency: int, killers: set[int], seed: int, notice: float
) -> None:
    guilty = {line for line in killers if line <= lines}
    trust = Trust(witness={"route": "/v1/completions", "body": '{"line": 0}'})  # the session has answered before
    report = ask_all(
        range(1, lines + 1),
        Engine(lambda line, _: line in guilty, seed=seed, notice=notice),
        concurrency=concurrency,
        trust=trust,
    )
    check_once_each(report, lines)
    assert report.gone is None
    assert report.outcomes == {line: KILLED_SERVER if line in guilty else "" for line in range(1, lines + 1)}
    assert report.engine.loads <= loads_for(len(guilty))


@settings(max_examples=30)
@given(nth=st.integers(2, 12), concurrency=st.sampled_from([1, 8, 60]), seed=st.integers(0, 1000))
def test_an_engine_that_dies_by_itself_is_never_taken_for_a_rows_fault(nth: int, concurrency: int, seed: int) -> None:
    report = ask_all(range(1, 31), Engine(lambda _, count: count == nth, seed=seed), concurrency=concurrency)
    check_once_each(report, 30)
    assert set(report.outcomes.values()) == {""}
    assert report.gone is None
    assert report.engine.loads <= 1 + math.ceil(30 / (nth - 1)) * 2


def test_three_rows_among_thirty_cost_a_bounded_number_of_loads() -> None:
    report = ask_all(range(1, 31), Engine(lambda line, _: line in (7, 8, 21)), concurrency=30)
    assert {line for line, code in report.outcomes.items() if code} == {7, 8, 21}
    assert report.engine.loads <= loads_for(3)


@pytest.mark.parametrize(("lines", "killers"), [(512, {40, 400}), (2_500, {7, 1_900})])
def test_two_rows_among_very_many_are_found_and_cost_no_other_its_answer(lines: int, killers: set[int]) -> None:
    report = ask_all(range(1, lines + 1), Engine(lambda line, _: line in killers), concurrency=256)
    check_once_each(report, lines)
    assert report.gone is None
    assert {line for line, code in report.outcomes.items() if code} == killers
    assert report.engine.loads <= loads_for(len(killers))


def test_a_row_that_noticed_last_is_not_alone_for_that() -> None:
    deaths: list[int] = []

    def kills(line: int, nth: int) -> bool:
        deaths.extend([line] if nth == 4 else [])
        return nth == 4 and len(deaths) < 3

    report = ask_all([1, 2, 3, 4], Engine(kills))
    assert set(report.outcomes.values()) == {""}


@pytest.mark.parametrize("lines", [3, 60])
def test_an_engine_that_answers_nothing_is_given_up_soon_and_blames_nobody(lines: int) -> None:
    report = ask_all(range(1, lines + 1), Engine(lambda *_: True))
    check_once_each(report, lines)
    assert not isinstance(report.gone, LoadsSpent)
    assert report.outcomes == {}
    assert report.engine.loads <= 5
    assert "never answered" in str(report.gone)


def test_a_chunk_of_nothing_but_rows_that_kill_ends_well_where_a_row_of_another_chunk_is_answered() -> None:
    report = ask_all(range(1, 9), Engine(lambda line, _: line != 99), stranger=99)
    check_once_each(report, 8)
    assert report.gone is None
    assert set(report.outcomes.values()) == {KILLED_SERVER}
    assert report.engine.loads <= loads_for(8)


def test_an_engine_that_kills_a_row_of_another_chunk_too_is_broken_and_blames_nobody() -> None:
    report = ask_all(range(1, 9), Engine(lambda *_: True), stranger=99)
    check_once_each(report, 8)
    assert report.outcomes == {}
    assert "one of another chunk" in str(report.gone)
    assert report.engine.loads <= 6


@pytest.mark.parametrize("lines", [1, 2])
def test_a_row_or_two_that_kill_a_fresh_session_s_engine_are_guilty(lines: int) -> None:
    report = ask_all(range(1, lines + 1), Engine(lambda *_: True))
    assert report.gone is None
    assert set(report.outcomes.values()) == {KILLED_SERVER}


def test_an_engine_that_worked_and_then_kills_every_row_is_found_out_by_a_row_it_answered() -> None:
    asked: set[int] = set()

    def kills(line: int, _: int) -> bool:
        asked.add(line)
        return len(asked) > 20

    report = ask_all(range(1, 61), Engine(kills), concurrency=4)
    check_once_each(report, 60)
    assert set(report.outcomes.values()) == {""}
    assert "had answered before" in str(report.gone)


def test_an_engine_that_cannot_be_started_again_leaves_the_rest() -> None:
    report = ask_all(range(1, 31), Engine(lambda line, _: line == 9, comes_back=lambda load: load < 2))
    check_once_each(report, 30)
    assert "does not start" in str(report.gone)
    assert report.engine.loads == 2, "the rows that wait do not try it once more"


def test_loads_that_each_help_are_bounded_too() -> None:
    report = ask_all(range(1, 301), Engine(lambda _, nth: nth == 2), concurrency=1)
    check_once_each(report, 300)
    assert isinstance(report.gone, LoadsSpent)
    assert report.engine.loads == CHUNK_LOADS + 1
    assert set(report.outcomes.values()) == {""}
    assert len(report.outcomes) >= CHUNK_LOADS


def test_what_a_session_learned_is_kept_for_its_next_chunk(tmp_path: Path) -> None:
    for lines in ([1, 2], [3, 4]):
        report = ask_all(lines, Engine(lambda *_: True), trust=Trust.load(tmp_path))
    assert report.outcomes == {}
    assert "never answered" in str(report.gone)
    assert (tmp_path / "trust.json").stat().st_mode & 0o777 == 0o600
