"""results.html in Chromium: searching, filtering, sorting, links and keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support.pages.page_gallery import kinds
from support.pages.page_rows import prompt_rows
from support.pages.results_page import lines_shown, make_page, opened, search, wait_for_count, wait_for_line

pytestmark = pytest.mark.browser

NAMES = [name for name, _, _ in kinds()]


@pytest.fixture(scope="module")
def prompts_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("prompts"), prompt_rows(300), truncated=12, not_requested=9)


def test_search_finds_words_in_every_value_and_marks_them(chromium: Browser, prompts_page: Path) -> None:
    with opened(chromium, prompts_page) as page:
        search(page, "context LENGTH")
        wait_for_count(page, "1 of 300 rows")
        assert lines_shown(page) == [17]
        assert {text.lower() for text in page.locator("#list mark").all_inner_texts()} == {"context", "length"}
        page.click("#list .row")
        page.wait_for_selector("#body mark")
        search(page, '"measure(name)" vaccines')
        found = [row.line for row in prompt_rows(300) if b"measure(name)" in row.output and b"accines" in row.output]
        wait_for_count(page, f"{len(found)} of 300 rows")
        assert lines_shown(page) == found[: len(lines_shown(page))]


def test_search_reads_values_and_not_the_names_of_fields(chromium: Browser, prompts_page: Path) -> None:
    with opened(chromium, prompts_page) as page:
        search(page, "generated_text")
        wait_for_count(page, "0 of 300 rows")
        assert page.locator("#empty").is_visible()


@pytest.mark.parametrize(
    ("filter_text", "expected"),
    [
        ("status=failed", lambda line, row: "error" in row),
        ("finish=length", lambda line, row: row.get("finish_reason") == "length"),
        ("code=context_length_exceeded", lambda line, row: line == 17),
        ("tokensOut.min=200", lambda line, row: row.get("completion_tokens", 0) >= 200),
        ("tokensOut.max=90", lambda line, row: row.get("completion_tokens", 999) <= 90),
        ("field=topic%3Dtides", lambda line, row: row["topic"] == "tides"),
        (
            "field=topic%3Dtides&field=level%3Deasy",
            lambda line, row: row["topic"] == "tides" and row["level"] == "easy",
        ),
        ("worker=session-2", lambda line, row: line % 3 == 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_filters_of_the_address_show_exactly_their_rows(
    chromium: Browser, prompts_page: Path, filter_text: str, expected: object
) -> None:
    lines = [row.line for row in prompt_rows(300) if expected(row.line, json.loads(row.output))]  # type: ignore[operator]
    with opened(chromium, prompts_page, f"#{filter_text}") as page:
        wait_for_count(page, f"{len(lines)} of 300 rows")
        shown = lines_shown(page)
        assert shown
        assert shown == lines[: len(shown)]


def test_filters_by_hand_are_kept_in_the_address_and_taken_off_by_their_chips(
    chromium: Browser, prompts_page: Path
) -> None:
    with opened(chromium, prompts_page) as page:
        page.click("#filterbutton")
        page.check("#filters label:has-text('length') input")
        page.wait_for_function("() => location.hash.includes('finish=length')")
        page.select_option("#filters select", "topic")
        page.fill("#filters input[list]", "tides")
        page.press("#filters input[list]", "Enter")
        page.wait_for_function("() => location.hash.includes('field=topic')")
        page.reload()
        page.wait_for_selector("html[data-state=ready]")
        assert page.locator("#chips .on bdi").all_inner_texts() == ["Finish reason: length", "topic: tides"]
        page.click("#chips .on:has-text('length')")
        page.click("#chips .on:has-text('tides')")
        wait_for_count(page, "300 rows")


@pytest.mark.parametrize("down", [False, True], ids=["up", "down"])
def test_rows_sort_by_a_number_and_equal_ones_by_line(chromium: Browser, prompts_page: Path, down: bool) -> None:
    tokens = {row.line: json.loads(row.output).get("completion_tokens") for row in prompt_rows(300)}
    sign = -1 if down else 1
    order = sorted(tokens, key=lambda line: (tokens[line] is None, sign * (tokens[line] or 0), line))
    with opened(chromium, prompts_page, f"#sort={'-' if down else ''}tokensOut") as page:
        shown = lines_shown(page)
        assert shown == order[: len(shown)]


def test_a_link_to_a_row_opens_it(chromium: Browser, prompts_page: Path) -> None:
    with opened(chromium, prompts_page, "#row=250") as page:
        wait_for_line(page, 250)
        assert 250 in lines_shown(page)
        page.evaluate("location.hash = '#row=3'")
        wait_for_line(page, 3)


def test_the_keyboard_moves_searches_and_lists_its_keys(chromium: Browser, prompts_page: Path) -> None:
    with opened(chromium, prompts_page) as page:
        page.keyboard.press("j")
        wait_for_line(page, 2)
        page.keyboard.press("k")
        wait_for_line(page, 1)
        page.focus("#list")
        page.keyboard.press("End")
        wait_for_line(page, 300)
        active = page.locator("#list").get_attribute("aria-activedescendant")
        assert page.locator(f"#{active}").get_attribute("data-line") == "300"
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        assert page.locator("#help kbd").count() >= 18
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.keyboard.type("tides j k")
        assert page.input_value("#search") == "tides j k"
        page.keyboard.press("Escape")
        wait_for_count(page, "300 rows")
        page.keyboard.press("e")
        wait_for_count(page, "1 of 300 rows")
