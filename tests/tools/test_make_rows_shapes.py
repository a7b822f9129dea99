"""Rows in other shapes than their own: structures kept as text, prompts without names, and files that hold no rows."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import make_rows
from support.conversions import converted

CHAT = [{"role": "user", "content": 'Say "hi", it\'s late'}]


@pytest.mark.parametrize(
    ("name", "value"),
    [("messages", CHAT), ("sampling_params", {"temperature": 0, "stop": None}), ("modelInput", {"prompt": "x"})],
)
@pytest.mark.parametrize("write", [json.dumps, str], ids=["as JSON", "as Python writes it"])
def test_a_structure_that_a_table_keeps_as_text_is_one_again(name: str, value: Any, write: Any, tmp_path: Path) -> None:
    out = io.StringIO()
    csv.writer(out).writerows(
        [["id", "prompt" if name == "sampling_params" else "note", name], ["1", "x", write(value)]]
    )
    [row] = converted(tmp_path, "a.csv", out.getvalue())
    assert row[name] == value


def test_a_line_of_a_batch_in_a_table_has_its_body_again_and_a_letter_s_body_is_a_text(tmp_path: Path) -> None:
    cell = '"{""messages"": [{""role"": ""user"", ""content"": ""x""}]}"'
    [line] = converted(tmp_path, "a.csv", f"custom_id,method,url,body\n1,POST,/v1/chat/completions,{cell}\n")
    assert line["body"]["messages"][0]["content"] == "x"
    [letter] = converted(tmp_path, "b.csv", f"prompt,body\nx,{cell}\n")
    assert isinstance(letter["body"], str)


def test_one_column_without_a_separator_keeps_the_commas_of_its_texts(tmp_path: Path) -> None:
    rows = converted(tmp_path, "a.csv", 'prompt\nHello, you\n"Well, so"\nBye; all\n')
    assert [row["prompt"] for row in rows] == ["Hello, you", "Well, so", "Bye; all"]


@pytest.mark.parametrize("name", ["Prompt", "PROMPT", "Text", "Question", "Query"])
def test_a_heading_in_capitals_is_the_prompt_too(name: str, tmp_path: Path) -> None:
    assert converted(tmp_path, "a.csv", f"Id,{name}\n1,x\n") == [{"Id": "1", name: "x", "prompt": "x"}]


@pytest.mark.parametrize(
    ("cell", "value"),
    [("WAHR", True), ("no", False), ("FAUX", False), ("NaN", None), ("None", None), ("n/a", None), ("true", True)],
)
def test_an_option_s_cell_is_read_in_other_tongues_and_as_data_frames_write_nothing(
    cell: str, value: bool | None, tmp_path: Path
) -> None:
    [row] = converted(tmp_path, "a.csv", f"prompt,ignore_eos,note\nx,{cell},{cell}\n")
    assert (row.get("ignore_eos"), row["note"]) == (value, cell)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '["a, b", "c"]'),
        ("a.jsonl", '"a, b"\n"c"\n'),
        ("a.jsonl", '{"prompt": "a, b"},\n{"prompt": "c"},\n'),
        ("a.jsonl", '{"prompt": "a, b"},\r\n{"prompt": "c"}'),
        ("a.jsonl", '\x1e{"prompt": "a, b"}\n\x1e{"prompt": "c"}\n'),
        ("a.jsonl", '{"prompt": "a, b"}{"prompt": "c"}'),
    ],
    ids=["texts", "a text a line", "an array without brackets", "so by Windows", "a sequence", "glued together"],
)
def test_prompts_written_in_another_shape_of_json_are_rows(name: str, content: str, tmp_path: Path) -> None:
    assert converted(tmp_path, name, content) == [{"prompt": "a, b"}, {"prompt": "c"}]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"PK\x03\x04\0\0", "a workbook or another packed file; save the sheet as CSV"),
        ("a.csv", b"\xd0\xcf\x11\xe0\xa1", "an old workbook"),
        ("a.xlsx", b"PK\x03\x04", "a workbook; save the sheet as CSV"),
        ("a.jsonl", b"PAR1\0\0", "Parquet; say --format parquet"),
        ("a.json", b"%PDF-1.7", "a PDF"),
        ("a.csv", b"\n<!DOCTYPE html><title>Sign in</title>", "a web page"),
    ],
)
def test_a_file_that_is_something_else_is_named(
    name: str, content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert make_rows.main([str(tmp_path / name), "-o", str(tmp_path / "rows.jsonl")]) == 1
    assert words in capsys.readouterr().err


def test_prompts_under_names_keep_them_as_ids(tmp_path: Path) -> None:
    value = {"q1": {"prompt": "x"}, "q2": {"prompt": "y", "id": "own"}}
    assert converted(tmp_path, "a.json", json.dumps(value)) == [
        {"id": "q1", "prompt": "x"},
        {"id": "own", "prompt": "y"},
    ]


def test_a_history_of_questions_and_answers_stands_before_what_is_asked(tmp_path: Path) -> None:
    record = {"instruction": "And now?", "input": "", "history": [["Hi", "Hello"]], "output": "So."}
    [row] = converted(tmp_path, "a.jsonl", json.dumps(record))
    assert [(each["role"], each["content"]) for each in row["messages"]] == [
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "And now?"),
    ]
