"""The range grammar, with openjd-model's own parser as the oracle."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openjd.model import IntRangeExpr

from rows import ranges
from rows.ranges import Lines, RangeError

NUMBERS = st.integers(-30, 60)
SPACES = st.sampled_from(["", " ", "\t", "  "])


@st.composite
def element(draw: st.DrawFn) -> str:
    """One element as people write it, right or wrong."""
    first, last, step = draw(NUMBERS), draw(NUMBERS), draw(st.integers(-4, 4))
    text = draw(st.sampled_from(["{a}", "{a}{s}-{s}{b}", "{a}-{b}{s}:{s}{c}", "{a}:{c}", "{a}-", "-{a}-{b}", "x", ""]))
    return text.format(a=first, b=last, c=step, s=draw(SPACES))


EXPRESSIONS = st.lists(st.tuples(SPACES, element(), SPACES).map("".join), max_size=5).map(",".join)


def the_host_says(expression: str) -> list[int] | None:
    try:
        return sorted(IntRangeExpr.from_str(expression))
    except Exception:  # noqa: BLE001 - any refusal is a refusal
        return None


def we_say(expression: str) -> list[int] | None:
    try:
        return [number for numbers in ranges.parse(expression) for number in numbers]
    except RangeError:
        return None


@given(EXPRESSIONS)
def test_an_expression_means_what_the_host_says_it_means(expression: str) -> None:
    assert we_say(expression) == the_host_says(expression)


@given(st.text("0123456789-:, \t\n+x", max_size=12))
def test_any_text_is_taken_or_refused_as_the_host_does(expression: str) -> None:
    assert we_say(expression) == the_host_says(expression)


@given(st.sets(st.integers(1, 300), min_size=1))
def test_written_numbers_are_read_back_by_the_host(numbers: set[int]) -> None:
    assert the_host_says(ranges.write(sorted(numbers))) == sorted(numbers)


@given(st.sets(st.integers(1, 300), min_size=1))
def test_the_host_s_own_writing_is_read(numbers: set[int]) -> None:
    assert we_say(str(IntRangeExpr.from_list(sorted(numbers)))) == sorted(numbers)


RANGES = st.builds(range, st.integers(1, 50), st.integers(1, 80), st.integers(1, 5))


@given(st.lists(RANGES, max_size=6), st.integers(0, 90))
def test_lines_behave_as_a_set(several: list[range], last: int) -> None:
    lines, numbers = Lines(several), sorted({n for r in several for n in r})
    assert list(lines) == numbers
    assert len(lines) == len(numbers)
    assert list(lines.up_to(last)) == [n for n in numbers if n <= last]
    assert list(lines | Lines([range(5, 9)])) == sorted({*numbers, 5, 6, 7, 8})


@given(st.sets(st.integers(1, 40), min_size=1), st.integers(1, 7))
def test_a_range_value_stands_for_its_block_of_lines(values: set[int], size: int) -> None:
    wanted = sorted(line for value in values for line in range((value - 1) * size + 1, value * size + 1))
    assert list(ranges.of_values(ranges.write(sorted(values)), size)) == wanted


@pytest.mark.parametrize(
    ("expression", "block_size"),
    [("1-99999999999999999999", 1), ("1-99999999999999999999,5", 1), ("1-" + "9" * 5_000, 1), (f"1-{10**18}", 2)],
    ids=["past 2**63", "and an overlap", "5,000 digits", "by its blocks"],
)
def test_a_range_past_the_last_line_that_can_be_counted_is_refused(expression: str, block_size: int) -> None:
    with pytest.raises(RangeError, match="line numbers end at 1,000,000,000,000,000,000"):
        ranges.of_values(expression, block_size)


def test_the_last_line_that_can_be_counted_is_one_and_zeros_before_a_number_are_none() -> None:
    assert len(ranges.of_values(f"1-{10**18}", 1)) == 10**18
    assert len(ranges.of_values("1-" + "0" * 30 + "7", 1)) == 7


@pytest.mark.parametrize("expression", ["0", "-3-5", "0-2"])
def test_a_value_below_one_is_refused_because_lines_count_from_one(expression: str) -> None:
    with pytest.raises(RangeError, match="counted from 1"):
        ranges.of_values(expression, 1)


def test_ten_million_lines_stay_a_handful_of_ranges() -> None:
    lines = ranges.of_values("1-10000", 1000)
    assert len(lines) == 10_000_000
    assert len(lines.ranges) == 1
    assert 9_999_999 in lines
    assert 10_000_001 not in lines


def test_blocks_that_follow_each_other_take_no_memory_for_each() -> None:
    tracemalloc.start()
    lines = ranges.of_values("1-1000000", 1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lines.ranges == (range(1, 1_000_000_001),)
    assert peak < 100_000
