"""results.html in Chromium: taking rows along."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from job.parameters import repeated_defaults
from page.writer import PageRow
from support.pages.page_gallery import gallery, kinds
from support.pages.page_hostile import HOSTILE_TEXTS, hostile
from support.pages.page_rows import prompt_rows
from support.pages.results_page import as_jsonl, make_page, opened, saved, saved_bytes, wait_for_line

pytestmark = pytest.mark.browser

FORMULA = tuple("=+-@\t\r\n＝＋－＠|%")


@pytest.fixture(scope="module")
def prompts_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("prompts"), prompt_rows(60))


def test_the_answer_is_copied_as_it_was_written(chromium: Browser, prompts_page: Path) -> None:
    answer = json.loads(next(iter(prompt_rows(60))).output)["generated_text"]
    with opened(chromium, prompts_page, "#row=1", permissions=["clipboard-read", "clipboard-write"]) as page:
        wait_for_line(page, 1)
        page.keyboard.press("c")
        page.wait_for_selector("#toast.shown")
        assert page.evaluate("navigator.clipboard.readText()") == answer


def test_what_is_filtered_is_saved_as_jsonl_byte_for_byte(chromium: Browser, tmp_path: Path) -> None:
    rows = hostile()
    with opened(chromium, make_page(tmp_path, rows)) as page:
        file = saved(page, "#jsonl")
        assert file.suggested_filename == "rows.jsonl"
        assert Path(file.path()).read_bytes() == as_jsonl(rows)
        page.click("[data-status=failed]")
        page.wait_for_selector("[data-status=failed][aria-pressed=true]")
        assert saved_bytes(page, "#jsonl") == as_jsonl(row for row in rows if row.status != "succeeded")


def test_csv_has_a_column_for_each_field_and_keeps_long_numbers(chromium: Browser, tmp_path: Path) -> None:
    with opened(chromium, make_page(tmp_path, gallery())) as page:
        text = saved_bytes(page, "#csv").decode("utf-8-sig")
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [int(row["line"]) for row in table] == [row.line for row in gallery()]
    by_name = dict(zip([name for name, _, _ in kinds()], table, strict=False))
    assert by_name["big number"]["order"] == "12345678901234567890"
    assert json.loads(by_name["tool call"]["tool_calls"])[0]["function"]["name"] == "get_weather"
    assert by_name["openai 404"]["error_code"] == "NotFoundError"
    assert json.loads(by_name["rank"]["results"])[0]["relevance_score"] == 0.91


def test_no_cell_of_the_csv_is_a_formula(chromium: Browser, tmp_path: Path) -> None:
    with opened(chromium, make_page(tmp_path, hostile())) as page:
        text = saved_bytes(page, "#csv").decode("utf-8-sig")
    table = list(csv.reader(io.StringIO(text, newline="")))
    assert len({len(row) for row in table}) == 1
    for row in table:
        for cell in row:
            assert not cell.lstrip(" \"'").startswith(FORMULA) or cell.startswith("'")
    assert any(
        cell == "'" + text for row in table for cell in row for text in HOSTILE_TEXTS if text.startswith("=HYPERLINK")
    )


def test_failed_rows_are_saved_as_the_input_lines_that_they_were(chromium: Browser, tmp_path: Path) -> None:
    given = [
        b'{"prompt": "a", "error": "mine", "big": 12345678901234567890}',
        b'{"custom_id": "x", "method": "POST", "url": "/v1/chat/completions", "body": {}}',
        b"{broken \xff",
        b'{"prompt":  "kept, {as} \\"written\\"",   "n": 1.0}',
        b'{"input": {"prompt": "x"}, "id": 3}',
        b'{"recordId": "R1", "modelInput": {"error": 1}}',
    ]
    error = b'{"code": "c", "message": "m", "status": null, "attempts": 1}'
    rows = [
        failed(1, "prompt", given[0][:-1] + b', "error": ' + error + b"}", given[0]),
        failed(2, "openai", b'{"id": "b", "custom_id": "x", "response": null, "error": ' + error + b"}", given[1]),
        failed(3, "none", b'{"line": 3, "error": ' + error + b"}", given[2]),
        failed(4, "prompt", given[3][:-1] + b', "error": ' + error + b"}", b""),
        failed(5, "runpod", given[4][:-1] + b', "status": "FAILED", "error": "e"}', b""),
        failed(6, "bedrock", given[5][:-1] + b', "error": {"errorCode": 1, "errorMessage": "m"}}', b""),
    ]
    with opened(chromium, make_page(tmp_path, rows)) as page:
        file = saved(page, "#retry")
        assert file.suggested_filename == "retry.jsonl"
        assert Path(file.path()).read_bytes() == b"\n".join(given) + b"\n"


def failed(line: int, dialect: str, output: bytes, given: bytes) -> PageRow:
    """Return a failed row with these bytes."""
    return PageRow(
        line=line,
        status="failed",
        dialect=dialect,
        endpoint="",
        output=output,
        input=given,
        started=None,
        seconds=None,
        attempts=1,
        worker="",
    )


def test_the_command_says_again_what_is_not_the_default(chromium: Browser, tmp_path: Path) -> None:
    parameters = {
        **repeated_defaults(),
        "ModelName": "org/my model",
        "Temperature": 0.7,
        "MaxTokens": 64,
        "SystemPrompt": "It's $HOME; `id`",
        "Prompts": "1-9",
        "OutputDir": "/tmp/x",
        "HfToken": "secret",
        "PromptTemplateFile": "/sessions/s-1/assets/my.jinja",
    }
    path = make_page(
        tmp_path,
        prompt_rows(60),
        parameters=parameters,
        rerun="17",
        input={"name": "my prompts.jsonl", "sha256": "", "lines": 60},
    )
    with opened(chromium, path) as page:
        commands = page.locator(".command code").evaluate_all("all => all.map(one => one.textContent.trim())")
    own = (
        "-p PromptTemplateFile=my.jinja -p 'ModelName=org/my model' -p MaxTokens=64 "
        "-p 'SystemPrompt=It'\\''s $HOME; `id`'"
    )
    assert commands == [
        f"deadline bundle submit . -p InputFile=retry.jsonl -p Prompts=1 -p OutputDir=results {own}",
        f"deadline bundle submit . -p 'InputFile=my prompts.jsonl' -p Prompts=17 -p OutputDir=results {own}",
    ]


def test_the_command_names_the_folder_in_which_the_page_lies(chromium: Browser, tmp_path: Path) -> None:
    output = tmp_path / "my run" / "output"
    output.mkdir(parents=True)
    with opened(chromium, make_page(output, prompt_rows(60))) as page:
        command = page.locator(".command code").first.evaluate("one => one.textContent")
    assert f"-p 'OutputDir={tmp_path}/my run'" in command


def test_a_rerun_range_that_does_not_fit_leaves_the_command_with_the_file(chromium: Browser, tmp_path: Path) -> None:
    with opened(chromium, make_page(tmp_path, prompt_rows(60), rerun=None)) as page:
        assert page.locator(".command").count() == 1


def test_finding_why_row_17_failed_and_taking_it_along_takes_five_actions(
    chromium: Browser, prompts_page: Path
) -> None:
    with opened(chromium, prompts_page, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.click(".legend button:has-text('failed')")  # 1
        page.click("#list [data-line='17']")  # 2
        page.wait_for_selector("#body .error")
        assert "maximum context length is 4096 tokens" in page.locator("#body .error").inner_text()
        with page.expect_download() as waiting:
            page.click("text=Save failed lines")  # 3
        assert json.loads(Path(waiting.value.path()).read_bytes())["id"] == "000017"
        page.click(".command:has-text('retry.jsonl') button")  # 4
        page.wait_for_function("() => document.getElementById('toast').textContent === 'Command copied'")
        assert (
            page.evaluate("navigator.clipboard.readText()")
            == "deadline bundle submit . -p InputFile=retry.jsonl -p Prompts=1 -p OutputDir=results -p MaxTokens=256"
        )
