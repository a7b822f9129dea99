"""results.html in Chromium: at a glance and reading."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support.pages.kinds_of_prompt_rows import ARABIC, CHINESE
from support.pages.page_gallery import gallery, kinds
from support.pages.page_rows import page_row, prompt_rows, summary
from support.pages.results_page import drop, lines_shown, make_page, open_charts, opened, wait_for_count, wait_for_line

pytestmark = pytest.mark.browser

NAMES = [name for name, _, _ in kinds()]


@pytest.fixture(scope="module")
def gallery_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("gallery"), gallery())


@pytest.fixture(scope="module")
def prompts_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("prompts"), prompt_rows(300), truncated=12, not_requested=9)


def row(name: str) -> str:
    """Return the address of the gallery's row of this kind."""
    return f"#row={NAMES.index(name) + 1}"


# 1. At a glance


def test_the_top_says_what_was_run_and_how_it_went(chromium: Browser, prompts_page: Path) -> None:
    with opened(chromium, prompts_page) as page:
        top = page.locator("header.top").inner_text() + page.locator("#overview").inner_text()
        for text in (
            "sample_prompts.jsonl",
            "Qwen/Qwen2.5-7B-Instruct",
            "299 of 300 rows answered, 12 cut off",
            "1 failed",
            "3.3K",
            "48K",
            "190.2",
            "4 min 12 s",
            "Worker time\n12 min 0 s",
            "Cost\n$0.30",
            "Per million tokens\n$5.85",
            "In vain\n$0.03",
            "9 lines of the input were not requested",
        ):
            assert text in top
        page.click("text=How it was run")
        run = page.locator("#run").inner_text()
        assert "MaxTokens\n256" in run
        assert "9f2c9f2c" in run
        assert "GPUs\n4 copies of the model" in run
        assert "Prompt tokens from the cache\n600 (18 %)" in run
        assert "full 62 %, partly full 20 %, under a quarter 10 %, idle 8 % of 12 min 30 s in tasks" in run
        assert "KV cache at most\n91 %" in run
        spent = "2 min 0 s loading the model, 9 min 50 s answering, 10 s idle"
        assert f"Worker time\n{spent} (3 sessions, the model loads of 1 not known)" in run
        assert "Paid in vain\n1 min 0 s answers that are not shown, 12 s rows that failed" in run
        assert "The service counted\n15 min 0 s" in run


def test_charts_show_lengths_latencies_reasons_and_a_lane_for_each_worker(
    chromium: Browser, prompts_page: Path
) -> None:
    with opened(chromium, prompts_page) as page:
        assert page.locator("#chartnames").inner_text() == ": Finish reasons, Answer lengths, Rows over time, Latency"
        open_charts(page)
        titles = page.locator("#charts figcaption strong").all_inner_texts()
        assert titles == ["Finish reasons", "Answer lengths", "Rows over time", "Latency"]
        assert page.locator(".lane .name").all_inner_texts() == ["session-1", "session-2", "session-3"]
        for label in page.locator("#charts [role=img]").all():
            assert "row" in str(label.get_attribute("aria-label")) or "answer" in str(label.get_attribute("aria-label"))


def test_a_click_on_a_chart_filters_the_rows(chromium: Browser, prompts_page: Path) -> None:
    with opened(chromium, prompts_page) as page:
        open_charts(page)
        page.click("#charts button:has-text('length')")
        page.wait_for_function("() => location.hash.includes('finish=length')")
        assert " of 300 rows" in page.locator("#count").inner_text()


# 2. Reading


