"""tools/make_rows.py: what people have is read whole, and what is no table is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import make_rows
from conversion import tables
from conversion.records import plain, say_nothing
from support.conversions import converted

ROOT = Path(__file__).resolve().parents[2]
PACKED = gzip.compress(b"".join(b'{"text": "%d"}\n' % number for number in range(200)), mtime=0)


def refused(folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: str | bytes, *arguments: str) -> str:
    source, target = folder / name, folder / "rows.jsonl"
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert make_rows.main([str(source), "-o", str(target), *arguments]) == 1
    assert not list(folder.glob("*rows.jsonl*"))
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'id,text\n007,"Hello, you"\n8,Bye\n'),
        ("a.csv", 'id;text\r\n007;"Hello, you"\r\n8;Bye\r\n'),
        ("a.csv", '\ufeffid,text\n007,"Hello, you"\n\n8,Bye'),
        ("a.tsv", "id\ttext\n007\tHello, you\n8\tBye\n"),
        ("a.json", '[{"id": "007", "text": "Hello, you"},\n {"id": "8", "text": "Bye"}]'),
        ("a.json", '{"id": "007", "text": "Hello, you"}\n{"id": "8", "text": "Bye"}\n'),
        ("a.jsonl", '{"id": "007", "text": "Hello, you"}\n\n{"id": "8", "text": "Bye"}'),
    ],
    ids=["csv", "semicolons and CRLF", "byte order mark", "tsv", "array", "lines named json", "jsonl"],
)
def test_every_form_gives_the_same_rows_and_ids_keep_their_zeros(tmp_path: Path, name: str, content: str) -> None:
    rows = [{"id": "007", "text": "Hello, you"}, {"id": "8", "text": "Bye"}]
    assert converted(tmp_path, name, content) == rows


def test_utf_16_as_spreadsheets_save_it_is_read(tmp_path: Path) -> None:
    assert converted(tmp_path, "a.tsv", "id\ttext\n1\tgrün\n".encode("utf-16")) == [{"id": "1", "text": "grün"}]


def test_a_heading_that_stands_twice_is_numbered_and_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = converted(tmp_path, "a.csv", "text,note,note,note_2,\nx,a,b,c,\ny,d,,f,\n")
    assert rows == [
        {"note": "a", "note_2": "b", "note_2_2": "c", "text": "x"},
        {"note": "d", "note_2": "", "note_2_2": "f", "text": "y"},
    ]
    said = capsys.readouterr().err
    assert said.count("a.csv: the column 'note' appears again; it is 'note_2' in the rows") == 1


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    assert converted(tmp_path, "a.csv.gz", gzip.compress(b"text\nx\n")) == [{"text": "x"}]


def test_the_columns_that_are_named_are_kept_in_that_order(tmp_path: Path) -> None:
    [row] = converted(tmp_path, "a.csv", "a,b,c\n1,2,3\n", "--columns", "c,a", "--prompt-column", "b")
    assert list(row.items()) == [("c", "3"), ("a", "1"), ("prompt", "2")]


@pytest.mark.parametrize(
    ("name", "content", "arguments", "told"),
    [
        ("a.csv", "id,text\n1,a,b\n", (), "a.csv:2: 3 cells, but 2 columns"),
        (
            "a.jsonl",
            '{"text": "x"}\n{"text": "y", "a": {"b": 1, "b": 2}}\n',
            (),
            'a.jsonl:2: "b" stands twice in one object',
        ),
        ("a.json", '[{"text": "x", "text": "y"}]', (), 'record 1: "text" stands twice in one object, with "x" and "y"'),
        ("a.csv", "text\nПривет\n".encode("cp1251"), (), "neither UTF-8 nor Windows-1252"),
        ("a.csv", "text\nこんにちは\n".encode("shift_jis"), (), "name its encoding with --encoding"),
        ("a.csv", "text\n你好\n".encode("gbk"), (), "neither UTF-8 nor Windows-1252"),
        ("a.csv", b"text\nx\x81y\n", (), "neither UTF-8 nor Windows-1252"),
        ("a.csv", b"text\nx\xffy\n", ("--encoding", "utf-8"), "a.csv is not utf-8"),
        ("a.csv", b"text\nx\n", ("--encoding", "excel"), "--encoding 'excel' is not known"),
        ("a.csv", "", (), "it is empty"),
        ("a.csv", '"id" x,text\n1,a\n', (), "a.csv:1: "),
        ("a.csv", "id,text\n1,\n", ("--prompt-column", "text"), "a.csv:2: 'text' is empty"),
        ("a.json", '[{"text": "x"}]\n[{"text": "y"}]\n', (), "more follows behind the array's end, after record 1"),
        ("a.json", '[{"text": "x"}]' + " " * 70_000 + "garbage", (), "more follows behind the array's end"),
        ("a.json", '[{"text": "x"}\n{"text": "y"}]', (), "record 2: not JSON: a comma is missing"),
        ("a.json", '[{"text": "x"},,{"text": "y"}]', (), "record 2: not JSON"),
        ("a.json", '[,{"text": "x"}]', (), "record 1: not JSON"),
        ("a.json", '[{"text": "x"}, {"text": "y"}', (), "the array is not closed behind record 2 (is the file whole?)"),
        ("a.csv", "id,text\n", (), "there are no rows in it"),
        ("a.csv", "id,words\n1,x\n", (), "--prompt-column or --template ('id', 'words')"),
        ("a.csv", "id,words\n1,x\n", ("--prompt-column", "word"), "a.csv:2: there is no column 'word'"),
        ("a.csv", "id,words\n1,x\n", ("--template", "Say it"), "names no column"),
        ("a.json", '[{"text": "x"}, 3]', (), "record 2 is not an object"),
        ("a.json", '[{"text": "x"}, {"text": "y"', (), "record 2: not JSON"),
        ("a.json", '[{"text": "x"}', (), "is the file whole?"),
        ("a.jsonl", '{"text": "x"}\n{broken', (), "a.jsonl:2: not JSON"),
        ("a.jsonl", '{"conversations": [{"from": "ghost", "value": "x"}]}', (), "from 'ghost'"),
        (
            "a.json",
            '[{"text": "x"}, ' + "[" * 100_000,
            (),
            "a.json: record 2: the JSON is nested too deeply; flatten it",
        ),
        ("a.jsonl", '{"text": "x"}\n{"a": ' + "[" * 100_000, (), "a.jsonl:2: the JSON is nested too deeply"),
        ("a.json", f'[{{"text": {"9" * 5_000}}}]', (), "record 1: a whole number has too many digits; write it as"),
        ("a.jsonl", f'{{"text": {"9" * 5_000}}}', (), "a.jsonl:1: a whole number has too many digits"),
        ("a.jsonl.gz", PACKED[:-20], (), "a.jsonl.gz: the gzip data is damaged or cut off"),
        ("a.jsonl.gz", PACKED[:40] + b"\xff" * 99 + PACKED[139:], (), "a.jsonl.gz: the gzip data is damaged"),
        ("a.jsonl.gz", PACKED[:-8] + bytes(8), (), "a.jsonl.gz: the gzip data is damaged"),
        ("a.jsonl", '{"input": {"words": "x"}}', (), "nothing says which column is the prompt"),
        ("a.unknown", "x", (), "say --format"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_table_is_refused_with_the_place_and_leaves_no_file(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str | bytes,
    arguments: Sequence[str],
    told: str,
) -> None:
    assert told in refused(tmp_path, capsys, name, content, *arguments)


@pytest.mark.parametrize("depth", range(300, 1_200, 100))
@pytest.mark.parametrize("arguments", [(), ("--prompt-column", "a")], ids=["a field", "the prompt"])
def test_a_record_of_any_depth_becomes_a_row_or_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], depth: int, arguments: tuple[str, ...]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "x", "a": {"[" * depth}{"]" * depth}}}\n', encoding="utf-8")
    if make_rows.main([str(path), *arguments]):
        assert "nested too deeply; flatten it" in capsys.readouterr().err


def test_nan_and_what_json_cannot_say_become_null_or_text() -> None:
    assert plain({"a": float("nan"), "b": [Decimal("1.5")], "c": b"\x00"}) == {
        "a": None,
        "b": ["1.5"],
        "c": "AA==",
    }


def test_without_pyarrow_parquet_says_what_to_install(tmp_path: Path) -> None:
    program = "import sys; sys.modules['pyarrow'] = None; import make_rows; sys.exit(make_rows.main(['a.parquet']))"
    done = subprocess.run(
        [sys.executable, "-B", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); {program}"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    assert "pip install pyarrow" in done.stderr


def test_it_reads_standard_input_and_writes_standard_output() -> None:
    command = [sys.executable, "-B", str(ROOT / "tools" / "make_rows.py"), "-", "--format", "csv"]
    done = subprocess.run(command, input=b"text\nx\n", capture_output=True, check=True)
    assert done.stdout == b'{"text": "x"}\n'


cells = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=8)


@settings(deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=8), st.sampled_from([",", ";", "\t"]))
def test_any_cells_survive_csv(rows: list[tuple[str, str]], separator: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows([("note", "other"), *rows])
    found = [each.fields for each in tables._table("a.csv", io.StringIO(text.getvalue(), newline=""), "", say_nothing)]
    assert found == [{"note": note, "other": other} for note, other in rows if note or other]


@settings(deadline=None)
@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=9), max_size=3)), st.integers(1, 9)
)
def test_an_array_is_read_the_same_whatever_its_size_and_the_pieces_it_arrives_in(
    records: list[dict[str, Any]], piece: int
) -> None:
    class Pieces(io.StringIO):
        def read(self, size: int | None = -1, /) -> str:
            return super().read(piece)

    found = [each.fields for each in tables._json_records("a.json", Pieces(json.dumps(records, indent=1)))]
    assert found == records


def test_a_large_file_is_converted_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        file.write(",\n".join('{"text": "' + "x" * 1000 + '"}' for _ in range(30_000)))
        file.write("]")
    program = (
        "import sys, make_rows; make_rows.main(sys.argv[1:]); print(open('/proc/self/status').read(), file=sys.stderr)"
    )
    command = [sys.executable, "-B", "-c", program, str(path), "-o", str(tmp_path / "rows.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "tools")
    assert int(done.stderr.partition("VmHWM:")[2].split()[0]) * 1024 < 60e6
    assert make_rows.write(make_rows.rows(make_rows.read([str(tmp_path / "rows.jsonl")])), io.StringIO()) == 30_000


def test_a_quote_left_open_does_not_swallow_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "unexpected end of data" in refused(tmp_path, capsys, "a.csv", 'id,text\n1,"open\n2,b\n')


def test_an_empty_cell_is_named_as_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "a.csv:3: 'text' is empty" in refused(tmp_path, capsys, "a.csv", "id,text\n1,a\n2,\n")


def test_the_file_that_is_read_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.csv"
    source.write_text("id,text\n1,a\n", encoding="utf-8")
    assert make_rows.main([str(source), "-o", str(tmp_path / "x" / ".." / "a.csv")]) == 1
    assert source.read_text(encoding="utf-8") == "id,text\n1,a\n"
    assert "give the rows another name" in capsys.readouterr().err


def test_a_separator_inside_quotes_separates_nothing(tmp_path: Path) -> None:
    assert converted(tmp_path, "a.csv", '"text, or so";"text"\n"x";"y"\n') == [{"text, or so": "x", "text": "y"}]


def test_a_column_without_a_name_is_numbered(tmp_path: Path) -> None:
    assert converted(tmp_path, "a.csv", ",text\n0,a\n") == [{"column_1": "0", "text": "a"}]
    assert converted(tmp_path, "a.csv", "text,,column_2\na,b,c\n") == [{"column_2_": "b", "column_2": "c", "text": "a"}]


def test_half_a_surrogate_pair_can_be_written_to_standard_output(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "\\ud83d"}\n', encoding="utf-8")
    command = [sys.executable, "-B", str(ROOT / "tools/make_rows.py"), str(path)]
    done = subprocess.run(command, capture_output=True, check=True, env={"PYTHONIOENCODING": "latin-1"})
    assert json.loads(done.stdout) == {"prompt": "?"}
