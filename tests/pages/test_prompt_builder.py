"""The prompt builder in Chromium, point by point: editing, importing, templates, exporting, keeping."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import build_prompt_builder
from pages.builder_moves import exported, import_bytes, import_rows, open_row, option, raws, rows, saved
from pages.conftest import BUILDER, Watch, open_builder
from prompt_template import PromptTemplate

pytestmark = pytest.mark.browser

THREE = [
    '{"prompt": "one", "id": 1.0}',
    '{"prompt": "two", "temperature": 0}',
    '{"prompt":"three","big":12345678901234567890}',
]
DIALECTS = [
    '{"prompt": "Hi", "topic": "greeting"}',
    '{"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user", "content": "Hi"}]}}',
    '{"custom_id": "a1", "params": {"max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]}}',
    '{"input": {"prompt": "Hi", "sampling_params": {"max_tokens": 5}}}',
    '{"recordId": "R1", "modelInput": {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "inferenceConfig": {"maxTokens": 5}}}',
]


def labels(page: Page) -> list[str]:
    """Return what the table shows of each row."""
    return page.locator("#grid-body .words").all_inner_texts()


def test_the_committed_page_is_what_its_sources_make() -> None:
    assert BUILDER.read_text(encoding="utf-8") == build_prompt_builder.build()
    assert build_prompt_builder.main(["--check"]) == 0


# 1. Rows as a table and as cards


def test_rows_show_as_a_table_and_one_by_one_as_cards(page: Page) -> None:
    import_rows(page, THREE)
    assert labels(page) == ["one", "two", "three"]
    open_row(page, 2)
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("two")
    page.get_by_role("button", name="Next row", exact=True).click()
    expect(page.get_by_role("heading", name="Line 3")).to_be_visible()
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("three")


def test_a_row_is_written_from_nothing(page: Page) -> None:
    page.get_by_role("button", name="Write a row").click()
    page.keyboard.type("ignored by no one")
    page.get_by_label("Prompt", exact=True).fill("Why is the sky blue?")
    page.get_by_label("System message").fill("Be brief.")
    option(page, "Temperature").fill("0")
    assert rows(page) == [{"prompt": "Why is the sky blue?", "system": "Be brief.", "temperature": 0}]


def test_rows_are_added_duplicated_moved_and_deleted_and_all_of_it_undone_and_redone(page: Page) -> None:
    import_rows(page, THREE)
    open_row(page, 2)
    page.get_by_role("button", name="Duplicate").click()
    assert [row["prompt"] for row in rows(page)] == ["one", "two", "two", "three"]
    page.get_by_role("button", name="Move down").click()
    page.get_by_role("button", name="Move up").click()
    page.get_by_role("button", name="Move up").click()
    page.locator("#delete").click()
    assert [row["prompt"] for row in rows(page)] == ["one", "two", "three"]
    page.locator("#add").click()
    after = raws(page)
    for _ in range(6):
        page.locator("#undo").click()
    assert raws(page) == THREE
    for _ in range(6):
        page.locator("#redo").click()
    assert raws(page) == after


def test_rows_are_moved_by_dragging_their_number(page: Page) -> None:
    import_rows(page, THREE)
    grip = page.locator("#grid-body .row[aria-rowindex='2'] .c1")
    grip.hover()
    page.mouse.down()
    box = page.locator("#grid-body .row[aria-rowindex='4']").bounding_box()
    assert box
    page.mouse.move(box["x"] + 60, box["y"] + box["height"] - 2, steps=5)
    page.mouse.up()
    assert [row["prompt"] for row in rows(page)] == ["two", "three", "one"]


def test_several_rows_are_selected_and_moved_together(page: Page) -> None:
    import_rows(page, [{"prompt": name} for name in "abcde"])
    page.get_by_label("Select line 2").click()
    page.get_by_label("Select line 3").click(modifiers=["Shift"])
    page.locator("#grid").focus()
    page.keyboard.press("Alt+ArrowDown")
    assert [row["prompt"] for row in rows(page)] == list("adbce")
    page.keyboard.press("Delete")
    assert [row["prompt"] for row in rows(page)] == list("ade")


def test_the_table_is_used_by_keyboard_alone(page: Page) -> None:
    import_rows(page, [{"prompt": str(n)} for n in range(50)])
    page.locator("#grid").focus()
    for key in ("End", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Line 49")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#grid")).to_be_focused()
    page.keyboard.press("Control+d")
    assert len(rows(page)) == 51
    page.keyboard.press("Control+z")
    page.keyboard.press("/")
    page.keyboard.type("48")
    expect(page.locator("#grid-body .row")).to_have_count(1)


OPTIONS: list[tuple[str, str, Any]] = [
    ("Max tokens", "64", {"max_tokens": 64}),
    ("Temperature", "0", {"temperature": 0}),
    ("Top p", "0.9", {"top_p": 0.9}),
    ("Top k", "40", {"top_k": 40}),
    ("Min p", "0.05", {"min_p": 0.05}),
    ("Seed", "-7", {"seed": -7}),
    ("Stop", "END", {"stop": "END"}),
    ("Stop", "END\n\\n\\n", {"stop": ["END", "\n\n"]}),
    ("Answers", "3", {"n": 3}),
    ("Presence penalty", "-0.5", {"presence_penalty": -0.5}),
    ("Frequency penalty", "0.5", {"frequency_penalty": 0.5}),
    ("Repetition penalty", "1.1", {"repetition_penalty": 1.1}),
    ("Log probabilities", "true", {"logprobs": True}),
    ("Top log probabilities", "5", {"top_logprobs": 5}),
    ("Response format", '{"type": "json_object"}', {"response_format": {"type": "json_object"}}),
    ("Structured outputs", '{\n  "choice": ["a"]\n}', {"structured_outputs": {"choice": ["a"]}}),
    ("Model or adapter", "my-adapter", {"model": "my-adapter"}),
]


@pytest.mark.parametrize(("label", "typed", "wanted"), OPTIONS, ids=[f"{name} {typed!r}" for name, typed, _ in OPTIONS])
def test_an_option_is_set_and_taken_out_again(page: Page, label: str, typed: str, wanted: Any) -> None:
    import_rows(page, ['{"prompt": "x"}'])
    open_row(page, 1)
    field = option(page, label)
    field.fill(typed)
    assert rows(page) == [{"prompt": "x"} | wanted]
    expect(field).not_to_have_attribute("aria-invalid", "true")
    field.fill("")
    assert raws(page) == ['{"prompt": "x"}']


@pytest.mark.parametrize(
    ("label", "typed", "said"),
    [
        ("Temperature", "hot", '"temperature" must be a number 0 or more, got "hot"'),
        ("Max tokens", "0", '"max_tokens" must be a whole number, 1 or more, got 0'),
        ("Max tokens", "1.0", '"max_tokens" must be a whole number, 1 or more, got 1.0'),
        ("Top p", "0", '"top_p" must be a number more than 0 and at most 1, got 0'),
        ("Response format", "{", '"response_format" must be an object, got "{"'),
    ],
)
def test_an_option_out_of_bounds_is_marked_at_once_and_nothing_typed_is_lost(
    page: Page, label: str, typed: str, said: str
) -> None:
    import_rows(page, ['{"prompt": "x"}'])
    open_row(page, 1)
    field = option(page, label)
    field.fill(typed)
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#card > .fault")).to_have_text(said)
    expect(page.locator("#bad-count")).to_have_text("1 problem")
    expect(field).to_have_value(typed)


def test_options_are_written_where_the_row_keeps_them(page: Page) -> None:
    import_rows(
        page,
        [
            *DIALECTS[1:],
            '{"prompt": "x", "sampling_params": {"top_p": 1.0}}',
            '{"prompt": "x", "max_completion_tokens": 5}',
        ],
    )
    for line in range(1, 7):
        open_row(page, line)
        option(page, "Max tokens").fill("9")
    openai, anthropic, runpod, bedrock, nested, newer = rows(page)
    assert openai["body"]["max_tokens"] == 9
    assert anthropic["params"]["max_tokens"] == 9
    assert runpod["input"]["sampling_params"] == {"max_tokens": 9}
    assert bedrock["modelInput"]["inferenceConfig"] == {"maxTokens": 9}
    assert nested == {"prompt": "x", "sampling_params": {"top_p": 1.0}, "max_tokens": 9}
    assert newer == {"prompt": "x", "max_completion_tokens": 9}


def test_a_prompt_becomes_a_conversation_with_a_system_message_and_images_by_url(page: Page) -> None:
    import_rows(page, ['{"id": 1.0, "prompt": "What is this?", "note": 1E2}'])
    open_row(page, 1)
    page.get_by_role("button", name="Conversation").click()
    page.get_by_label("System message").fill("Be brief.")
    page.get_by_role("button", name="Add an image by URL").click()
    page.get_by_label("Image URL in message 1").fill("https://example.com/cat.png")
    page.get_by_role("button", name="Add a message").click()
    page.get_by_label("Text of message 2").fill("A cat.")
    image = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
    assert rows(page)[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
        {"role": "assistant", "content": "A cat."},
    ]
    assert raws(page)[0].startswith('{"id": 1.0, "note": 1E2, ')


def test_messages_change_places_and_roles_and_are_deleted(page: Page) -> None:
    import_rows(page, ['{"messages": [{"role":"user","content":"a","name":"x"},{"role":"assistant","content":"b"}]}'])
    open_row(page, 1)
    page.get_by_role("button", name="Move message 2 up").click()
    assert raws(page) == ['{"messages": [{"role":"assistant","content":"b"},{"role":"user","content":"a","name":"x"}]}']
    page.get_by_label("Role of message 1").select_option("user")
    page.get_by_role("button", name="Delete message 2").click()
    assert raws(page) == ['{"messages": [{"role":"user","content":"b"}]}']


def test_raw_json_is_checked_while_it_is_typed(page: Page) -> None:
    import_rows(page, ['{"prompt": "x", "id": 1.0}'])
    open_row(page, 1)
    page.get_by_role("tab", name="Raw JSON").click()
    raw = page.get_by_label("The line as the job reads it")
    expect(raw).to_have_value('{"prompt": "x", "id": 1.0}')
    raw.fill('{"prompt": "x" "id": 1.0}')
    expect(page.locator("#raw-state")).to_have_text("a comma or a closing bracket is missing, at character 16")
    raw.fill('{\n  "prompt": "x",\n  "temperature": -1.50\n}')
    expect(page.locator("#card > .fault")).to_contain_text("must be a number 0 or more, got -1.50")
    assert raws(page) == ['{"prompt": "x", "temperature": -1.50}']


def test_fields_of_the_users_own_are_edited_renamed_added_and_deleted(page: Page) -> None:
    import_rows(page, ['{"topic": "a", "prompt": "x", "score": 1.0, "gone": null}'])
    open_row(page, 1)
    page.get_by_label("Value of topic").fill("b")
    page.get_by_label("Value of score, as JSON").fill("2.50")
    page.get_by_label("Name of the field topic").fill("subject")
    page.get_by_label("Name of the field topic").blur()
    page.get_by_role("button", name="Delete the field gone").click()
    page.get_by_label("Name of a new field").fill("lang")
    page.get_by_role("button", name="Add the field").click()
    page.get_by_label("Value of lang").fill("fr")
    assert raws(page) == ['{"subject": "b", "prompt": "x", "score": 2.50, "lang": "fr"}']


# 2. Import


@pytest.mark.parametrize("how", ["picker", "paste", "drop", "gzip"])
def test_rows_come_in_by_picker_paste_and_drop(page: Page, how: str) -> None:
    text = "".join(f"{row}\n" for row in DIALECTS)
    if how in ("picker", "gzip"):
        packed = how == "gzip"
        import_bytes(
            page, gzip.compress(text.encode()) if packed else text.encode(), "a.jsonl.gz" if packed else "a.jsonl"
        )
    else:
        page.evaluate(
            """([how, text]) => {
                const data = new DataTransfer();
                if (how === "drop") data.items.add(new File([text], "rows.jsonl"));
                else data.setData("text/plain", text);
                const options = { bubbles: true, cancelable: true, dataTransfer: data, clipboardData: data };
                document.body.dispatchEvent(how === "drop" ? new DragEvent("drop", options) : new ClipboardEvent("paste", options));
            }""",
            [how, text],
        )
    page.get_by_role("button", name="Add 5 rows").click()
    assert raws(page) == DIALECTS
    kinds = page.locator("#grid-body .row .c2 .pill").all_inner_texts()
    assert kinds == ["OpenAI Batch", "Anthropic batch", "RunPod", "Bedrock"]
    expect(page.locator("#bad-count")).to_be_hidden()


IMPORTS = {
    "a JSON array, numbers as they are": ("a.json", '[\n  {"prompt": "a",\n   "id": 1.0},\n  {"prompt": "b"}]', ['{"prompt": "a", "id": 1.0}', '{"prompt": "b"}']),
    "one JSON object over several lines": ("a.json", '{\n "prompt": "a"\n}', ['{"prompt": "a"}']),
    "CSV with quoted line breaks": ("a.csv", 'text,label\r\n"a, ""b""\r\nc",x\r\nd,y\r\n', ['{"text": "a, \\"b\\"\\r\\nc", "label": "x"}', '{"text": "d", "label": "y"}']),
    "CSV with semicolons": ("a.csv", "text;label\na,b;x\n", ['{"text": "a,b", "label": "x"}']),
    "TSV": ("a.tsv", "text\tlabel\na,b\t\n", ['{"text": "a,b", "label": ""}']),
    "plain lines": ("a.txt", "one\n\ntwo, and \"more\"\n", ['{"prompt": "one"}', '{"prompt": "two, and \\"more\\""}']),
    "JSONL with a byte-order mark, CRLF and blank lines": ("a.jsonl", '\ufeff{"prompt": "a"}\r\n\r\n \n{"prompt":"b"}', ['{"prompt": "a"}', '{"prompt":"b"}']),
    "JSONL without a telling name": ("download", '{"prompt": "a"}\n{"prompt": "b"}\n', ['{"prompt": "a"}', '{"prompt": "b"}']),
    "a line separator inside a string": ("a.jsonl", '{"prompt": "a\u2028b"}\n', ['{"prompt": "a\u2028b"}']),
}  # fmt: skip


@pytest.mark.parametrize("what", IMPORTS)
def test_each_format_becomes_rows(page: Page, what: str) -> None:
    name, text, wanted = IMPORTS[what]
    import_bytes(page, text.encode(), name)
    page.click("#import-add")
    assert raws(page) == wanted


def test_utf16_from_a_spreadsheet_is_read(page: Page) -> None:
    import_bytes(page, "text\tlabel\nçà\tx\n".encode("utf-16"), "a.txt")
    expect(page.locator("#import-format")).to_have_value("tsv")
    page.click("#import-add")
    assert rows(page) == [{"text": "çà", "label": "x"}]


def test_columns_of_a_table_are_chosen_and_named(page: Page) -> None:
    import_bytes(page, b"Question,Answer,Id\nWhy?,Because,7\n", "a.csv")
    page.get_by_label("Take the column Answer").uncheck()
    page.get_by_label("Field name of the column Question").fill("prompt")
    page.click("#import-add")
    assert raws(page) == ['{"prompt": "Why?", "Id": "7"}']


def test_a_table_without_a_header_gets_numbered_columns(page: Page) -> None:
    import_bytes(page, b"a,b\nc,d\n", "a.csv")
    page.get_by_label("First line names the columns").uncheck()
    page.click("#import-add")
    assert rows(page) == [{"column_1": "a", "column_2": "b"}, {"column_1": "c", "column_2": "d"}]


def test_malformed_lines_are_listed_by_their_number_and_kept_for_mending(page: Page) -> None:
    lines = ['{"prompt": "a"}', "", '{"prompt": "b"', "5", '{"prompt": "c", "top_p": 7}']
    import_bytes(page, "\n".join(lines).encode())
    listed = page.locator("#import-problems li").all_inner_texts()
    assert [text.split()[1] for text in listed] == ["3", "4", "5"]
    expect(page.locator("#import-summary")).to_have_text(
        "4 rows · 1 blank line left out · 3 lines to mend after the import"
    )
    page.click("#import-add")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("heading", name="Line 2")).to_be_visible()
    page.get_by_label("The line as the job reads it").fill('{"prompt": "b"}')
    expect(page.locator("#bad-count")).to_have_text("2 problems")
    assert raws(page) == ['{"prompt": "a"}', '{"prompt": "b"}', "5", lines[4]]


def test_csv_records_of_another_width_are_listed_and_nothing_of_them_is_lost(page: Page) -> None:
    import_bytes(page, b'text,label\n"a\nb",x\nc\nd,y,extra\n', "a.csv")
    listed = page.locator("#import-problems li").all_inner_texts()
    assert listed == ["Line 4 1 field where 2 are expected", "Line 5 3 fields where 2 are expected"]
    page.click("#import-add")
    assert rows(page)[1:] == [{"text": "c"}, {"text": "d", "label": "y", "column_3": "extra"}]


def test_a_broken_array_gives_its_good_rows_and_keeps_the_rest(page: Page) -> None:
    import_bytes(page, b'[\n{"prompt": "a"},\n{"prompt": "b" "x": 1},\n{"prompt": "c"', "a.json")
    assert [text.split()[1] for text in page.locator("#import-problems li").all_inner_texts()] == ["3", "4"]
    page.click("#import-add")
    assert raws(page) == ['{"prompt": "a"}', '{"prompt": "b" "x": 1}', '{"prompt": "c"']


def test_bytes_that_are_not_utf8_leave_the_page_as_they_came(page: Page) -> None:
    data = b'{"prompt": "fine"}\n{"prompt": "caf\xe9"}\n'
    import_bytes(page, data)
    page.click("#import-add")
    assert exported(page) == data


# 3. Template


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


# 4. Export, the command, and work that is kept


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


def test_work_is_kept_between_visits_until_it_is_cleared(context: BrowserContext, page: Page, watch: Watch) -> None:
    import_bytes(page, b'{"prompt": "x", "id": 1.0}\n' + b'{"prompt": "\xe9"}\n')
    page.click("#import-add")
    page.get_by_role("tab", name="Template").click()
    page.get_by_label("Prompt template").fill("{{prompt}}!")
    saved(page)
    page.close()
    again = context.new_page()
    watch.follow(again)
    open_builder(again)
    assert exported(again) == b'{"prompt": "x", "id": 1.0}\n{"prompt": "\xe9"}\n'
    again.get_by_role("tab", name="Template").click()
    expect(again.get_by_label("Prompt template")).to_have_value("{{prompt}}!")
    again.get_by_role("tab", name="Check and submit").click()
    again.get_by_role("button", name="Clear everything").click()
    again.get_by_role("button", name="Clear", exact=True).click()
    saved(again)
    again.reload()
    again.wait_for_selector("html[data-ready]")
    expect(again.locator("#empty")).to_be_visible()


def test_the_last_keystroke_before_the_page_closes_is_kept(page: Page) -> None:
    import_rows(page, [{"prompt": "x"}])
    saved(page)
    open_row(page, 1)
    for n in range(5):
        page.get_by_label("Prompt", exact=True).fill(f"typed {n}")
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert rows(page) == [{"prompt": f"typed {n}"}]
        open_row(page, 1)


def test_a_second_tab_says_that_it_does_not_keep_the_work_and_can_take_over(
    context: BrowserContext, page: Page, watch: Watch
) -> None:
    import_rows(page, [{"prompt": "x"}])
    saved(page)
    other = context.new_page()
    watch.follow(other)
    open_builder(other)
    expect(other.locator("#elsewhere")).to_be_visible()
    other.get_by_role("button", name="Work here instead").click()
    expect(other.locator("#elsewhere")).to_be_hidden()
    expect(page.locator("#elsewhere")).to_be_visible()
    open_row(other, 1)
    other.get_by_label("Prompt", exact=True).fill("y")
    saved(other)
    other.reload()
    other.wait_for_selector("html[data-ready]")
    assert rows(other) == [{"prompt": "y"}]


# 5. Checks, and size


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
    import_rows(page, [{"query": "x", "documents": ["a", "b"]}])
    expect(page.locator("#bad-count")).to_have_text("1 problem")
    page.get_by_role("tab", name="Check and submit").click()
    page.get_by_label("Endpoint for prompt rows").select_option("rerank")
    expect(page.locator("#bad-count")).to_be_hidden()
    expect(page.locator("#command")).to_contain_text("-p Endpoint=rerank")


def test_ten_thousand_rows_are_edited_found_and_kept(page: Page) -> None:
    import_rows(page, [{"id": n, "prompt": f"What is {n} squared?", "max_tokens": 16} for n in range(1, 10_001)])
    assert page.locator("#grid-body .row").count() < 60
    page.locator("#grid").focus()
    page.keyboard.press("End")
    expect(page.locator("#grid-body .row[aria-rowindex='10001']")).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.type("Now the last.")
    page.locator("#find").fill("9999 squared")
    expect(page.locator("#grid-body .row")).to_have_count(1)
    saved(page)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    kept = rows(page)
    assert len(kept) == 10_000
    assert "Now the last." in kept[-1].values()