def test_markdown_is_rendered_and_turns_plain_by_a_switch(chromium: Browser, gallery_page: Path) -> None:
    with opened(chromium, gallery_page, row("markdown")) as page:
        answer = page.locator("#body .given .text")
        for selector, text in {
            "h3": "Heading",
            "strong": "bold",
            "em": "italic",
            "s": "struck",
            "p code": "code",
            "ul ul li": "nested",
            "ol li:last-child": "second",
            "td strong": "2",
            "pre code": 'print("<script>alert(1)</script>")',
            "blockquote": "quoted\ntwice",
        }.items():
            assert answer.locator(selector).first.inner_text() == text
        assert "<b>no markup</b>" in answer.inner_text()
        assert "(https://example.com/a_(b))" in answer.inner_text()
        assert page.locator("#body a").count() == 0
        page.click("#manner")
        page.wait_for_selector("#body .given .text.plain")
        assert page.locator("#body .given .text").inner_text().startswith("# Heading")


def test_prompt_and_answer_stand_side_by_side_or_stacked(chromium: Browser, prompts_page: Path) -> None:
    with opened(chromium, prompts_page, "#row=2") as page:
        wait_for_line(page, 2)
        tops = "() => [...document.querySelectorAll('.pair > section')].map(part => part.getBoundingClientRect().top)"
        beside = page.evaluate(tops)
        assert beside[0] == beside[1]
        page.keyboard.press("s")
        below = page.evaluate(tops)
        assert below[0] < below[1]


