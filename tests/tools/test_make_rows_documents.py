"""Documents, conversations of every make, and records without a prompt become rows, or are left out and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import make_rows
from checking import inspection
from support.conversions import converted


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {"b.md": "# Sea\n\nDeep.\n", "a.txt": "\ufeffOne\r\ntwo\r\n", "sub/c.txt": "Three", ".git/x.txt": "no"}
    files |= {"picture.png": "no"}
    for name, text in files.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(text.encode())
    return tmp_path / "in"


def made(target: Path, *arguments: str) -> list[dict[str, Any]]:
    assert make_rows.main([*arguments, "-o", str(target)]) == 0
    return [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]


def test_each_document_of_a_folder_is_a_row(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert made(tmp_path / "rows.jsonl", str(folder)) == [
        {"file": "a.txt", "text": "One\ntwo"},
        {"file": "b.md", "text": "# Sea\n\nDeep."},
        {"file": "sub/c.txt", "text": "Three"},
    ]
    assert "1 file that is no text document is left out" in capsys.readouterr().err
    assert inspection.check({"InputFile": str(tmp_path / "rows.jsonl"), "Prompts": "all"}).census.sound == 3


def test_documents_that_are_named_are_rows_and_a_template_asks_of_their_text(folder: Path, tmp_path: Path) -> None:
    names = [str(folder / name) for name in ("b.md", "a.txt")]
    rows = made(tmp_path / "rows.jsonl", *names, "--template", "Summarise {{file}}: {{text}}")
    assert [row["prompt"] for row in rows] == ["Summarise b.md: # Sea\n\nDeep.", "Summarise a.txt: One\ntwo"]


def test_documents_in_windows_1252_are_read_and_that_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes("Café\r\nzu".encode("cp1252"))
    rows = made(tmp_path / "rows.jsonl", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    assert [row["text"] for row in rows] == ["Café\nzu"] * 2
    assert capsys.readouterr().err.count("Windows-1252") == 1


def test_one_text_is_a_document_or_a_row_a_line(folder: Path, tmp_path: Path) -> None:
    assert len(made(tmp_path / "one.jsonl", str(folder / "a.txt"))) == 1
    lines = made(tmp_path / "lines.jsonl", str(folder / "a.txt"), "--format", "lines")
    assert lines == [{"prompt": "One"}, {"prompt": "two"}]


def test_several_tables_are_read_one_after_the_other(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(f"prompt\n{name}\n", encoding="utf-8")
    rows = made(tmp_path / "rows.jsonl", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    assert [row["prompt"] for row in rows] == ["a.csv", "b.csv"]


@pytest.mark.parametrize(
    ("name", "content", "arguments"),
    [
        ("a.csv", "id,prompt\n1,x\n2,\n3,  \n4,y\n", ()),
        ("a.csv", "id,words\n1,x\n2,\n3, \n4,y\n", ("--prompt-column", "words")),
        ("a.csv", "id,words\n1,x\n2,\n3, \n4,y\n", ("--template", "Say {{words}}")),
        ("a.jsonl", '{"text": "x"}\n\n{"text": ""}\n{"text": null}\n{"text": "y"}\n', ()),
        ("a.json", '[{"question": "x"}, {"question": " "}, {"question": ""}, {"question": "y"}]', ()),
    ],
)
def test_records_without_a_prompt_end_the_conversion_or_are_left_out_and_counted(
    name: str, content: str, arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert make_rows.main([str(tmp_path / name), "-o", str(tmp_path / "rows.jsonl"), *arguments]) == 1
    place = {"a.csv": "a.csv:3", "a.jsonl": "a.jsonl:3", "a.json": "a.json: record 2"}[name]
    said = capsys.readouterr().err
    assert f"{place}: " in said
    assert "--skip-empty" in said
    assert len(converted(tmp_path, name, content, "--skip-empty", *arguments)) == 2
    assert "2 records without a prompt are left out" in capsys.readouterr().err


ASKED = [{"role": "user", "content": "Q"}]


@pytest.mark.parametrize(
    "record",
    [
        {"conversations": [{"from": "human", "value": "Q"}, {"from": "gpt", "value": "A"}]},
        {"conversation": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]},
        {"conversation": [["Q", "A"]]},
        {"conversations": "[{'from': 'human', 'value': 'Q'}, {'from': 'gpt', 'value': 'A'}]"},
        {"dialog": [{"speaker": "User", "text": "Q"}, {"speaker": "Bot", "text": "A"}]},
        {"turns": ["Q", "A"]},
        {"conversation": [{"human": "Q", "assistant": "A"}]},
        {"messages": [{"from": "human", "value": "Q"}, {"from": "gpt", "value": "A"}]},
        {"prompt": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]},
        {"contents": [{"role": "user", "parts": [{"text": "Q"}]}, {"role": "model", "parts": [{"text": "A"}]}]},
    ],
    ids=lambda record: next(iter(record)),
)
def test_a_conversation_of_any_make_becomes_messages_and_its_answer_is_kept_aside(
    record: dict[str, Any], tmp_path: Path
) -> None:
    assert converted(tmp_path, "a.jsonl", json.dumps({"id": 1, **record})) == [
        {"id": 1, "messages": ASKED, "reference": "A"}
    ]


def test_messages_that_are_whole_stay_as_they_are(tmp_path: Path) -> None:
    whole = {"messages": [*ASKED, {"role": "assistant", "content": "A"}], "turns": 3}
    assert converted(tmp_path, "a.jsonl", json.dumps(whole)) == [whole]
