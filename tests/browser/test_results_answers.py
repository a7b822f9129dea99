"""results.html in Chromium: answers that are JSON objects are columns to see, sort, filter, count and take along."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from page.writer import Page as Results
from page.writer import PageRow
from support.pages.page_gallery import gallery
from support.pages.page_rows import page_row, summary
from support.pages.results_page import (
    make_page,
    open_charts,
    opened,
    saved_bytes,
    search,
    wait_for_count,
    wait_for_line,
)
from support.tables import failure, result, table

pytestmark = pytest.mark.browser
MOODS = ("positive", "mixed", "negative")
RAND = random.Random(1)
TOPICS = ["price", "service", "delivery"]


def review(line: int) -> dict[str, Any]:
    answer = {"sentiment": MOODS[line % 3], "score": line / 8, "topics": TOPICS[: line % 3], "note": f"note {line}"}
    own = {"id": f"{line:03d}", "prompt": f"Judge review {line}.", "stars": 1 + line % 5}
    return failure(own, "schema_mismatch", "the answer is not JSON") if line == 7 else result(own, answer)


def rows_of(*lines: dict[str, Any]) -> list[PageRow]:
    return [page_row(n, line, RAND, failed="error" in line) for n, line in enumerate(lines, 1)]


@pytest.fixture(scope="module")
def reviews_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("reviews"), rows_of(*map(review, range(1, 61))))


def cells(page: Page, line: int) -> list[str]:
    """Return what the list shows of a row's answer."""
    return page.locator(f"#list .row[data-line='{line}'] .cells > *").all_inner_texts()


def saved_table(page: Page) -> list[list[str]]:
    text = saved_bytes(page, "#csv").decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


def test_fields_of_answers_stand_below_their_headings(chromium: Browser, reviews_page: Path) -> None:
    with opened(chromium, reviews_page) as page:
        assert page.locator("#headings button").all_inner_texts() == ["sentiment", "score", "topics", "note"]
        page.wait_for_selector("#list .row[data-line='2'] .cells")
        assert cells(page, 2) == ["negative", "0.25", "price, service", "note 2"]
        places = "all => all.map(one => Math.round(one.getBoundingClientRect().left))"
        headings = page.locator("#headings button").evaluate_all(places)
        below = page.locator("#list .row[data-line='2'] .cells > *").evaluate_all(places)
        assert all(abs(one - other) < 4 for one, other in zip(headings, below, strict=True))
        assert "schema_mismatch" in page.locator("#list .row[data-line='7'] .reply").inner_text()


def test_answers_that_are_texts_have_no_headings(chromium: Browser, tmp_path: Path) -> None:
    with opened(chromium, make_page(tmp_path, rows_of(result({"prompt": "p"}, "a text")))) as page:
        assert not page.locator("#headings").is_visible()
        assert page.locator("#list .reply").inner_text() == "a text"


def test_a_heading_sorts_and_sorts_the_other_way(chromium: Browser, reviews_page: Path) -> None:
    with opened(chromium, reviews_page) as page:
        page.click("#headings button:has-text('score')")
        page.click("#headings button:has-text('score')")
        page.wait_for_function("() => location.hash.includes('sort=-answer')")
        page.wait_for_selector("#list .row[data-line='60'][data-position='0']")


def test_a_bar_of_a_label_shows_its_rows(chromium: Browser, reviews_page: Path) -> None:
    with opened(chromium, reviews_page) as page:
        open_charts(page)
        page.click(".chart:has(strong:text-is('sentiment')) button:has-text('mixed')")
        wait_for_count(page, "19 of 60 rows")
        assert page.locator("#chips bdi").all_inner_texts() == ["sentiment = mixed"]
        page.reload()
        wait_for_count(page, "19 of 60 rows")


def test_items_of_lists_are_counted_and_filtered(chromium: Browser, reviews_page: Path) -> None:
    with opened(chromium, reviews_page) as page:
        open_charts(page)
        page.click(".chart:has(strong:text-is('topics')) button:has-text('service')")
        wait_for_count(page, "20 of 60 rows")


def test_numbers_have_a_histogram_whose_bars_hold_what_they_say(chromium: Browser, reviews_page: Path) -> None:
    with opened(chromium, reviews_page, "#answer.min=score%3D2&answer.below=score%3D3") as page:
        wait_for_count(page, "8 of 60 rows")
        open_charts(page)
        assert page.locator(".chart:has(strong:text-is('score')) svg").count() == 1
        assert page.locator("#chips .on bdi").all_inner_texts() == ["score ≥ 2", "score < 3"]


def test_a_cross_table_counts_an_answer_against_a_column_of_ones_own(chromium: Browser, reviews_page: Path) -> None:
    with opened(chromium, reviews_page) as page:
        open_charts(page)
        page.select_option(".cross select >> nth=1", "field:stars")
        grid = page.locator(".cross tr").evaluate_all(
            "all => all.map(row => [...row.children].map(cell => cell.innerText))"
        )
        expected = {(MOODS[n % 3], str(1 + n % 5)): 0 for n in range(15)}
        for line in range(1, 61):
            if line != 7:
                expected[MOODS[line % 3], str(1 + line % 5)] += 1
        found = {
            (row[0], name): int(count) for row in grid[1:] for name, count in zip(grid[0][1:], row[1:], strict=True)
        }
        assert found == expected
        page.click(".cross td button >> nth=0")
        wait_for_count(page, f"{int(grid[1][1])} of 60 rows")