@pytest.mark.parametrize("name", ["conversation", "conversation as text"])
def test_conversations_show_every_turn_and_never_load_images(chromium: Browser, gallery_page: Path, name: str) -> None:
    with opened(chromium, gallery_page, row(name)) as page:
        assert page.locator(".asked .role").all_inner_texts() == ["System", "User", "Assistant", "User"]
        assert "https://example.com/cat.png" in page.locator(".asked").inner_text()
        assert page.locator("img").count() == 0


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("tool call", ["get_weather", '"city": "Paris"', "How is the weather in Paris?", "Be brief."]),
        ("reasoning", ["Two and two make four.", "4"]),
        ("choices", ["Choice 1 of 2", "red", "Choice 2 of 2", "blue"]),
        ("logprobs", ["Token probabilities (3 tokens)", "Paris"]),
        ("json", ['"big": 12345678901234567890', '"b": null']),
        ("big number", ["order", "12345678901234567890"]),
        ("openai 404", ["NotFoundError", "HTTP 404", "The model `m` does not exist."]),
        ("openai timeout", ["request_timeout", "No answer in 600 s."]),
        ("anthropic", ["Greet in French", "Easy.", "Bonjour.", "end_turn"]),
        ("anthropic error", ["invalid_request_error", "max_tokens is missing"]),
        ("runpod", ["The capital of France is", "Paris.", "temperature"]),
        ("runpod failed", ["HTTP 400: temperature must be a number"]),
        ("bedrock", ["Hi there.", "R1"]),
        ("bedrock error", ["400", "bad record"]),
        ("responses", ["Be kind.", "Ping", "Think first.", "Pong.", "ring"]),
        ("previous", ["new", "previous", '"error": "old"']),
        ("no row", ["invalid_json", "Expecting value", "{broken"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_dialect_and_part_of_an_answer_is_shown(
    chromium: Browser, gallery_page: Path, name: str, texts: list[str]
) -> None:
    with opened(chromium, gallery_page, row(name)) as page:
        page.wait_for_selector("#body > *")
        page.locator("#body details:not(.raw)").evaluate_all("all => all.forEach(one => { one.open = true })")
        shown = page.locator("#detail").inner_text()
        for text in texts:
            assert text in shown


@pytest.mark.parametrize(("name", "text", "direction"), [("arabic", ARABIC, "rtl"), ("chinese", CHINESE, "ltr")])
def test_text_runs_in_its_own_direction(
    chromium: Browser, gallery_page: Path, name: str, text: str, direction: str
) -> None:
    with opened(chromium, gallery_page, row(name)) as page:
        paragraph = page.locator(".given .text p")
        assert paragraph.inner_text().startswith(text)
        assert paragraph.evaluate("node => getComputedStyle(node).direction") == direction


def test_long_texts_are_folded_until_asked_for(chromium: Browser, gallery_page: Path) -> None:
    with opened(chromium, gallery_page, row("long")) as page:
        box = page.locator(".given .folded")
        assert box.evaluate("node => node.clientHeight < node.scrollHeight")
        page.click(".given .unfold")
        assert box.evaluate("node => node.clientHeight === node.scrollHeight")


def test_pass_through_fields_are_chips_with_nothing_lost(chromium: Browser, tmp_path: Path) -> None:
    line = {
        "prompt": "p",
        "topic": "tides",
        "nested": {"a": [1, {"b": 2}]},
        "empty": "",
        "none": None,
        "flag": False,
        "generated_text": "t",
    }
    with opened(chromium, make_page(tmp_path, [page_row(1, line, random.Random(1))])) as page:
        page.wait_for_selector(".fields")
        shown = page.locator(".fields").inner_text()
        for text in ("topic", "tides", "nested", '"b": 2', "empty", "none", "null", "flag", "false"):
            assert text in shown
        page.click("text=Output line")
        page.wait_for_selector(".raw .json")
        assert json.loads(page.locator(".raw .json").inner_text()) == line


def test_an_answer_in_a_field_named_like_a_request_s_is_not_shown_as_the_prompt(
    chromium: Browser, tmp_path: Path
) -> None:
    line = {"id": 1, "prompt": "the answer", "previous": {"prompt": "the question"}}
    of_prompt = {**summary(1)["parameters"], "OutputField": "prompt"}
    path = make_page(tmp_path, [page_row(1, line, random.Random(1))], parameters=of_prompt)
    with opened(chromium, path) as page:
        page.wait_for_selector(".given")
        assert "the question" in page.locator(".asked").inner_text()
        assert "the answer" not in page.locator(".asked").inner_text()
        assert "the answer" in page.locator(".given").inner_text()


def test_a_row_made_of_another_dialect_s_line_shows_its_own_answer_also_when_it_is_opened(
    chromium: Browser, tmp_path: Path
) -> None:
    line = {"custom_id": "1", "response": {"body": {"choices": [{"message": {"content": "of before"}}]}}}
    line |= {"choices": ["A", "B"], "generated_text": "of now"}
    with opened(chromium, make_page(tmp_path, [page_row(1, line, random.Random(1))])) as page:
        page.wait_for_selector(".given")
        assert "of now" in page.locator(".given").inner_text()
        (tmp_path / "output.jsonl").write_bytes(json.dumps({**line, "generated_text": "of later"}).encode() + b"\n")
        drop(page, tmp_path / "output.jsonl", "Open its rows here")
        page.wait_for_selector(".given >> text=of later")


def test_the_answers_are_on_the_first_screen(chromium: Browser, tmp_path: Path) -> None:
    with opened(chromium, make_page(tmp_path, prompt_rows(30, failed=frozenset()))) as page:
        places = page.locator("#list .row").evaluate_all("all => all.map(one => one.getBoundingClientRect().bottom)")
        assert sum(place <= 768 for place in places) >= 5


def test_the_headline_counts_answers_that_help_nobody(chromium: Browser, tmp_path: Path) -> None:
    texts = ["I cannot say."] * 12 + [f"Answer {n}." for n in range(8)]
    rand = random.Random(1)
    rows = [page_row(n, {"prompt": "p", "generated_text": text}, rand) for n, text in enumerate(texts, 1)]
    counts = {"truncated": 2, "empty": 3, "refused": 1, "repeated": {"rows": 12, "line": 1}}
    with opened(chromium, make_page(tmp_path, rows, **counts)) as page:
        headline = page.locator(".outcome .headline").inner_text()
        assert headline == "All 20 rows answered, 2 cut off, 3 empty, 1 refused"
        page.click("text=12 with one answer")
        wait_for_count(page, "12 of 20 rows")
        assert lines_shown(page)[:3] == [1, 2, 3]
        page.reload()
        wait_for_count(page, "12 of 20 rows")
        assert page.locator("#chips bdi").all_inner_texts() == ["The same answer as line 1"]
