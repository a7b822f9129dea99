"""The input: read at any place by line feeds alone, and whatever is wrong with a line is that line's error only."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import shape, source
from rows.ranges import Lines, parse
from support.fake_server import FakeServer
from support.programs import Session, outcome

BOM = b"\xef\xbb\xbf"


def quiet(text: str) -> None:
    """Take a report."""


def prepared(folder: Path, content: bytes) -> source.Source:
    """Write a file and make it ready."""
    folder.mkdir(exist_ok=True)
    (folder / "input.jsonl").write_bytes(content)
    return source.prepare(str(folder / "input.jsonl"), "", folder / "session", quiet)


@settings(max_examples=60, deadline=None)
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
    ],
)
def test_json_over_several_lines_is_told_once_with_what_to_do(content: bytes, what: str, tmp_path: Path) -> None:
    with pytest.raises(source.SourceError, match=rf"{what}.*make_rows"):
        shape.refuse_other_text(prepared(tmp_path, content))


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


@dataclass(frozen=True)
class Line:
    """A line of the input and what it must end in: an error's code, or "" for an answer, None for no result."""

    name: str
    raw: bytes
    code: str | None = ""
    says: str = ""


PROMPT = b'{"id": "x", "prompt": "%s"}'
LINES = [
    Line("a byte order mark", BOM + PROMPT % b"marked"),
    Line("a plain row", PROMPT % b"plain"),
    Line("CRLF", PROMPT % b"crlf" + b"\r"),
    Line("an empty line", b"", None),
    Line("white space", b" \t\r", None),
    Line("a byte order mark alone", BOM, None),
    Line("broken JSON", b'{"prompt": "x"', "invalid_json", "at character 15"),
    Line("two objects", b'{"prompt": "x"} {"prompt": "y"}', "invalid_json", "Extra data"),
    Line("a JSON array over lines", b'[{"prompt": "x"},', "invalid_json"),
    Line("single quotes", b"{'prompt': 'x'}", "invalid_json", "double quotes"),
    Line("a trailing comma", b'{"prompt": "x",}', "invalid_json"),
    Line("a string", b'"hello"', "not_an_object", "a string"),
    Line("a number", b"42", "not_an_object", "a number"),
    Line("null", b"null", "not_an_object", "null"),
    Line("an array", b'["x"]', "not_an_object", "an array"),
    Line("a prompt that is a number", b'{"prompt": 5}', "invalid_value", '"prompt" must be'),
    Line("an empty prompt", b'{"prompt": ""}', "invalid_value", "empty"),
    Line("no prompt", b'{"id": 1}', "missing_field", "prompt"),
    Line("temperature hot", b'{"prompt": "x", "temperature": "hot"}', "invalid_value", "must be a number"),
    Line("temperature true", b'{"prompt": "x", "temperature": true}', "invalid_value", "must be a number"),
    Line("temperature NaN", b'{"prompt": "x", "temperature": NaN}', "invalid_json", "NaN"),
    Line("infinity", b'{"prompt": "x", "note": -Infinity}', "invalid_json", "Infinity"),
    Line("a number beyond all bounds", b'{"prompt": "x", "temperature": 1e999}', "invalid_value", "temperature"),
    Line("a number of 5,000 digits", b'{"prompt": "x", "n": ' + b"1" * 5000 + b"}", "invalid_json", "too long"),
    Line("messages that are a text", b'{"messages": "hi"}', "invalid_value", "messages"),
    Line("a message without a role", b'{"messages": [{"content": "hi"}]}', "invalid_value", "role"),
    Line("half of a surrogate pair", b'{"prompt": "a\\ud800b"}', "invalid_value", "surrogate"),
    Line("half of a pair in another field", b'{"prompt": "half elsewhere", "note": "\\udfff"}'),
    Line("a whole pair", b'{"prompt": "\\ud83d\\ude00"}'),
    Line("an escaped NUL", b'{"prompt": "a\\u0000b"}'),
    Line("a raw NUL", b'{"prompt": "a\x00b"}', "invalid_json", "control character"),
    Line("a raw tab", b'{"prompt": "a\tb"}', "invalid_json", "control character"),
    Line("U+2028", '{"prompt": "a\u2028b"}'.encode()),
    Line("U+0085", '{"prompt": "a\x85b"}'.encode()),
    Line("Latin-1", b'{"prompt": "caf\xe9"}', "invalid_utf8", "byte 16"),
    Line("a cut character", b'{"prompt": "\xf0\x9f\x98"}', "invalid_utf8"),
    Line("UTF-16 in the middle", '{"prompt": "x"}'.encode("utf-16-le"), "invalid_json"),
    Line("nesting of 500", b'{"prompt": "deep", "x": ' + b"[" * 500 + b"]" * 500 + b"}"),
    Line(
        "nesting of 100,000",
        b'{"prompt": "x", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "invalid_json",
        "nested",
    ),
    Line("5 MB", b'{"prompt": "big ' + b"x" * 5_000_000 + b'"}'),
    Line("a name twice", b'{"prompt": "first", "prompt": "second"}'),
    Line("an id that is taken", PROMPT % b"taken again"),
    Line("an id that is an object", b'{"id": {"a": 1}, "prompt": "object"}'),
    Line("a name that is a result's", b'{"prompt": "again", "generated_text": "old", "error": 1, "previous": 2}'),
    Line("an unknown option", b'{"prompt": "unknown", "guided_nothing": 1}'),
    Line("the last line without an end", PROMPT % b"last"),
]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Session:
    session = Session(tmp_path_factory.mktemp("wrong"), prompts=f"1-{len(LINES)}")
    session.input.write_bytes(b"\n".join(line.raw for line in LINES))
    with FakeServer() as server:
        session.url = server.url
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
    return session