def test_the_csv_has_the_columns_of_to_table(chromium: Browser, tmp_path: Path) -> None:
    lines = [
        *map(review, range(1, 9)),
        result({"sentiment": "mine", "id": "=1+1"}, {"sentiment": "a\0b", "new": "x" * 40_000}),
    ]
    lines += [
        result({"id": 9}, "no object", reasoning="so"),
        result({"id": 10, "messages_beside": []}, '```json\n{"a": 1}\n```'),
    ]
    with opened(chromium, make_page(tmp_path, rows_of(*lines))) as page:
        [heading, *rows] = saved_table(page)
    expected = table(tmp_path, lines, "--details")
    width = len(expected[0])
    assert heading[:width] == expected[0]
    assert heading[width:] == ["line", "status", "endpoint", "seconds", "attempts", "worker"]
    assert [[normal(cell) for cell in row[:width]] for row in rows] == [
        [normal(c) for c in row] for row in expected[1:]
    ]


def normal(cell: str) -> str:
    """Return a cell with JSON and numbers written in one way: JavaScript has no 1.0."""
    try:
        value = json.loads(cell)
    except ValueError:
        return cell
    return json.dumps(float(value) if isinstance(value, int | float) else value)


def test_the_csv_has_the_columns_of_to_table_for_every_kind_of_row(chromium: Browser, tmp_path: Path) -> None:
    rows = gallery()
    with opened(chromium, make_page(tmp_path, rows)) as page:
        found = saved_table(page)
    expected = table(tmp_path, [row.output.decode() for row in rows], "--details")
    assert [[normal(cell) for cell in row[: len(expected[0])]] for row in found] == [
        [normal(c) for c in r] for r in expected
    ]


def test_exact_numbers_show_as_they_stand(chromium: Browser, tmp_path: Path) -> None:
    numbers = ["12345678901234567890.123456789", "1e400", "-1e999", "12345678901234567890"]
    own = ", ".join(f'"n{n}": {number}' for n, number in enumerate(numbers))
    ends = '"finish_reason": "stop", "prompt_tokens": 1, "completion_tokens": 1'
    line = f'{{"prompt": "p", {own}, "generated_text": "{{\\"exact\\": {numbers[0]}}}", {ends}}}'
    row = page_row(1, {}, RAND)
    exact = PageRow(**{**{name: getattr(row, name) for name in row.__slots__}, "output": line.encode()})
    with opened(chromium, make_page(tmp_path, [exact])) as page:
        page.wait_for_selector(".fields")
        assert all(number in page.locator(".fields").inner_text() for number in numbers)
        assert cells(page, 1) == [numbers[0]]
        assert saved_table(page)[1][1:6] == [*numbers, numbers[0]]


def test_a_search_that_finds_nothing_shows_nothing_beside_it(chromium: Browser, reviews_page: Path) -> None:
    with opened(chromium, reviews_page, "#row=3") as page:
        wait_for_line(page, 3)
        search(page, "zzzqqq")
        page.wait_for_function("() => document.getElementById('title').textContent === 'No row chosen'")
        assert page.locator("#body").inner_text() == ""
        search(page, '"note 4"')
        wait_for_line(page, 4)


def test_the_failed_rows_say_the_cause_and_what_to_do(chromium: Browser, reviews_page: Path) -> None:
    with opened(chromium, reviews_page) as page:
        told = page.locator("#failures .cause")
        told.locator("p").first.wait_for()
        assert "schema_mismatch the answer is not JSON" in told.inner_text()
        assert "What to do:" in told.inner_text()


@pytest.mark.parametrize(
    ("worker", "command"),
    [
        ("my-machine", "python3 tools/run_local.py --input retry.jsonl"),
        ("worker-" + "0a" * 16, "deadline bundle submit ."),
    ],
    ids=["here", "farm"],
)
def test_the_commands_fit_how_the_job_was_run(chromium: Browser, tmp_path: Path, worker: str, command: str) -> None:
    [row] = rows_of(failure({"prompt": "p"}))
    mine = PageRow(**{**{name: getattr(row, name) for name in row.__slots__}, "worker": worker})
    with opened(chromium, make_page(tmp_path, [mine], parameters={"ResponseSchemaFile": "/schemas/a.json"})) as page:
        told = page.locator(".command code").first.inner_text()
    assert told.startswith(command)
    assert f"-p ResponseSchemaFile={'a.json' if 'deadline' in command else '/schemas/a.json'}" in told


def test_while_the_job_runs_a_line_without_a_result_has_not_failed(chromium: Browser, tmp_path: Path) -> None:
    rows = rows_of(failure({"prompt": "p"}), failure({"prompt": "q"}, "missing", "no result yet"))
    with opened(chromium, make_page(tmp_path, rows, missing=1, unfinished="on this machine")) as page:
        told = page.locator("#failures").inner_text()
        assert told.startswith("1 failed row")
        assert "missing" not in told
        assert page.locator("#failures .command, #failures .primary").count() == 0


def test_what_the_model_got_is_shown_and_the_rows_own_fields_apart(chromium: Browser, tmp_path: Path) -> None:
    [row] = rows_of(result({"prompt": "raw", "text": "a review", "temperature": 38.5}, "fine"))
    sent = PageRow(**{**{name: getattr(row, name) for name in row.__slots__}, "sent": b'{"prompt": "Judge: a review"}'})
    path = tmp_path / "results.html"
    with Results(tmp_path, "Be short.") as page:
        page.add(sent)
        page.write(path, summary(1, failed=0))
    with opened(chromium, path) as shown:
        shown.wait_for_selector(".asked .turn")
        assert shown.locator(".asked .turn .text").all_inner_texts() == ["Be short.", "Judge: a review"]
        chips = shown.locator(".fields .chip").all_inner_texts()
        assert [chip.replace("\n", "") for chip in chips] == ["promptraw", "texta review", "temperature38.5"]
        assert saved_table(shown)[0][:4] == ["prompt", "text", "temperature", "generated_text"]
