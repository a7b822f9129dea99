"""results.html in Chromium: comparing two runs, and opening whole output files."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support.pages.page_rows import page_row, prompt_rows
from support.pages.results_page import (
    as_jsonl,
    drop,
    lines_shown,
    make_page,
    opened,
    saved_bytes,
    search,
    wait_for_count,
    wait_for_line,
)

pytestmark = pytest.mark.browser

FORMULA = tuple("=+-@\t\r\n＝＋－＠|%")


@pytest.fixture(scope="module")
def prompts_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("prompts"), prompt_rows(60))


def other_run(path: Path, changed: dict[int, str], *, shuffled: bool = False) -> Path:
    """Write an output.jsonl of the same prompts with some answers changed."""
    lines = []
    for row in prompt_rows(60):
        line = json.loads(row.output)
        if row.line in changed:
            line["generated_text"] = changed[row.line]
        lines.append(json.dumps(line))
    if shuffled:
        random.Random(1).shuffle(lines)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_two_runs_pair_by_line_and_their_differences_are_marked(
    chromium: Browser, prompts_page: Path, tmp_path: Path
) -> None:
    answer = json.loads(list(prompt_rows(60))[1].output)["generated_text"]
    first, rest = answer.split(" ", 1)
    other = other_run(tmp_path / "other.jsonl", {2: f"Another {rest}", 30: "Short."})
    with opened(chromium, prompts_page) as page:
        drop(page, other, "Compare with it")
        page.wait_for_selector("#compare:not([hidden])")
        assert (
            "60 pairs: 2 answers differ, 0 rows were changed, 58 are the same" in page.locator("#compare").inner_text()
        )
        page.click("text=Differences only")
        wait_for_count(page, "2 of 60 rows")
        assert lines_shown(page) == [2, 30]
        page.click("#list [data-line='2']")
        wait_for_line(page, 2)
        assert page.locator("#body del").all_inner_texts() == [first]
        assert page.locator("#body ins").all_inner_texts() == ["Another"]
        assert page.locator("#body .even .chip").all_inner_texts() != []


def test_rows_in_another_order_pair_by_id(chromium: Browser, prompts_page: Path, tmp_path: Path) -> None:
    other = other_run(tmp_path / "other.jsonl", {5: "Short."}, shuffled=True)
    with opened(chromium, prompts_page) as page:
        drop(page, other, "Compare with it")
        page.wait_for_selector("#compare:not([hidden])")
        assert "60 pairs: 1 answer differs" in page.locator("#compare").inner_text()
        page.select_option("#compare select", "line")
        page.wait_for_function(
            "() => !document.getElementById('compare').textContent.includes('60 pairs: 1 answer differs')"
        )


def test_lines_of_an_output_pair_with_the_rows_of_a_range_in_their_order(chromium: Browser, tmp_path: Path) -> None:
    rows = [replace(row, line=row.line * 10) for row in prompt_rows(30)]
    other = other_run(tmp_path / "other.jsonl", {4: "Short."})
    with opened(chromium, make_page(tmp_path, rows)) as page:
        drop(page, other, "Compare with it")
        page.wait_for_selector("#compare:not([hidden])")
        page.select_option("#compare select", "line")
        page.click("text=Differences only")
        wait_for_count(page, "1 of 30 rows")
        assert lines_shown(page) == [40]


def test_an_earlier_page_can_be_compared_with(chromium: Browser, prompts_page: Path, tmp_path: Path) -> None:
    earlier = make_page(tmp_path, prompt_rows(40))
    with opened(chromium, prompts_page) as page:
        drop(page, earlier, "Compare with it")
        page.wait_for_selector("#compare:not([hidden])")
        assert "40 are the same; 20 only here, 0 only there" in page.locator("#compare").inner_text()
        page.click("text=Rows only here")
        wait_for_count(page, "20 of 60 rows")
        page.click("text=Stop comparing")
        page.wait_for_selector("#compare", state="hidden")


def test_a_row_that_was_changed_is_no_answer_that_differs(
    chromium: Browser, prompts_page: Path, tmp_path: Path
) -> None:
    lines = [json.loads(row.output) for row in prompt_rows(60)]
    lines[4] |= {"topic": "mended"}
    lines[7] |= {"prompt": "Explain bees.", "generated_text": "They hum."}
    lines += [{"id": "new", "prompt": "One more?", "generated_text": "Only over there."}]
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with opened(chromium, prompts_page) as page:
        drop(page, other, "Compare with it")
        page.wait_for_selector("#compare:not([hidden])")
        assert "0 answers differ, 2 rows were changed, 58 are the same; 0 only here, 1 only there" in (
            page.locator("#compare").inner_text()
        )
        page.click("text=Changed rows only")
        wait_for_count(page, "2 of 60 rows")
        assert lines_shown(page) == [5, 8]
        page.click("#list [data-line='8']")
        wait_for_line(page, 8)
        assert "The row itself was changed" in page.locator("#body .asked").inner_text()
        assert "bees" in " ".join(page.locator("#body .asked ins").all_inner_texts())
        page.click("text=1 row only there")
        page.wait_for_selector(".lacking li")
        assert page.locator(".lacking").inner_text() == "Line 61 new One more? → Only over there."


def test_lines_that_do_not_repeat_what_was_asked_are_compared_by_their_answers(
    chromium: Browser, tmp_path: Path
) -> None:
    rand = random.Random(3)
    asked = json.dumps({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": []}})
    body = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    line = {"id": "x", "custom_id": "a", "response": {"status_code": 200, "body": body}, "error": None}
    path = make_page(tmp_path, [page_row(1, line, rand, dialect="openai", given=asked.encode())])
    (tmp_path / "other.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    with opened(chromium, path) as page:
        drop(page, tmp_path / "other.jsonl", "Compare with it")
        page.wait_for_selector("#compare:not([hidden])")
        assert "1 pair: 0 answers differ, 0 rows were changed, 1 are the same" in page.locator("#compare").inner_text()


LEAVES = "() => dispatchEvent(new Event('beforeunload', {cancelable: true}))"


def test_votes_are_not_lost_without_a_question(chromium: Browser, prompts_page: Path, tmp_path: Path) -> None:
    with opened(chromium, prompts_page, "#row=1") as page:
        drop(page, other_run(tmp_path / "other.jsonl", {}), "Compare with it")
        page.wait_for_selector(".votes")
        assert page.evaluate(LEAVES)
        page.keyboard.press("1")
        wait_for_line(page, 2)
        assert not page.evaluate(LEAVES)
        page.click("text=Stop comparing")
        page.click("dialog[open] button:text-is('Cancel')")
        assert page.locator("#compare").is_visible()
        page.click("text=Stop comparing")
        assert b'"vote":"left"' in saved_bytes(page, "dialog[open] button:text-is('Save them')")
        page.wait_for_selector("#compare", state="hidden")
        assert page.evaluate(LEAVES)


def test_votes_are_given_by_key_and_saved(chromium: Browser, prompts_page: Path, tmp_path: Path) -> None:
    other = other_run(tmp_path / "other.jsonl", {})
    with opened(chromium, prompts_page, "#row=1") as page:
        drop(page, other, "Compare with it")
        page.wait_for_selector("#compare:not([hidden])")
        for line, key in enumerate("123", start=1):
            wait_for_line(page, line)
            page.wait_for_selector(".votes")
            page.keyboard.press(key)
        wait_for_line(page, 4)
        votes = [json.loads(line) for line in saved_bytes(page, "text=Export votes").splitlines()]
    assert [(vote["line"], vote["id"], vote["vote"], vote["other_line"]) for vote in votes] == [
        (1, "000001", "left", 1),
        (2, "000002", "tie", 2),
        (3, "000003", "right", 3),
    ]


def test_differences_rebuild_both_texts(chromium: Browser, tmp_path: Path) -> None:
    rand = random.Random(4)
    words = ["a", "b", "c", "好", "\n", "  ", "é"]
    left = [
        page_row(
            n,
            {"prompt": "p", "id": str(n), "generated_text": " ".join(rand.choices(words, k=rand.randint(1, 40)))},
            rand,
        )
        for n in range(1, 13)
    ]
    right = [
        json.dumps(
            {"prompt": "p", "id": str(n), "generated_text": " ".join(rand.choices(words, k=rand.randint(1, 40)))}
        )
        for n in range(1, 13)
    ]
    (tmp_path / "other.jsonl").write_text("\n".join(right), encoding="utf-8")
    with opened(chromium, make_page(tmp_path, left)) as page:
        drop(page, tmp_path / "other.jsonl", "Compare with it")
        page.wait_for_selector("#compare:not([hidden])")
        for n in range(12):
            page.evaluate(f"location.hash = '#row={n + 1}'")
            wait_for_line(page, n + 1)
            sides = page.locator("#body .even .text").evaluate_all("all => all.map(one => one.textContent)")
            assert sides == [json.loads(left[n].output)["generated_text"], json.loads(right[n])["generated_text"]]


def test_a_whole_output_file_opens_in_the_page(chromium: Browser, prompts_page: Path, tmp_path: Path) -> None:
    (tmp_path / "output.jsonl").write_bytes(as_jsonl(prompt_rows(5000, words=30)))
    with opened(chromium, prompts_page) as page:
        drop(page, tmp_path / "output.jsonl", "Open its rows here")
        wait_for_count(page, "5,000 rows")
        search(page, "context length")
        wait_for_count(page, "1 of 5,000 rows")
        assert saved_bytes(page, "#jsonl") == as_jsonl(row for row in prompt_rows(5000, words=30) if row.line == 17)