def test_every_line_that_is_not_blank_has_exactly_one_result(wrong: Session) -> None:
    blank = 3
    counts = {name: wrong.summary()[name] for name in ("requested", "missing", "blank", "past_end")}
    assert counts == {"requested": len(LINES), "missing": 0, "blank": blank, "past_end": 0}
    assert len(wrong.written()) == len(LINES) - blank


@pytest.mark.parametrize("number", range(len(LINES)), ids=[line.name for line in LINES])
def test_a_line_ends_as_its_own_result_or_error(number: int, wrong: Session) -> None:
    line = LINES[number]
    blank = sum(other.code is None for other in LINES[:number])
    if line.code is None:
        return  # counted above
    row = wrong.written()[number - blank]
    assert outcome(row).startswith(line.code or "echo: ")
    if line.code:
        assert line.says in row["error"]["message"]
        assert ("id" in row or "prompt" in row or "messages" in row) or row["line"] == number + 1


def test_failed_lines_are_in_retry_jsonl_byte_for_byte(wrong: Session) -> None:
    failed = set((wrong.output / "output" / "retry.jsonl").read_bytes().split(b"\n"))
    assert {line.raw for line in LINES if line.code} <= failed


def test_nesting_at_the_edge_of_what_the_interpreter_can_costs_no_other_row(tmp_path: Path) -> None:
    nested = [b'{"prompt": "x", "logit_bias": ' + b'{"a":' * n + b"1" + b"}" * (n + 1) for n in range(880, 1000)]
    with FakeServer() as server:
        session = Session(tmp_path, [b'{"prompt": "a"}', *nested, b'{"prompt": "z"}'], server.url)
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
    output = (session.output / "output" / "output.jsonl").read_bytes().split(b"\n")
    assert len(output) == len(nested) + 2 + 1
    assert (b"echo: a" in output[0], b"echo: z" in output[-2]) == (True, True)
    assert session.summary()["missing"] == 0


def test_a_line_of_50_mb_is_one_row(tmp_path: Path) -> None:
    with FakeServer() as server:
        session = Session(tmp_path, [b'{"prompt": "a"}', b'{"prompt": "%s"}' % (b"x" * 50_000_000), b'{"prompt": "c"}'])
        session.url = server.url
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
        assert server.asked.total() == 4
    assert [len(outcome(row)) for row in session.written()] == [7, 50_000_006, 7]


def test_a_file_name_is_text_only(tmp_path: Path) -> None:
    with FakeServer() as server:
        session = Session(tmp_path, [b'{"prompt": "a"}'], server.url)
        session.input = session.input.rename(tmp_path / "a\nopenjd_env: A=B <script>$(id);`id`\udcff.jsonl")
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
    assert json.loads(json.dumps(session.summary()["input"]["name"])).endswith("?.jsonl")
