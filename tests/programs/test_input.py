"""Whatever is wrong with a line of the input is that line's error only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.fake_server import FakeServer
from support.programs import Session, outcome

BOM = b"\xef\xbb\xbf"


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
    Line("a name twice", b'{"prompt": "first", "prompt": "second"}', "doubled_name", "stands twice"),
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
