"""The prompt builder in Chromium: templates, export, the command, and the checks of a job."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from checking import inspection
from engine.routes import ANY_ROUTE
from job.prompt_template import PromptTemplate
from support.pages.builder_moves import (
    DIALECTS,
    THREE,
    exported,
    import_rows,
    labels,
    open_row,
    option,
    raws,
)

pytestmark = pytest.mark.browser


def test_a_template_is_previewed_on_the_rows_and_exported_for_the_job(page: Page) -> None:
    import_rows(page, [{"text": "Good morning", "n°": "1"}, {"text": "Good night"}, {"other": 1}])
    page.get_by_role("tab", name="Template").click()
    page.get_by_label("Prompt template").fill("Translate to French: ")
    page.get_by_label("Prompt template").press("End")
    page.get_by_role("button", name="text", exact=True).click()
    expect(page.locator("#preview")).to_have_text("Translate to French: Good morning")
    page.get_by_role("button", name="Next row in the preview").click()
    expect(page.locator("#preview")).to_have_text("Translate to French: Good night")
    expect(page.locator("#preview-fits")).to_have_text("1 of 3 prompt rows would fail: a field is missing.")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download prompt_template.jinja").click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert PromptTemplate(text).render({"text": "Good morning"}) == "Translate to French: Good morning"


def test_a_template_that_goes_with_the_job_makes_rows_without_a_prompt_right(page: Page) -> None:
    import_rows(page, [{"sentence": "Good morning"}, {"other": "x"}])
    expect(page.locator("#bad-count")).to_have_text("2 problems")
    page.get_by_role("tab", name="Template").click()
    page.get_by_label("Prompt template").fill("Translate: {{sentence}}")
    page.get_by_label("Use it with the job").check()
    expect(page.locator("#bad-count")).to_have_text("1 problem")
    page.get_by_role("tab", name="Rows").click()
    assert labels(page)[0] == "Translate: Good morning"
    page.get_by_role("tab", name="Check and submit").click()
    expect(page.locator("#problems")).to_contain_text("Line 2 PromptTemplateFile: 'sentence' is undefined")
    expect(page.locator("#command")).to_contain_text("-p PromptTemplateFile=prompt_template.jinja")


def test_a_template_is_written_into_the_rows_and_undone(page: Page) -> None:
    before = ['{"a b": "x", "n": 2}', '{"a b": "y", "v": 1.0}', "{}"]
    import_rows(page, before)
    page.get_by_role("tab", name="Template").click()
    page.get_by_role("button", name="a b", exact=True).click()
    page.get_by_role("button", name="Write it into the rows instead").click()
    assert raws(page) == ['{"a b": "x", "n": 2, "prompt": "x"}', '{"a b": "y", "v": 1.0, "prompt": "y"}', "{}"]
    page.get_by_role("button", name="Undo", exact=True).last.click()
    assert raws(page) == before


def test_a_template_that_is_wrong_or_beyond_the_preview_is_said_to_be(page: Page) -> None:
    import_rows(page, ['{"text": "x"}'])
    page.get_by_role("tab", name="Template").click()
    field = page.get_by_label("Prompt template")
    field.fill("{{text")
    expect(page.locator("#template-fault")).to_have_text("A “{{” has no “}}”, or the other way round.")
    expect(page.locator("#template-save")).to_be_disabled()
    field.fill("{{ text | upper }}")
    expect(page.locator("#template-fault")).to_contain_text("Jinja beyond plain fields")
    expect(page.locator("#template-save")).to_be_enabled()


def test_what_was_not_edited_is_exported_byte_for_byte(page: Page) -> None:
    lines = [
        '{"prompt":"x" , "id":1.0,"big":12345678901234567890}',
        '{ "text" : "\\u00e9\\/" }',
        '{"prompt": "y", "n": 1, "n": 2}',
        *DIALECTS,
    ]
    import_rows(page, lines)
    open_row(page, 3)
    page.get_by_label("Prompt", exact=True).fill("z")
    wanted = [*lines[:2], '{"prompt": "z", "n": 1, "n": 2}', *DIALECTS]
    assert exported(page) == "".join(f"{line}\n" for line in wanted).encode()


def test_the_command_submits_the_whole_file_and_is_quoted_for_the_shell(page: Page) -> None:
    import_rows(page, THREE)
    page.get_by_role("tab", name="Check and submit").click()
    page.get_by_label("File to export").fill("my prompts.jsonl")
    page.get_by_label("Output folder").fill("it's $(here)")
    page.get_by_label("Job bundle’s folder").fill("-rf")
    command = page.locator("#command").inner_text()
    words = shlex.split(command.replace("\\\n", " "))
    assert words == [
        "deadline",
        "bundle",
        "submit",
        "./-rf",
        "-p",
        "InputFile=my prompts.jsonl",
        "-p",
        "Prompts=1-3",
        "-p",
        "OutputDir=it's $(here)",
    ]
    page.get_by_label("Shell").select_option("powershell")
    expect(page.locator("#command")).to_contain_text("-p 'OutputDir=it''s $(here)'")


def test_what_is_written_runs_as_it_is_on_this_machine_and_its_files_lie_beside_the_command(page: Page) -> None:
    import_rows(page, [{"sentence": "Good morning"}])
    expect(page.locator("#bad-count")).to_have_text("1 problem")
    page.get_by_role("tab", name="Template").click()
    page.get_by_label("Prompt template").fill("Translate: {{sentence}}")
    expect(page.locator("#bad-count")).to_be_hidden()
    page.get_by_role("tab", name="Check and submit").click()
    page.locator("#set-schema").fill('{"type": "object"')
    expect(page.locator("#schema-fault")).to_contain_text("no JSON object")
    expect(page.locator("#export-schema")).to_be_hidden()
    page.locator("#set-schema").fill('{"type": "object"}')
    words = shlex.split(page.locator("#command-local").inner_text().replace("\\\n", " "))
    assert words[:6] == ["python3", "tools/submit.py", "prompts.jsonl", "--local", "--output-dir", "results"]
    files = ["PromptTemplateFile=prompt_template.jinja", "ResponseSchemaFile=answer_schema.json"]
    assert words[6:] == ["-p", files[0], "-p", files[1]]
    assert all(file in page.locator("#command").inner_text() for file in files)
    for button, text in (("template", "Translate: {{sentence}}\n"), ("schema", '{"type": "object"}\n')):
        with page.expect_download() as waiting:
            page.click(f"#export-{button}")
        assert Path(waiting.value.path()).read_text(encoding="utf-8") == text
        assert f"={waiting.value.suggested_filename}" in " ".join(files)


def test_on_a_phone_the_example_shows_its_rows(context: BrowserContext, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Try an example").click()
    expect(page.locator("#grid-body .row").first).to_be_visible()
    expect(page.locator("#card")).to_be_hidden()


def test_the_command_is_copied(context: BrowserContext, page: Page) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    import_rows(page, THREE)
    page.get_by_role("tab", name="Check and submit").click()
    page.get_by_role("button", name="Copy the command").click()
    expect(page.locator("#toast")).to_contain_text("clipboard")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied == page.locator("#command").inner_text()
    assert (
        re.sub(r"\s*\\\n\s*", " ", copied)
        == "deadline bundle submit . -p InputFile=prompts.jsonl -p Prompts=1-3 -p OutputDir=results"
    )


def test_each_problem_is_listed_with_its_line_and_leads_to_its_row(page: Page) -> None:
    import_rows(page, ['{"prompt": "a"}', '{"prompt": "b", "temperature": "hot"}', '{"id": 1}'])
    page.get_by_role("tab", name="Check and submit").click()
    assert page.locator("#problems li").all_inner_texts() == [
        'Line 2 "temperature" must be a number 0 or more, got "hot"',
        'Line 3 the row needs "prompt", "text" or "messages" (or the job a PromptTemplateFile)',
    ]
    page.get_by_role("button", name="Line 3").click()
    expect(page.get_by_role("heading", name="Line 3")).to_be_visible()


def test_names_that_two_rows_share_are_told(page: Page) -> None:
    import_rows(page, [{"prompt": "a", "id": "1"}, {"prompt": "b", "id": "1"}, {"prompt": "c", "id": "2"}])
    page.get_by_role("tab", name="Check and submit").click()
    expect(page.locator("#verdicts")).to_contain_text("1 name is used by more than one row: 1")


def test_what_only_the_server_would_refuse_is_marked_too(page: Page) -> None:
    line = json.loads(DIALECTS[1])
    line["body"]["temperature"] = "hot"
    import_rows(page, [line])
    open_row(page, 1)
    expect(page.locator("#card > .fault")).to_contain_text("server would refuse it")


def test_the_endpoint_of_the_job_decides_what_a_row_needs(page: Page) -> None:
    import_rows(page, [{"query": "x", "documents": ["a", "b"]}, {"text_1": "a", "text_2": "b"}])
    expect(page.locator("#bad-count")).to_be_hidden()
    page.get_by_role("tab", name="Check and submit").click()
    page.get_by_label("Endpoint for prompt rows").select_option("chat")
    expect(page.locator("#bad-count")).to_have_text("2 problems")
    page.get_by_label("Endpoint for prompt rows").select_option("rerank")
    expect(page.locator("#bad-count")).to_have_text("1 problem")
    expect(page.locator("#command")).to_contain_text("-p Endpoint=rerank")


DATA = {"prompt": "x", "temperature": 38.5, "n": 50, "model": "Toyota Corolla", "system": "Linux", "tools": "a saw"}


def test_columns_that_look_like_data_are_told_as_the_check_does_and_a_switch_makes_them_data(
    page: Page, tmp_path: Path
) -> None:
    rows = [DATA, {"prompt": "x", "temperature": 0.5, "system": "Be brief."}]
    import_rows(page, rows)
    page.get_by_role("tab", name="Check and submit").click()
    told = page.locator("#verdicts .doubt").all_inner_texts()
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    notes = inspection.notes(inspection.check({"InputFile": str(path), "Prompts": "all"}))
    quoted = [re.search(r'a column "(\w+)" that looks like data, such as (.*?) \(line 1\)', note) for note in notes]
    assert len(told) == len(DATA) - 1
    assert [found.groups() for found in quoted if found] == [
        re.search(r"a column “(\w+)” that looks like data, such as (.*?) \(line 1\)", text).groups() for text in told
    ]
    expect(page.locator("#bad-count")).to_have_text("1 problem")
    page.get_by_label("Options of prompt rows").select_option("sampling_params")
    expect(page.locator("#bad-count")).to_be_hidden()
    expect(page.locator("#verdicts .doubt")).to_have_count(0)
    expect(page.locator("#command")).to_contain_text("-p OptionsInRows=sampling_params")


def test_where_columns_are_data_the_form_writes_options_into_sampling_params(page: Page) -> None:
    import_rows(page, ['{"prompt": "x", "temperature": 38.5}'])
    page.get_by_role("tab", name="Check and submit").click()
    page.get_by_label("Options of prompt rows").select_option("sampling_params")
    page.get_by_role("tab", name="Rows").click()
    open_row(page, 1)
    option(page, "Temperature").fill("0")
    assert raws(page) == ['{"prompt": "x", "temperature": 38.5, "sampling_params": {"temperature": 0}}']


def test_the_page_lets_rows_ask_what_the_worker_lets_them(page: Page) -> None:
    lines = [json.dumps({"custom_id": "1", "method": "POST", "url": url, "body": {}}) for url in sorted(ANY_ROUTE)]
    found = page.evaluate("(lines) => lines.map((line) => promptBuilder.checkLine(line).code)", lines)
    assert {url for url, code in zip(sorted(ANY_ROUTE), found, strict=True) if code == "invalid_url"} == set()
