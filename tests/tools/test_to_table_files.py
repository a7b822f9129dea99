"""tools/to_table.py: what each form of a table holds, and that spreadsheets and programs read it as it was meant."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import make_rows
import to_table
from support.tables import result, table, tabled, write_results

LONG = "x" * 40_000
FORMULAS = ['=HYPERLINK("http://x")', "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "＝1+1", "%x", "|x", ' "=1']
NUMBERS = ["-5", "+5", "-1,234.5", "-1e3", '"-5"', "-50 %"]


def cells(file: Path) -> list[list[Any]]:
    """Return a sheet's rows of values."""
    book = openpyxl.load_workbook(file, read_only=True)
    rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    book.close()
    return rows


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_of_a_csv_is_a_live_formula(tmp_path: Path, text: str) -> None:
    heading, row = table(tmp_path, [result({"own": text, text: 1}, {"a": text})])
    assert (heading[1], row) == (f"'{text}", [f"'{text}", "1", f"'{text}"])


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_that_is_a_text_gets_no_apostrophe(tmp_path: Path, text: str) -> None:
    assert table(tmp_path, [result({"own": text}, "a")])[1][0] == text


@pytest.mark.parametrize("text", [*FORMULAS, "#N/A", "=", "#DIV/0!"])
def test_no_text_of_a_sheet_is_a_formula_or_an_error(tmp_path: Path, text: str) -> None:
    book = openpyxl.load_workbook(tabled(tmp_path, [result({"own": text, text: 1}, "a")], "t.xlsx"))
    for cell in (book.worksheets[0]["A2"], book.worksheets[0]["B1"]):
        assert (cell.value, cell.data_type) == (text, "s")


def test_a_sheet_keeps_types_and_numbers_that_it_can_hold(tmp_path: Path) -> None:
    own = '"a": 5, "b": 0.8734567761421204, "c": true, "d": null, "e": "007", "f": [1], '
    own += '"g": 12345678901234567890, "h": 1e400'
    ends = '"generated_text": "x", "finish_reason": "stop", "prompt_tokens": 1, "completion_tokens": 1'
    assert cells(tabled(tmp_path, [f"{{{own}, {ends}}}"], "t.xlsx"))[1] == [
        *(5, 0.8734567761421204, True, None, "007", "[1]", "12345678901234567890", "1e400", "x"),
    ]


def test_controls_halves_and_long_texts_survive_a_spreadsheet(tmp_path: Path) -> None:
    own = {
        "nul": "a\0b",
        "bel": "\x07",
        "esc": "\x1b[0m",
        "lines": "a\n\tb",
        "half": "\ud83d",
        "long": LONG,
        "faces": "😀" * 20_000,
    }
    lines = [json.dumps(result(own, "x"))]
    for heading, row in (table(tmp_path, lines), cells(tabled(tmp_path, lines, "t.xlsx"))):
        found = dict(zip(heading, row, strict=True))
        assert [found[name] for name in ("nul", "bel", "esc", "lines", "half")] == [
            "a␀b",
            "␇",
            "␛[0m",
            "a\n\tb",
            "\ufffd",
        ]
        for name in ("long", "faces"):
            assert found[name].endswith(f"... (cut; {len(own[name]):,} characters)")
            assert len(found[name].encode("utf-16-le")) // 2 <= 32_767


def test_lines_of_a_jsonl_table_are_lines_to_every_reader(tmp_path: Path) -> None:
    own = {"a": "x\u2028y\u2029z\x85", "long": LONG}
    text = tabled(tmp_path, [result(own, {"b": "\u2028"})], "t.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 1
    assert json.loads(text) == {**own, "b": "\u2028"}


def test_columns_of_parquet_have_the_type_of_all_their_values(tmp_path: Path) -> None:
    rows = [
        {
            "int": 1,
            "float": 1,
            "bool": True,
            "text": "a",
            "mixed": 1,
            "nested": {"a": [1]},
            "vector": [1, 0.5],
            "none": None,
        },
        {"int": 2**62, "float": 1.5, "bool": None, "text": "\ud800", "mixed": "x", "nested": [None], "vector": [2.0]},
    ]
    made = pq.read_table(tabled(tmp_path, [json.dumps(result(row, "x")) for row in rows], "t.parquet"))
    kinds = {name: str(made.schema.field(name).type) for name in made.column_names[:-1]}
    assert kinds == {
        "int": "int64",
        "float": "double",
        "bool": "bool",
        "text": "string",
        "mixed": "string",
        "nested": "string",
        "vector": "list<element: double>",
        "none": "string",
    }
    assert made.column("nested").to_pylist() == ['{"a": [1]}', "[null]"]
    assert made.column("mixed").to_pylist() == ["1", "x"]


def test_numbers_that_no_type_holds_stay_as_they_stand(tmp_path: Path) -> None:
    line = '{"a": 12345678901234567890.123456789, "b": 1e400, "c": 99999999999999999999, "generated_text": "x", '
    line += '"finish_reason": "stop", "prompt_tokens": 1, "completion_tokens": 1}'
    [row] = pq.read_table(tabled(tmp_path, [line], "t.parquet")).to_pylist()
    assert list(row.values()) == ["12345678901234567890.123456789", "1e400", "99999999999999999999", "x"]


def test_many_rows_are_written_in_groups(tmp_path: Path) -> None:
    made = pq.ParquetFile(tabled(tmp_path, (result({"id": n}, "x") for n in range(40_000)), "t.parquet"))
    assert (made.metadata.num_rows, made.metadata.num_row_groups) == (40_000, 3)


def source_table() -> pa.Table:
    day = dt.date(2026, 12, 2)
    moment = dt.datetime(2026, 12, 2, 23, 30, 1, 250_000, dt.UTC)
    return pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "text": ["Good.", "Bad."],
            "price": pa.array([decimal.Decimal("1.10"), None], pa.decimal128(10, 2)),
            "day": pa.array([day, None]),
            "moment": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "kind": pa.array(["a", "b"]).dictionary_encode(),
            "share": pa.array([0.5, None], pa.float32()),
            "tags": pa.array([["x"], []], pa.list_(pa.string())),
            "inner": pa.array([{"a": 1}, None], pa.struct([("a", pa.int16())])),
            "raw": pa.array([b"\xff\x00", None], pa.binary()),
            "words": pa.array([b"abcd", "grün".encode()], pa.binary()),
        }
    )


def test_parquet_to_parquet_is_equal(tmp_path: Path) -> None:
    source, rows = tmp_path / "in.parquet", tmp_path / "rows.jsonl"
    pq.write_table(source_table(), source)
    assert make_rows.main([str(source), "-o", str(rows), "--template", "Judge: {{text}}"]) == 0
    lines = [result(json.loads(line), {"ok": True}) for line in rows.read_text(encoding="utf-8").splitlines()]
    made = pq.read_table(tabled(tmp_path, lines, "out.parquet", "--like", str(source)))
    assert made.select(source_table().column_names).equals(source_table())
    assert made.column("ok").to_pylist() == [True, True]


def test_a_value_that_is_not_of_the_files_type_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"day": [dt.date(2026, 12, 2)]}), source)
    run = write_results(tmp_path, [result({"day": "soon"}, "x")])
    assert to_table.main([str(run), "-o", str(tmp_path / "t.parquet"), "--like", str(source)]) == 1
    assert "the column 'day' holds what is no date32" in capsys.readouterr().err
