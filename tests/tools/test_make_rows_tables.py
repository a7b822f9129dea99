"""Tables as spreadsheets, clusters, data frames and warehouses leave them become the rows that they hold."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import make_rows

THREE = [{"id": "007", "prompt": "One."}, {"id": "008", "prompt": "Two, or so."}, {"id": "009", "prompt": "Three."}]


def rows_of(folder: Path, name: str, content: str, *options: str) -> list[dict[str, Any]]:
    source, target = folder / name, folder / "rows.jsonl"
    source.write_bytes(content.encode())
    assert make_rows.main([str(source), "-o", str(target), *options]) == 0
    return [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    "content",
    [
        'id,prompt\r\n007,One.\r\n008,"Two, or so."\r\n009,Three.\r\n',
        'id,prompt\r007,One.\r008,"Two, or so."\r009,Three.\r',
        "sep=;\r\nid;prompt\r\n007;One.\r\n008;Two, or so.\r\n009;Three.\r\n",
        '"sep=;"\nid;prompt\n007;One.\n008;Two, or so.\n009;Three.\n',
        '\ufeffid,prompt,,\n007,One.,,\n,,,\n008,"Two, or so.",,\n009,Three.,,\n,,,\n,,,\n',
        'id ," prompt "\n007,One.,,,\n008,"Two, or so.",\n009,Three.\n',
        "id\tprompt\n007\tOne.\n008\tTwo, or so.\n\t\n009\tThree.\n",
    ],
    ids=[
        "plain",
        "carriage returns",
        "sep",
        "sep in quotes",
        "blank rows and columns",
        "separators at the end",
        "tabs",
    ],
)
def test_a_sheet_gives_its_three_rows(content: str, tmp_path: Path) -> None:
    assert rows_of(tmp_path, "a.csv", content) == THREE


def test_cells_that_are_missing_at_a_row_s_end_are_empty(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "a.csv", "prompt,note,label\nx\ny,n\nz,n,l\n") == [
        {"note": "", "label": "", "prompt": "x"},
        {"note": "n", "label": "", "prompt": "y"},
        {"note": "n", "label": "l", "prompt": "z"},
    ]


def test_spark_s_quotes_and_a_path_s_backslashes_are_told_apart(tmp_path: Path) -> None:
    spark = 'prompt,note\n"She said \\"land\\", and left.",a\n"C:\\\\logs",b\n"Two ""doubled"" ones",c\n'
    assert [row["prompt"] for row in rows_of(tmp_path, "a.csv", spark)] == [
        'She said "land", and left.',
        "C:\\logs",
        'Two "doubled" ones',
    ]
    paths = 'prompt,note\n"C:\\logs\\",a\n"D:\\",b\n'
    assert [row["prompt"] for row in rows_of(tmp_path, "b.csv", paths)] == ["C:\\logs\\", "D:\\"]


def test_options_are_read_as_a_spreadsheet_writes_them(tmp_path: Path) -> None:
    content = "prompt;temperature;ignore_eos;price\nx;0,7;TRUE;1,50\ny;-1;FALSE;2\n"
    first, second = rows_of(tmp_path, "a.csv", content)
    assert (first["temperature"], first["ignore_eos"], first["price"]) == (0.7, True, "1,50")
    assert second["ignore_eos"] is False


def test_a_heading_over_two_lines_is_found_as_it_is_shown(tmp_path: Path) -> None:
    content = 'id,"prompt\nto ask"\n1,x\n'
    for name in ("prompt to ask", "prompt\nto ask"):
        assert rows_of(tmp_path, "a.csv", content, "--prompt-column", name)[0]["prompt"] == "x"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("id,prompt\n1,a\n2,b, or c\n3,d\n", "a.csv:3: 3 cells, but 2 columns"),
        ('id,prompt\n1,"open\n2,b\n3,c\n', "a.csv:2: unexpected end of data: a quotation mark is opened here"),
        ("sep=;\nid;prompt\n1;a;b\n", "a.csv:3: 3 cells"),
        ('id,prompt\n1,"a" b\n', "double a quotation mark"),
    ],
)
def test_a_line_that_does_not_fit_is_named(
    content: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    assert make_rows.main([str(tmp_path / "a.csv"), "-o", str(tmp_path / "rows.jsonl")]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "value",
    [
        {name: {str(n): row[name] for n, row in enumerate(THREE)} for name in ("id", "prompt")},
        {str(n): row for n, row in enumerate(THREE)},
        {"columns": ["id", "prompt"], "index": [0, 1, 2], "data": [list(row.values()) for row in THREE]},
        {"schema": {"fields": []}, "data": THREE},
        {"features": [{"name": "id"}], "rows": [{"row_idx": n, "row": row} for n, row in enumerate(THREE)]},
        {"prompts": THREE},
        {"count": 3, "results": THREE},
        {name: [row[name] for row in THREE] for name in ("id", "prompt")},
        {"data": {"rows": THREE}},
        [["id", "prompt"], *(list(row.values()) for row in THREE)],
        THREE,
    ],
    ids=[
        "columns",
        "index",
        "split",
        "table",
        "viewer",
        "wrapped",
        "counted",
        "lists of cells",
        "two levels down",
        "lists",
        "records",
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_data_frame_as_json_gives_its_three_rows(value: Any, indent: int | None, tmp_path: Path) -> None:
    assert rows_of(tmp_path, "a.json", json.dumps(value, indent=indent)) == THREE


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [{"role": "user", "content": "x"}]},
        {"prompt": "x", "choices": [{"a": 1}]},
        {"query": "x", "documents": ["a", "b"]},
        {"queries": ["x", "y"], "documents": ["a", "b"]},
        {"text_1": ["x"], "text_2": ["y"]},
        {"custom_id": "1", "method": "POST", "url": "/v1/embeddings", "body": {"input": "x"}},
    ],
)
def test_an_object_that_is_a_row_is_no_table(row: dict[str, Any], tmp_path: Path) -> None:
    assert rows_of(tmp_path, "a.jsonl", json.dumps(row)) == [row]


def test_pretty_printed_objects_are_a_row_each(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "a.jsonl", "\n".join(json.dumps(row, indent=2) for row in THREE)) == THREE


def test_text_that_parquet_keeps_as_bytes_is_text_and_pictures_are_not(tmp_path: Path) -> None:
    pictures = pa.array([b"\x89PNG\r\n", None], pa.binary())
    table = pa.table({"prompt": pa.array(["Österreich".encode(), b"x\ny"], pa.binary()), "image": pictures})
    pq.write_table(table, tmp_path / "a.parquet")
    target = tmp_path / "rows.jsonl"
    assert make_rows.main([str(tmp_path / "a.parquet"), "-o", str(target)]) == 0
    found = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert found == [{"image": "iVBORw0K", "prompt": "Österreich"}, {"image": None, "prompt": "x\ny"}]


def test_what_python_has_no_type_for_is_text(tmp_path: Path) -> None:
    stamps = pa.array([1_600_000_000_123_456_789, None], pa.timestamp("ns"))
    far = pa.array([253_402_300_800_000_000, -100_000_000_000_000_000], pa.timestamp("us"))  # the year 10000, and BC
    table = pa.table({
        "prompt": ["x", "y"],
        "at": stamps,
        "zoned": stamps.cast(pa.timestamp("ns", "UTC")),
        "far": far,
        "day": pa.array([10_000_000, 0], pa.date32()),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
        "nested": pa.array([{"at": 1}, None], pa.struct([("at", pa.timestamp("ns"))])),
        "kind": pa.array([b"a", b"b"], pa.binary()).dictionary_encode(),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    assert make_rows.main([str(tmp_path / "a.parquet"), "-o", str(tmp_path / "rows.jsonl")]) == 0
    first, second = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert first["at"] == "2020-09-13T12:26:40.123456789"
    assert first["zoned"].startswith("2020-09-13T12:26:40.123456789")
    assert first["far"].startswith("10000-01-01")
    assert (first["price"], second["price"], second["at"], second["nested"]) == ("1.50", None, None, None)
    assert first["day"].startswith("29349")
    assert first["nested"] == {"at": "1970-01-01 00:00:00.000000001"}
    assert (first["kind"], second["kind"]) == ("a", "b")


def test_a_name_that_stands_twice_in_parquet_is_numbered_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.Table.from_arrays([pa.array(["x"]), pa.array([1]), pa.array([2])], names=["prompt", "id", "id"])
    pq.write_table(table, tmp_path / "a.parquet")
    assert make_rows.main([str(tmp_path / "a.parquet"), "-o", str(tmp_path / "rows.jsonl")]) == 0
    assert json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8")) == {"id": 1, "id_2": 2, "prompt": "x"}
    assert "the column 'id' appears again; it is 'id_2' in the rows" in capsys.readouterr().err
