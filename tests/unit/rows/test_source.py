"""The input file: made ready once, and read at any place by line feeds alone."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import shape, source
from rows.ranges import Lines, parse


def quiet(text: str) -> None:
    """Take a report."""


def prepared(folder: Path, content: bytes) -> source.Source:
    """Write a file and make it ready."""
    folder.mkdir(exist_ok=True)
    (folder / "input.jsonl").write_bytes(content)
    return source.prepare(str(folder / "input.jsonl"), "", folder / "session", quiet)


@settings(max_examples=60)
@given(
    st.lists(st.binary(max_size=20).map(lambda b: b"x" + b.replace(b"\n", b"")), min_size=1, max_size=300), st.data()
)
def test_any_lines_can_be_read_at_any_place(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], data: st.DataObject
) -> None:
    end = data.draw(st.sampled_from([b"", b"\n"]))
    found = prepared(tmp_path_factory.mktemp("input"), b"\n".join(lines).replace(b"\x00", b"y") + end)
    numbers = sorted(data.draw(st.sets(st.integers(1, len(lines) + 5), max_size=30)))
    wanted = Lines(range(n, n + 1) for n in numbers)
    expected = [(n, lines[n - 1].replace(b"\x00", b"y")) for n in numbers if n <= len(lines)]
    assert found.lines == len(lines)
    assert list(found.read(wanted)) == expected


@pytest.mark.parametrize(
    ("content", "lines"), [(b"a", 1), (b"a\n", 1), (b"a\n\n", 2), (b"\n\na", 3), (b"a\r\nb\r\n", 2)]
)
def test_lines_are_counted_by_their_line_feeds(content: bytes, lines: int, tmp_path: Path) -> None:
    assert prepared(tmp_path, content).lines == lines


@pytest.mark.parametrize(
    ("content", "what"),
    [
        pytest.param(b"id,text\n1,a\n", "another text, such as CSV", id="CSV"),
        pytest.param(b'\xef\xbb\xbf\n [{"prompt": "a"},\n', "a JSON array", id="an array on one line"),
        pytest.param(b"word " * 5_000, "another text, such as CSV", id="a long text"),
        pytest.param(b"a,b\n" * 500_000, "another text, such as CSV", id="a long table"),
    ],
)
def test_a_text_without_an_object_is_refused_before_a_model_is_paid_for(
    content: bytes, what: str, tmp_path: Path
) -> None:
    with pytest.raises(source.SourceError, match=rf"no line that begins a JSON object \(it is {what}\).*make_rows"):
        shape.refuse_other_text(prepared(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'[\n{"prompt": "a"},\n{"prompt": "b"}\n]\n', "one JSON array over several lines"),
        (b'\xef\xbb\xbf[\r\n  {"prompt": "a"},\r\n  {"prompt": "b"}\r\n]\r\n', "one JSON array over several lines"),
        (b'{\n "prompt": "a"\n}\n{\n "prompt": "b"\n}\n', "printed over several lines"),
        (b'{\n "messages": [\n  {\n   "role": "user"\n  }\n ]\n}\n', "printed over several lines"),
        (b"{\n}\n", "printed over several lines"),
        (b'{ "id": 1,\n  "turns": [\n    {"role": "user"}\n  ] }\n{ "id": 2 }\n', "printed over several lines"),
        (b'[\n  {\n    "prompt": "a"\n  },\n  {"prompt": "b"}\n]\n', "one JSON array over several lines"),
        (b'[{"prompt": "a"},\n {"prompt": "b"}]\n', "one JSON array over several lines"),
        (b'{"requests": [{"prompt": "a"}, {"prompt": "b"}]}\n', 'one JSON object that holds 2 rows in "requests"'),
        (b'\n{"count": 1, "data": [{"messages": []}], "next": null}', 'one JSON object that holds 1 rows in "data"'),
        (b'{"features": [{}], "rows": [{"row_idx": 0, "row": {"prompt": "a"}}]}', 'holds 1 rows in "rows"'),
        (b'[{"prompt": "a"}, {"prompt": "b"}]', "it is a JSON array"),
        (b'["a"]\n["b"]\n', "it is a JSON array"),
        (b'"{\\"prompt\\": \\"a\\"}"\n' * 3, "written as JSON twice"),
        (b'{"prompt": "a"},\n{"prompt": "b"},\n{"prompt": "c"}\n', "has a comma behind each of its objects"),
        (b'{"prompt": "a"},\r\n\r\n{"prompt": "b"},\r\n' * 30, "has a comma behind each of its objects"),
        (b'{"result": {"rows": [{"prompt": "a"}, {"prompt": "b"}]}}', r'holds 2 rows in "result\.rows"'),
        (b'{"columns": ["id", "prompt"], "index": [0], "data": [[1, "a"]]}\n', "one table, written as JSON"),
        (b'{"prompt": {"0": "a", "1": "b"}, "id": {"0": 1, "1": 2}}\n', "one table, written as JSON"),
        (b'{"id": [1, 2], "prompt": ["a", "b"]}\n', "one table, written as JSON"),
    ],
)
def test_json_over_several_lines_is_told_once_with_what_to_do(content: bytes, what: str, tmp_path: Path) -> None:
    with pytest.raises(source.SourceError, match=rf"{what}.*make_rows"):
        shape.refuse_other_text(prepared(tmp_path, content))


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"PK\x03\x04" + b"\0" * 60, r"a zip archive \(or an \.xlsx\)"),
        (b"SQLite format 3\0" + b"\0" * 84, "an SQLite database"),
        (b"PAR1" + b"\0" * 60, "a Parquet file"),
        (b"a.jsonl" + b"\0" * 250 + b"ustar\x0000" + b"\0" * 248 + b'{"prompt": "a"}\n', "a tar archive"),
        (gzip.compress(b"a.jsonl" + b"\0" * 250 + b"ustar  \0" + b"\0" * 247), "a tar archive"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "a pointer of Git LFS"),
    ],
    ids=["a zip", "SQLite", "Parquet", "a tar", "a packed tar", "Git LFS"],
)
def test_what_is_full_of_zero_bytes_is_told_by_its_name_and_not_as_utf_16(
    head: bytes, what: str, tmp_path: Path
) -> None:
    with pytest.raises(source.SourceError, match=f"is {what}"):
        prepared(tmp_path, head)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'[\n{"prompt": "a"}\n', id="a bracket and a row"),
        pytest.param(b'{\n{"prompt": "a"}\n', id="a brace and a row"),
        pytest.param(b'broken\n42\n{"prompt": "a"}\n', id="lines that fail alone"),
        pytest.param(b"\n" * 5_000 + b'{"prompt": "a"}\n', id="blank lines first"),
        pytest.param(b" \n" * 5_000, id="blank lines alone"),
        pytest.param(b"\n \r\n\t\n", id="a few blank lines"),
        pytest.param(b"x" * 9_000 + b'"}\n{"prompt": "a"}\n', id="the end of a cut line first"),
        pytest.param(b"x" * 2_000_000 + b'"}\n{"prompt": "a"}\n', id="the end of a long cut line first"),
        pytest.param(b"# a comment\n" * 300_000 + b'{"prompt": "a"}\n', id="many lines that fail alone first"),
        pytest.param(b'\xef\xbb\xbf  {"prompt": "a"}\n', id="a byte order mark"),
        pytest.param(b'{"messages": [{"role": "user", "content": "a"}]}\n', id="one row with a list"),
        pytest.param(b'{"id": 1, "items": [{"name": "a"}]}\n', id="one row of a template's data"),
        pytest.param(b'{"data": [{"prompt": "a"}]}\n{"data": [{"prompt": "b"}]}\n', id="lines with a list each"),
        pytest.param(b'{"prompt": "a",\n{"prompt": "b"}\n', id="a broken row first"),
        pytest.param(b'{"prompt": "a"},\n{"prompt": "b"}\n{"prompt": "c"}\n', id="a comma behind one row"),
        pytest.param(b'{"prompt": "a"},\n', id="one row with a comma"),
        pytest.param(b'{"text": {"de": "a", "en": "b"}}\n', id="one row of a template's texts"),
        pytest.param(b'{"input": ["a", "b"]}\n', id="one row of several texts"),
        pytest.param(b'{"messages": [{"role": "user", "content": "a"}], "tools": [{}]}\n', id="lists of one length"),
        pytest.param(b'{"columns": ["height"], "data": [[1]], "note": "a"}\n', id="one row of a template's table"),
        pytest.param(b'{"a": {"b": {"c": [{"prompt": "x"}]}}}\n', id="rows too far down to be meant"),
        pytest.param(b"{}\n", id="an empty object"),
        pytest.param(b'{"prompt": [{"role": "user"}], "id": [1]}\n', id="a prompt that is a conversation"),
        pytest.param(b'{"prompt": ["a", "b"]}\n', id="a prompt of several texts"),
        pytest.param(b'{"prompt": [5, 6], "stop_token_ids": [1, 2]}\n', id="a prompt of tokens"),
    ],
)
def test_a_text_with_an_object_is_an_input(content: bytes, tmp_path: Path) -> None:
    shape.refuse_other_text(prepared(tmp_path, content))


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85", "\r"])
def test_no_other_character_ends_a_line(separator: str, tmp_path: Path) -> None:
    found = prepared(tmp_path, f"a{separator}b\nc\n".encode())
    assert [raw.decode() for _, raw in found.read(Lines(parse("1-9")))] == [f"a{separator}b", "c"]


def test_a_file_that_begins_with_blank_lines_is_not_an_empty_one(tmp_path: Path) -> None:
    assert prepared(tmp_path, b"\n" * 10_000 + b'{"prompt": "x"}').lines == 10_001


def test_a_gzip_file_is_known_by_its_content_and_has_the_identity_of_what_it_holds(tmp_path: Path) -> None:
    content = b'{"prompt": "x"}\n' * 1000
    found = prepared(tmp_path, gzip.compress(content[:8000]) + gzip.compress(content[8000:]))
    assert (found.lines, found.sha256) == (1000, hashlib.sha256(content).hexdigest())
    assert [raw for _, raw in found.read(Lines(parse("777")))] == [b'{"prompt": "x"}']


def test_a_gzip_file_that_a_server_packed_once_more_is_the_same_input(tmp_path: Path) -> None:
    plain = prepared(tmp_path / "a", b'{"prompt": "x"}\n')
    packed = prepared(tmp_path / "b", gzip.compress(gzip.compress(b'{"prompt": "x"}\n')))
    assert packed.sha256 == plain.sha256


def test_the_index_is_made_once_and_read_back(tmp_path: Path) -> None:
    found = prepared(tmp_path, b"a\nb\n")
    (tmp_path / "session" / "input.offsets").chmod(0o400)
    assert source.prepare(str(tmp_path / "input.jsonl"), "", tmp_path / "session", quiet) == found


@pytest.mark.parametrize(
    "change", [lambda path: path.write_bytes(b"other\n"), Path.unlink], ids=["written to", "removed"]
)
def test_a_file_that_changes_under_a_running_job_is_refused(change: Callable[[Path], None], tmp_path: Path) -> None:
    prepared(tmp_path, b"a\nb\n")
    change(tmp_path / "input.jsonl")
    with pytest.raises(source.SourceError, match="was changed or removed while the job was running"):
        source.prepare(str(tmp_path / "input.jsonl"), "", tmp_path / "session", quiet)
