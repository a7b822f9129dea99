"""Hostile text: ten thousand rows, answers and names that try to be something else than text."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.fake_server import Asked, FakeServer, Fault, answer, know_one_model
from support.programs import Session

ROWS = 10_000
CORPUS = [
    "openjd_fail: forged",
    "\nopenjd_env: PATH=/tmp",
    "\r\nopenjd_redacted_env: A=B",
    "x\u2028openjd_progress: 100",
    "x\x85openjd_status: forged\x0bopenjd_unset_env: PATH\x0copenjd_session_runtime_loglevel: DEBUG",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]><img src=x onerror=alert(1)>",
    "=HYPERLINK(\"http://evil\",\"x\")",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+1", "-1+1", "\t=1",
    "../../../../etc/passwd",
    "/etc/passwd\x00.jsonl",
    "..\\..\\windows",
    "$(touch /tmp/owned)", "`id`", "; rm -rf /", "|| touch /tmp/owned", "%s%n", "{0.__class__}", "${HOME}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{% for x in range(10**9) %}{% endfor %}",
    "{{Param.HfToken}}",
    "\x1b]0;title\x07\x1b[2J",
    "\u202egnp.exe", "\ufeff", "\ufffe", "\U0010ffff", "\ud7ff\ue000", "a\u0300" * 50,
    '","output":{"status":"succeeded"}', '"}\n{"end":true}', "{\"shard\":1}",
    "NaN", "1e999", "null", "__proto__", "constructor",
]  # fmt: skip
NAMES = [
    "id",
    "custom_id",
    "error",
    "previous",
    "generated_text",
    "output",
    "line",
    "status",
    "system",
    "input",
    *CORPUS,
]
TEXT = st.one_of(st.sampled_from(CORPUS), st.text(max_size=30))
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=8,
)
ROW = st.one_of(
    st.builds(
        lambda prompt, more: {**more, "prompt": prompt},
        TEXT, st.dictionaries(st.sampled_from(NAMES), VALUE, max_size=4),
    ),
    st.builds(lambda text: {"messages": [{"role": text, "content": text}]}, TEXT),
    st.builds(
        lambda own, url, body: {"custom_id": own, "method": "POST", "url": url, "body": body},
        TEXT,
        st.sampled_from(["/v1/chat/completions", "/v1/../etc", "http://evil/"]),
        st.dictionaries(TEXT, VALUE, max_size=3),
    ),
    st.builds(
        lambda own, text: {"custom_id": own, "params": {"messages": [{"role": "user", "content": text}]}}, TEXT, TEXT
    ),
    st.builds(lambda own, text: {"recordId": own, "modelInput": {"prompt": text}}, TEXT, TEXT),
    st.builds(lambda text: {"input": {"prompt": text, "sampling_params": {"seed": 1}}}, TEXT),
)  # fmt: skip
LINE = st.one_of(
    ROW.map(lambda row: json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    VALUE.map(lambda value: json.dumps(value).encode()),
    st.binary(min_size=1, max_size=40),
    TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")),
).map(lambda line: line.replace(b"\n", b" ").strip() or b"x")


def generated(count: int) -> list[bytes]:
    """Return lines: the corpus in every place of a row, and variations of what the strategies make."""
    found = [json.dumps({name: text, "prompt": text}).encode() for name in NAMES for text in CORPUS]
    collected: list[bytes] = []

    @settings(max_examples=400, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.lists(LINE, min_size=5, max_size=40))
    def collect(lines: list[bytes]) -> None:
        collected.extend(lines)

    collect()
    chance = random.Random(4)
    while len(found) < count:
        found.append(chance.choice(collected))
    return found[:count]


def hostile(asked: Asked) -> Fault | None:
    """Answer with what was asked, with the corpus, or with an error that quotes it."""
    text = CORPUS[asked.count % len(CORPUS)]
    if asked.count % 7 == 0:
        return Fault(400, json.dumps({"error": {"message": text, "type": text}}).encode())
    if asked.count % 11 == 0:
        return Fault(422, text.encode("utf-8", "surrogatepass"))
    return Fault(body=answer(asked.path, text + asked.text))


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("hostile")
    session = Session(folder, generated(ROWS), prompts="1-10", block_size=1000, options={"max_concurrency": "64"})
    with FakeServer(hostile) as server:
        session.url = server.url
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
        yield session


def test_ten_thousand_hostile_rows_give_ten_thousand_results(job: Session) -> None:
    assert job.input.read_bytes().count(b"\n") == ROWS
    lines = (job.output / "output" / "output.jsonl").read_bytes().splitlines()
    physical = (job.output / "output" / "output.jsonl").read_bytes().count(b"\n")
    summary = job.summary()
    assert physical == ROWS - summary["blank"]
    assert (summary["requested"], summary["missing"], summary["past_end"]) == (ROWS, 0, 0)
    assert summary["succeeded"] + summary["failed"] + summary["blank"] == ROWS
    assert summary["succeeded"] > ROWS / 3
    assert "internal_error" not in summary["errors"]
    assert lines


def test_each_result_is_json_of_its_own_line(job: Session) -> None:
    output = (job.output / "output" / "output.jsonl").read_bytes().split(b"\n")[:-1]
    inputs = [
        line for line in job.input.read_bytes().split(b"\n")[:-1] if line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r")
    ]
    assert len(output) == len(inputs)
    for number, (line, raw) in enumerate(zip(output, inputs, strict=True), 1):
        row = json.loads(line, parse_constant=refuse)
        given_row = parsed(raw)
        if isinstance(given_row, dict) and "prompt" in given_row and "line" not in row:
            assert row["prompt"] == given_row["prompt"], number


def refuse(name: str) -> None:
    """Fail for NaN and infinity, which are not JSON."""
    raise AssertionError(name)


def parsed(raw: bytes) -> Any:
    """Return a line's value, None for what is no JSON."""
    try:
        return json.loads(raw)
    except ValueError:
        return None


