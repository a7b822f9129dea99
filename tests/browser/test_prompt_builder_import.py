"""The prompt builder in Chromium: rows come in from every format, whole."""

from __future__ import annotations

import gzip
import json

import pytest
from playwright.sync_api import Page, expect

from support.pages.builder_moves import DIALECTS, exported, import_bytes, raws, rows

pytestmark = pytest.mark.browser


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
                const Kind = how === "drop" ? DragEvent : ClipboardEvent;
                document.body.dispatchEvent(new Kind(how, options));
            }""",
            [how, text],
        )
    page.get_by_role("button", name="Add 5 rows").click()
    assert raws(page) == DIALECTS
    kinds = page.locator("#grid-body .row .c2 .pill").all_inner_texts()
    assert kinds == ["OpenAI Batch", "Anthropic batch", "RunPod", "Bedrock"]
    expect(page.locator("#bad-count")).to_be_hidden()


IMPORTS = {
    "a JSON array, numbers as they are": (
        "a.json",
        '[\n  {"prompt": "a",\n   "id": 1.0},\n  {"prompt": "b"}]',
        ['{"prompt": "a", "id": 1.0}', '{"prompt": "b"}'],
    ),
    "one JSON object over several lines": (
        "a.json",
        '{\n "prompt": "a"\n}',
        ['{"prompt": "a"}'],
    ),
    "CSV with quoted line breaks": (
        "a.csv",
        'text,label\r\n"a, ""b""\r\nc",x\r\nd,y\r\n',
        ['{"text": "a, \\"b\\"\\r\\nc", "label": "x"}', '{"text": "d", "label": "y"}'],
    ),
    "CSV with semicolons": (
        "a.csv",
        "text;label\na,b;x\n",
        ['{"text": "a,b", "label": "x"}'],
    ),
    "CSV that names its separator, as Excel writes it": (
        "a.csv",
        'sep=;\r\nid;prompt\r\n007;"a; b"\r\n008;c, d\r\n',
        ['{"id": "007", "prompt": "a; b"}', '{"id": "008", "prompt": "c, d"}'],
    ),
    "CSV with bars": (
        "a.csv",
        "id|prompt\n1|a, b\n",
        ['{"id": "1", "prompt": "a, b"}'],
    ),
    "CSV with rows and columns of separators": (
        "a.csv",
        "id,prompt,,\n1,a,,\n,,,\n2,b,,\n,,,\n",
        ['{"id": "1", "prompt": "a"}', '{"id": "2", "prompt": "b"}'],
    ),
    "CSV with options as spreadsheets write them": (
        "a.csv",
        "prompt;temperature;ignore_eos\na;0,7;TRUE\n",
        ['{"prompt": "a", "temperature": 0.7, "ignore_eos": true}'],
    ),
    "a document": (
        "a.md",
        "# One\r\n\r\ntwo\n",
        ['{"file":"a.md","text":"# One\\n\\ntwo"}'],
    ),
    "TSV": (
        "a.tsv",
        "text\tlabel\na,b\t\n",
        ['{"text": "a,b", "label": ""}'],
    ),
    "plain lines": (
        "a.txt",
        'one\n\ntwo, and "more"\n',
        ['{"prompt": "one"}', '{"prompt": "two, and \\"more\\""}'],
    ),
    "JSONL with a byte-order mark, CRLF and blank lines": (
        "a.jsonl",
        '\ufeff{"prompt": "a"}\r\n\r\n \n{"prompt":"b"}',
        ['{"prompt": "a"}', '{"prompt":"b"}'],
    ),
    "JSONL without a telling name": (
        "download",
        '{"prompt": "a"}\n{"prompt": "b"}\n',
        ['{"prompt": "a"}', '{"prompt": "b"}'],
    ),
    "a line separator inside a string": (
        "a.jsonl",
        '{"prompt": "a\u2028b"}\n',
        ['{"prompt": "a\u2028b"}'],
    ),
}


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


def test_a_table_that_is_not_utf8_is_read_as_spreadsheets_write_it(page: Page) -> None:
    import_bytes(page, "text\ncafé\n".encode("cp1252"), "a.csv")
    expect(page.locator("#import-file")).to_contain_text("Not UTF-8: read as Windows-1252.")
    page.click("#import-add")
    assert rows(page) == [{"text": "café"}]


def test_the_prompts_column_of_a_table_is_chosen_or_left_to_a_template(page: Page) -> None:
    import_bytes(page, b"id,Review\n1,Good\n2,Bad\n", "a.csv")
    expect(page.locator("#import-summary")).to_contain_text("2 rows · no prompt yet")
    expect(page.locator("#import-problems")).to_be_hidden()
    page.get_by_label("The prompt is in").select_option("Review")
    expect(page.locator("#import-summary")).to_have_text("2 rows")
    page.click("#import-add")
    assert raws(page) == ['{"id": "1", "prompt": "Good"}', '{"id": "2", "prompt": "Bad"}']
    import_bytes(page, b"id,Review\n1,Good\n", "a.csv")
    page.click("#import-replace")
    page.get_by_role("button", name="Template", exact=True).click()
    expect(page.get_by_label("Prompt template")).to_be_visible()


def test_a_cell_under_an_options_name_is_what_the_option_takes(page: Page) -> None:
    cells = 'prompt,temperature,stop,seed,note\na,0.5,12,7,7\nb,,"[""x"", ""y""]",high,\n'
    import_bytes(page, cells.encode(), "a.csv")
    page.click("#import-add")
    assert [json.loads(raw) for raw in raws(page)] == [
        {"prompt": "a", "temperature": 0.5, "stop": "12", "seed": 7, "note": "7"},
        {"prompt": "b", "stop": ["x", "y"], "seed": "high", "note": ""},
    ]


def test_each_of_several_documents_is_a_row(page: Page) -> None:
    files = {"a.txt": "one\n\ntwo\n", "b.md": "three\nfour", "empty.txt": " \n"}
    page.set_input_files(
        "#file", [{"name": name, "mimeType": "text/plain", "buffer": text.encode()} for name, text in files.items()]
    )
    page.wait_for_selector("#import-dialog[open]")
    expect(page.locator("#import-summary")).to_contain_text("2 rows")
    page.click("#import-add")
    assert [json.loads(raw) for raw in raws(page)] == [
        {"file": "a.txt", "text": "one\n\ntwo"},
        {"file": "b.md", "text": "three\nfour"},
    ]
