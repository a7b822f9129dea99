"""results.html as the programs make it from real vLLM answers, opened in Chromium: each point on real rows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from support.pages.results_page import (
    drop,
    lines_shown,
    open_charts,
    opened,
    saved_bytes,
    search,
    wait_for_count,
    wait_for_line,
)
from support.real_jobs import RealServer, Result, openai_line, short_folder

pytestmark = [pytest.mark.vllm, pytest.mark.browser]
MODEL, ENCODER = os.environ["VLLM_BATCH_MODEL"], os.environ["VLLM_BATCH_ENCODER_MODEL"]
ASK = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"temperature": 0, "max_tokens": 24}
ROWS: list[Any] = [
    {"prompt": "What is the capital of France?", "id": "p1", "topic": "geography", **GREEDY},
    {"prompt": "Write a Markdown list of three colours.", "id": "p2", "order": 12345678901234567890, **GREEDY},
    {"messages": [{"role": "system", "content": "Answer briefly."}, *ASK], "id": "p3", "topic": "geography", **GREEDY},
    {"prompt": "ما هي عاصمة فرنسا؟", "id": "p4", "topic": "arabic", **GREEDY},
    {"prompt": "中国的首都是哪里？", "id": "p5", "topic": "chinese", **GREEDY},
    {"prompt": "Name a colour.", "id": "p6", "n": 2, "seed": 1, "temperature": 1, "max_tokens": 8},
    {"prompt": "Name a river.", "id": "p7", "logprobs": True, "top_logprobs": 2, **GREEDY},
    openai_line("o1", "/v1/chat/completions", {"model": MODEL, "messages": ASK, **GREEDY}),
    openai_line("o2", "/v1/completions", {"model": MODEL, "prompt": "One, two, three,", **GREEDY}),
    {"custom_id": "a1", "params": {"model": MODEL, "messages": ASK, "max_tokens": 16}},
    {"input": {"prompt": "The capital of France is", "sampling_params": GREEDY}},
    {"recordId": "R1", "modelInput": {"messages": ASK, "max_tokens": 16}},
    b"{broken </script><script>alert(1)</script>",
    {"prompt": "=HYPERLINK(\"https://evil.example\")", "id": "</script><img src=x onerror=alert(1)>", **GREEDY},
    openai_line("o3", "/v1/nothing", {"model": MODEL, "messages": ASK}),
    {"prompt": "Count to ten.", "id": "p16", "max_tokens": 4},
    {"prompt": "word " * 3000, "id": "p17", "topic": "too long"},
    {"prompt": "What is two plus two?", "id": "p18", "topic": "sums", **GREEDY},
]  # fmt: skip
FAILED = [13, 15, 17]


@pytest.fixture(scope="module")
def runs() -> Iterator[tuple[Result, Result]]:
    """Answer the rows twice, the second time with another system prompt."""
    with short_folder() as folder, RealServer(MODEL, folder, 1024) as server:
        yield server.job("first", ROWS), server.job("second", ROWS, SystemPrompt="Answer like a pirate.")


def page_of(result: Result) -> Path:
    return result.folder / "results.html"


def answer_of(page: Page, line: int) -> str:
    """Open a row and return the text of its answers."""
    page.evaluate(f"location.hash = '#row={line}'")
    wait_for_line(page, line)
    return page.locator("#body .given").inner_text()


def test_the_overview_agrees_with_the_summary(chromium: Browser, runs: tuple[Result, Result]) -> None:
    told = runs[0].summary
    with opened(chromium, page_of(runs[0])) as page:
        top = page.locator("#overview").inner_text()
        assert f"{told['succeeded']} of {len(ROWS)} rows answered" in top
        assert f"{len(FAILED)} failed rows" in top
        open_charts(page)
        assert page.locator("#charts figcaption strong").all_inner_texts() == [
            "Finish reasons",
            "Answer lengths",
            "Rows over time",
            "Latency",
        ]
        assert MODEL.rsplit("/", 1)[1] in page.locator("header.top").inner_text()


def test_every_answer_reads_as_the_model_gave_it(chromium: Browser, runs: tuple[Result, Result]) -> None:
    rows = runs[0].rows
    with opened(chromium, page_of(runs[0])) as page:
        page.click("#manner")
        for line, text in {
            1: rows[0]["generated_text"],
            4: rows[3]["generated_text"],
            5: rows[4]["generated_text"],
            8: rows[7]["response"]["body"]["choices"][0]["message"]["content"],
            9: rows[8]["response"]["body"]["choices"][0]["text"],
            10: rows[9]["result"]["message"]["content"][0]["text"],
            11: rows[10]["output"]["choices"][0]["text"],
            12: rows[11]["modelOutput"]["choices"][0]["message"]["content"],
        }.items():
            assert text.strip().split("\n")[0] in answer_of(page, line)
        assert "Choice 2 of 2" in answer_of(page, 6)
        assert "Token probabilities" in answer_of(page, 7)
        page.evaluate("location.hash = '#row=3'")
        wait_for_line(page, 3)
        assert page.locator(".asked .role").all_inner_texts() == ["System", "User"]


def test_real_rows_are_found_by_search_filter_and_field(chromium: Browser, runs: tuple[Result, Result]) -> None:
    with opened(chromium, page_of(runs[0])) as page:
        search(page, "capital geography")
        wait_for_count(page, f"2 of {len(ROWS)} rows")
        assert lines_shown(page) == [1, 3]
        search(page, "")
        page.click("[data-status=failed]")
        wait_for_count(page, f"{len(FAILED)} of {len(ROWS)} rows")
        assert lines_shown(page) == FAILED


def test_row_17_is_explained_saved_and_its_command_copied(chromium: Browser, runs: tuple[Result, Result]) -> None:
    with opened(chromium, page_of(runs[0]), permissions=["clipboard-read", "clipboard-write"]) as page:
        page.click(".legend button:has-text('failed')")
        page.click("#list [data-line='17']")
        page.wait_for_selector("#body .error")
        assert runs[0].rows[16]["error"]["message"][:60] in page.locator("#body .error").inner_text()
        assert (
            saved_bytes(page, "text=Save failed lines").splitlines()
            == (runs[0].folder / "retry.jsonl").read_bytes().splitlines()
        )
        page.click(".command:has-text('retry.jsonl') button")
        page.wait_for_function("() => document.getElementById('toast').textContent === 'Command copied'")
        command = page.evaluate("navigator.clipboard.readText()")
    assert command.startswith("python3 tools/run_local.py --input retry.jsonl --prompts 1-3 ")  # as the job was run
    assert f"--output-dir {runs[0].folder.parent}" in command


def test_what_is_saved_is_output_jsonl_byte_for_byte(chromium: Browser, runs: tuple[Result, Result]) -> None:
    with opened(chromium, page_of(runs[0])) as page:
        assert saved_bytes(page, "#jsonl") == (runs[0].folder / "output.jsonl").read_bytes()
        assert "12345678901234567890" in saved_bytes(page, "#csv").decode()


@pytest.mark.parametrize("name", ["output.jsonl", "results.html"])
def test_two_real_runs_compare(chromium: Browser, runs: tuple[Result, Result], name: str) -> None:
    texts = [[json.dumps(row.get("generated_text")) for row in run.rows] for run in runs]
    with opened(chromium, page_of(runs[0])) as page:
        drop(page, runs[1].folder / name, "Compare with it")
        page.wait_for_selector("#compare:not([hidden])")
        page.wait_for_selector("#list .chip:text-is('differs')")
        marked = page.locator("#list .row:has(.chip:text-is('differs'))").evaluate_all(
            "all => all.map(one => Number(one.dataset.line))"
        )
        shown = set(lines_shown(page))
        changed = {line for line in (1, 2, 4, 5) if texts[0][line - 1] != texts[1][line - 1]}
        assert changed & shown <= set(marked)


def test_real_embeddings_scores_and_ranks_are_shown_as_what_they_are(chromium: Browser) -> None:
    documents = ["The capital of Brazil is Brasilia.", "The capital of France is Paris."]
    lines: list[Any] = [
        {"text": f"A note about {subject}", "topic": subject}
        for subject in ("tides", "the sea", "waves", "bread", "yeast", "flour")
    ]
    lines += [
        {"query": "capital of France", "documents": documents},
        openai_line("score", "/v1/score", {"model": ENCODER, "queries": "capital of France?", "documents": documents}),
    ]
    with short_folder() as folder, RealServer(ENCODER, folder, 256) as server:
        result = server.job("encoded", lines)
        assert result.summary["failed"] == 0, result.rows
        with opened(chromium, page_of(result)) as page:
            open_charts(page)
            page.wait_for_selector("#charts .map")
            assert page.locator("#charts .map .dot").count() == 6
            assert "Dimensions\n384" in answer_of(page, 1)
            page.wait_for_selector("#body h4")
            assert page.locator("#body .vector .bars .name").first.inner_text()[4:] in {
                "A note about the sea",
                "A note about waves",
            }
            for line in (7, 8):
                answer_of(page, line)
                assert page.locator(".ranks .text").first.inner_text() == documents[1]