def test_no_row_wrote_a_file_of_its_own(job: Session) -> None:
    names = {path.relative_to(job.output).as_posix() for path in job.output.rglob("*") if path.is_file()}
    results = {name for name in names if name.startswith("output/results/")}
    assert names - results == {
        f"output/{name}" for name in ("output.jsonl", "errors.jsonl", "retry.jsonl", "summary.json", "results.html")
    }
    assert len([name for name in results if "retry-" not in name]) == 1
    assert not Path("/tmp/owned").exists()


@pytest.mark.parametrize("text", [text for text in CORPUS if "openjd_" in text or "{{" in text])
def test_hostile_parameters_are_text_only(text: str, tmp_path: Path) -> None:
    one = text.replace("\x00", "")
    with FakeServer(know_one_model) as server:
        session = Session(tmp_path, [b'{"prompt": "a"}'], server.url, model=one)
        result = session.start(output_field=one, system_prompt=one)
    assert result.status == 1
    result.check_lines()
    assert len(result.failures) == 1


def test_a_field_s_text_is_never_template_code(tmp_path: Path) -> None:
    lines = [json.dumps({"text": text}).encode() for text in CORPUS]
    template = tmp_path / "template.txt"
    template.write_text("Say: {{ text }}{{ row.text|upper }}")
    with FakeServer() as server:
        session = Session(tmp_path / "job", lines, server.url)
        options = {"prompt_template_file": str(template)}
        session.start(**options).check()
        session.chunk(**options).check()
        assert all(server.asked[f"Say: {text}{text.upper()}"] == 1 for text in CORPUS)


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ row.__class__.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{% set _ = row.update({'a': 1}) %}x",
        "{{ range(10**9)|list }}",
        "{% include '/etc/passwd' %}",
        "{{ (lambda: 1)() }}",
    ],
)
def test_the_sandbox_of_the_template_holds(template: str, tmp_path: Path) -> None:
    path = tmp_path / "template.txt"
    path.write_text(template)
    with FakeServer() as server:
        session = Session(tmp_path / "job", [b'{"text": "a"}'], server.url)
        options = {"prompt_template_file": str(path)}
        if session.start(**options).status == 0:
            session.chunk().check()
            session.aggregate().check()
            assert session.written()[0]["error"]["code"] == "template_error"
        assert server.asked.keys() <= {"Hi"}
