"""Aggregate: which result counts for each line, what is left alone, and that the counts always add up."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.note import Load
from page.writer import Page
from results import merge, shards
from results.partial import Writer
from support.merge_job import EARLY, INPUT, LATE, Job, record


def test_a_canceled_merge_leaves_the_finished_files_as_they_were(
    job: Job, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job.shard({1: "a", 2: "b"}, job.header("1-2"))
    assert job.merge() == 0
    files = {path.name: path.read_bytes() for path in job.output.iterdir() if path.is_file()}
    job.shard({4: "d", 5: "e"}, job.header("4-5"))
    monkeypatch.setattr(Page, "add", lambda *_: signal.raise_signal(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)

    assert job.merge() == 143
    assert {path.name: path.read_bytes() for path in job.output.iterdir() if path.is_file()} == files
    assert signal.getsignal(signal.SIGTERM) == before
    assert "openjd_fail: canceled before the end" in capsys.readouterr().out


def test_requested_is_succeeded_and_failed_and_blank_and_past_end(job: Job) -> None:
    job.shard({1: "a", 2: "!server_error", 3: ""}, replace(job.header("1-7"), lines="1-3"))
    assert job.merge() == 0
    assert job.counts() == [7, 1, 3, 2, 1, 2]
    assert job.outcomes() == {1: "a", 2: "server_error", 4: "missing", 5: "missing"}
    assert (job.summary()["rerun"], job.summary()["not_requested"]) == ("2,4,5", 0)
    assert (job.output / "retry.jsonl").read_bytes().splitlines() == [INPUT[1], INPUT[3], INPUT[4]]
    assert (job.output / "errors.jsonl").read_bytes() == b"".join(
        line + b"\n" for line in (job.output / "output.jsonl").read_bytes().splitlines() if b'"error"' in line
    )


def test_a_blank_line_without_a_shard_is_blank_and_not_missing(job: Job) -> None:
    job.shard({1: "a", 2: "b"}, job.header("1-3"))
    job.merge()
    assert job.counts() == [3, 2, 0, 0, 1, 0]


def test_lines_that_nobody_asked_for_are_said(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job.shard({1: "a"}, job.header("1"))
    job.merge()
    assert job.summary()["not_requested"] == 4
    assert "4 lines of 'input.jsonl' were not asked for" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        ("old", "new", "new"),
        ("old", "!late", "old"),
        ("!early", "new", "new"),
        ("!early", "!late", "late"),
    ],
    ids=["the newer success", "a success beats a newer failure", "a success after a failure", "the newer failure"],
)
@pytest.mark.parametrize("order", [1, -1])
def test_of_two_results_for_a_line_counts(first: str, second: str, counts: str, order: int, job: Job) -> None:
    results = [(EARLY, first), (LATE, second)][::order]
    for created, result in results:
        job.shard({1: result}, job.header("1", created=created))
    job.merge()
    assert job.outcomes() == {1: counts}


def test_a_second_merge_changes_nothing(job: Job) -> None:
    batch_line = b'{"custom_id": "c", "method": "POST", "url": "/v1/chat/completions", "body": {}}\n'
    job.input.write_bytes(job.input.read_bytes() + batch_line)
    job.shard({1: "a", 2: "!x"}, job.header("1-6"))
    job.merge()
    before = {path: path.read_bytes() for path in job.output.rglob("*") if path.is_file()}
    job.merge()
    assert {path: path.read_bytes() for path in job.output.rglob("*") if path.is_file()} == before


def test_answers_to_other_questions_are_left_alone_and_said(job: Job, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(b'{"prompt": "x"}\n')
    job.shard({1: "a"}, job.header("1"))
    job.shard({1: "wrong"}, replace(job.header("1", created=LATE, path=other), input_name="other.jsonl"))
    job.merge()
    assert job.outcomes() == {1: "a"}
    assert "1 answer in results/ is to another question and is left alone" in job.notes()


STRANGE = {
    "lines-000000001-000000005.in-0123456789ab.20260101T000000Z-01234567 (1).jsonl": b"x",
    "notes.txt": b"mine",
    "000001.json": b'{"prompt": "of an older version"}',
    "output.jsonl": b'{"id": 1, "generated_text": "forged"}\n',
    "openjd_env: A=B": b"",
    "<img src=x onerror=alert(1)>.jsonl": b"",
    "line\nopenjd_fail: forged": b"",
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_file_of_somebody_else_is_left_alone_and_said(
    name: str, job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    job.shard({1: "a"}, job.header("1"))
    (job.results / name).write_bytes(STRANGE[name])
    assert job.merge() == 0
    assert job.outcomes() == {1: "a"}
    assert f"{name!r} is no shard's name and is left alone" in job.notes()
    assert all(
        line.startswith(("| ", "openjd_status: ", "openjd_progress: 100"))
        for line in capsys.readouterr().out.splitlines()
    )


def test_a_folder_among_the_shards_is_left_alone(job: Job) -> None:
    path = job.shard({1: "a"}, job.header("1"))
    (job.results / path.name.replace("lines-000000001", "lines-000000002")).mkdir()
    assert job.merge() == 0
    assert job.outcomes() == {1: "a"}


def test_hidden_and_temporary_files_are_not_looked_at(job: Job) -> None:
    job.shard({1: "a"}, job.header("1"))
    (job.results / ".DS_Store").write_bytes(b"\0")
    job.merge()
    assert job.notes() == ""


def without_end(data: bytes) -> bytes:
    """Return a shard without its footer."""
    return b"".join(data.splitlines(keepends=True)[:-1])


NOTHING, FIRST, SECOND = {1: "missing", 2: "missing"}, {1: "a", 2: "missing"}, {1: "missing", 2: "b"}
DAMAGE: dict[str, tuple[Callable[[bytes], bytes], dict[int, str], str]] = {
    "empty": (lambda _: b"", NOTHING, "is left alone"),
    "no header": (lambda data: b"{}\n" + data, NOTHING, "no shard header of this version"),
    "another version": (lambda data: data.replace(b'"shard": 2', b'"shard": 3', 1), NOTHING, "of this version"),
    "a header of other types": (lambda data: data.replace(b'"prompts": "1-2"', b'"prompts": [1]'), NOTHING, "prompts"),
    "binary": (lambda _: b"\x00\xff" * 500, NOTHING, "no header"),
    "nesting without end": (lambda _: b"[" * 100_000 + b"\n", NOTHING, "no header"),
    "without its end": (without_end, {1: "a", 2: "b"}, "damaged"),
    "cut in a line": (lambda data: without_end(data)[:-9], FIRST, "damaged"),
    "a changed byte": (lambda data: data.replace(b'"a"', b'"A"'), {1: "A", 2: "b"}, "damaged"),
    "a broken line": (lambda data: data.replace(b'{"line":1,', b'{"line":1'), SECOND, "damaged"),
    "a record of other types": (
        lambda data: data.replace(b'"dialect":"prompt"', b'"dialect":[]', 1),
        SECOND,
        "damaged",
    ),
    "a figure of another type": (lambda data: data.replace(b":1000001.0", b":[]"), {1: "a", 2: "b"}, "damaged"),
    "a line that is no line": (lambda data: data.replace(b'"line":1,', b'"line":1e3,'), SECOND, "damaged"),
}


@pytest.mark.parametrize(("damage", "expected", "says"), DAMAGE.values(), ids=DAMAGE.keys())
def test_of_a_damaged_shard_what_can_be_read_is_used(
    damage: Any, expected: dict[int, str], says: str, job: Job
) -> None:
    path = job.shard({1: "a", 2: "b"}, job.header("1-2"))
    path.write_bytes(damage(path.read_bytes()))
    assert job.merge("--prompts=1-2") == 0
    assert job.outcomes() == expected
    assert says in job.notes()
    assert repr(path.name) in job.notes()


def test_answers_of_an_interrupted_chunk_are_used_and_said(job: Job) -> None:
    with Writer(job.results, job.header("1-2")) as writer:
        writer.add(record(1, "a", EARLY))
    job.merge()
    assert job.outcomes() == {1: "a", 2: "missing"}
    assert "a chunk of lines 1 to 2 was interrupted; what it had answered is used" in job.notes()


def test_a_line_without_a_result_waits_for_a_job_that_still_runs(job: Job) -> None:
    job.shard({1: "a"})
    for more, told in (("--unfinished=1 of 2 tasks done", "no result yet"), ("", "no worker left a result")):
        assert job.merge("--prompts=1-2", *filter(None, [more])) == 0
        assert told in (job.output / "errors.jsonl").read_text()


def test_with_no_shard_and_no_range_there_is_nothing_to_merge(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    assert job.merge() == 1
    assert "openjd_fail: there is no shard of input.jsonl" in capsys.readouterr().out


def test_another_input_file_is_refused_rather_than_merged_with(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job.shard({1: "a"}, job.header("1"))
    job.input.write_bytes(b'{"prompt": "changed"}\n')
    assert job.merge() == 1
    assert "check the input file and the folder" in capsys.readouterr().out


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([EARLY, LATE, LATE + 100]),
            st.dictionaries(st.integers(1, 5), st.sampled_from(["x", "y", "!p", "!q"])),
        ),
        max_size=5,
    )
)
def test_whatever_the_shards_hold_each_line_has_one_result(
    tmp_path_factory: pytest.TempPathFactory, found: Any
) -> None:
    job = Job(tmp_path_factory.mktemp("merge") / "job", [b'{"id": %d, "prompt": "p%d"}' % (n, n) for n in range(1, 6)])
    for place, (created, results) in enumerate(found):
        job.shard(results, job.header("1-6", created=created, worker=str(place)))
    assert job.merge("--prompts=1-6") == 0
    requested, succeeded, failed, missing, blank, past_end = job.counts()
    assert requested == 6 == succeeded + failed + blank + past_end
    assert list(job.outcomes()) == [1, 2, 3, 4, 5]
    for line in range(1, 6):
        told = [results[line] for _, results in found if line in results]
        assert (job.outcomes()[line] in ("x", "y")) == any(not text.startswith("!") for text in told)
        assert (job.outcomes()[line] == "missing") == (not told)
    assert missing == sum(all(line not in results for _, results in found) for line in range(1, 6))


def test_finished_files_of_another_input_are_not_replaced_without_a_word(
    job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    job.shard({1: "a"}, job.header("1"))
    job.merge()
    assert job.notes() == ""
    job.input.write_bytes(b'{"id": 1, "prompt": "mended"}\n')
    job.shard({1: "b"}, job.header("1"))
    assert job.merge() == 0
    assert "were those of another input ('input.jsonl', 5 lines) and are replaced" in job.notes()
    assert "are replaced; its answers are still in results/" in capsys.readouterr().out


def test_a_chunk_that_ends_while_the_merge_runs_is_read_to_its_end(job: Job) -> None:
    """Its partial file gets its final name between two looks at it."""
    with Writer(job.results, job.header("1-2")) as writer:
        for line in (1, 2):
            writer.add(record(line, f"answer {line}", EARLY))
        (partial,) = job.results.iterdir()
        shard = shards.open_shard(partial)
        writer.finish([Load("load")])
    assert [each.head["line"] for each in shard.records()] == [1, 2]
    assert shards.open_shard(partial).sound
    with shards.open_file(partial) as file:
        assert file.read().count(b"answer") == 2


def test_what_a_job_asked_for_is_read_once_for_all_its_shards(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    of_values = merge.of_values
    monkeypatch.setattr(merge, "of_values", lambda text, size: read.append(text) or of_values(text, size))
    for line in (1, 2, 4):
        job.shard({line: "x"}, replace(job.header(), lines=str(line), worker=f"w{line}"))
    job.merge()
    assert read == ["1-5"]


def test_failures_all_over_the_file_take_no_range_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(tmp_path, [b'{"prompt": "x"}'] * 20_000)
    job.shard(dict.fromkeys(range(1, 20001, 2), "x"), job.header("1-20000"))
    asked: list[int] = []
    raw = merge.Input.raw
    monkeypatch.setattr(merge.Input, "raw", lambda of, lines: asked.append(len(lines.ranges)) or raw(of, lines))
    job.merge()
    assert job.counts()[:4] == [20_000, 10_000, 10_000, 10_000]
    assert (job.output / "retry.jsonl").read_bytes() == b'{"prompt": "x"}\n' * 10_000
    assert max(asked) <= 4096
