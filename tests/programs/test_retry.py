"""A second job over the lines that failed: by the summary's range, and by retry.jsonl."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.retry import Retry
from rows.source import Source
from support.fake_server import FakeServer, Fault
from support.merge_job import LATE, Job
from support.programs import Session, outcome, rows

FAILING = {3, 8}


def ten_lines(folder: Path, server: FakeServer) -> Session:
    """Run ten lines of which two fail, and merge."""
    session = Session(folder, rows(f"line {n}" for n in range(1, 11)), server.url, options={"max_attempts": "1"})
    session.start().check()
    session.chunk("1-5").check()
    session.chunk("6-10").check()
    session.aggregate().check()
    assert session.summary()["failed"] == 2
    return session


class Flaky:
    """A script that fails two lines until it is mended."""

    broken = True

    def __call__(self, asked: Any) -> Fault | None:
        return Fault(500, b"no") if self.broken and asked.text in {f"line {n}" for n in FAILING} else None


def check_complete(session: Session) -> None:
    """Check that all ten lines have answers, and that merging once more changes nothing."""
    assert [outcome(row) for row in session.written()] == [f"echo: line {n}" for n in range(1, 11)]
    assert [session.summary()[name] for name in ("requested", "succeeded", "failed", "rerun")] == [10, 10, 0, None]
    assert (session.output / "output" / "retry.jsonl").read_bytes() == b""
    before = {name: (session.output / "output" / name).read_bytes() for name in ("output.jsonl", "results.html")}
    session.aggregate().check()
    assert {name: (session.output / "output" / name).read_bytes() for name in before} == before


def test_ten_lines_two_of_them_failing_are_completed_by_the_range_of_the_summary(tmp_path: Path) -> None:
    with FakeServer(flaky := Flaky()) as server:
        first = ten_lines(tmp_path / "first", server)
        flaky.broken = False
        second = Session(tmp_path / "second", [], server.url, prompts=str(first.summary()["rerun"]))
        second.input, second.output = first.input, first.output
        assert second.prompts == "3,8"
        second.start().check()
        second.chunk().check()
        second.aggregate().check()
    check_complete(second)
    assert Counter(server.asked) == Counter({"Hi": 2, **{f"line {n}": 2 if n in FAILING else 1 for n in range(1, 11)}})


def test_ten_lines_two_of_them_failing_are_completed_by_retry_jsonl(tmp_path: Path) -> None:
    with FakeServer(flaky := Flaky()) as server:
        first = ten_lines(tmp_path / "first", server)
        flaky.broken = False
        second = Session(tmp_path / "second", [], server.url, prompts="1-2")
        second.input, second.output = first.output / "output" / "retry.jsonl", first.output
        second.start().check()
        second.chunk().check()
        second.aggregate().check()
    assert [outcome(row) for row in second.written()] == [f"echo: line {n}" for n in range(1, 11)]
    first.aggregate().check()
    check_complete(first)


def test_a_retry_that_fails_again_replaces_no_success_and_can_be_retried(tmp_path: Path) -> None:
    with FakeServer(flaky := Flaky()) as server:
        first = ten_lines(tmp_path / "first", server)
        for attempt in range(2):
            again = Session(tmp_path / f"again {attempt}", [], server.url, prompts="1-2", options={"max_attempts": "1"})
            again.input, again.output = tmp_path / f"retry {attempt}.jsonl", first.output
            shutil.copy(first.output / "output" / "retry.jsonl", again.input)
            again.start().check()
            again.chunk().check()
            again.aggregate().check()
            assert (again.summary()["succeeded"], again.summary()["rerun"]) == (
                (8, "3,8") if attempt == 0 else (10, None)
            )
            flaky.broken = False
    first.aggregate().check()
    check_complete(first)


def test_equal_lines_that_fail_in_different_runs_do_not_undo_each_other(job: Job) -> None:
    job.input.write_bytes(b'{"prompt": "same"}\n' * 3)
    retry = job.folder / "retry.jsonl"
    for failing in (1, 2):
        job.shard({failing: "!x"}, job.header(str(failing), created=LATE))
        job.merge(f"--prompts={failing}")
        shutil.copy(job.output / "retry.jsonl", retry)
        job.shard({1: f"mended {failing}"}, job.header("1", path=retry, created=LATE + failing))
        job.merge(f"--prompts={failing}")
        assert (job.summary()["succeeded"], job.summary()["failed"]) == (failing, 0)


def test_a_damaged_note_of_a_retry_costs_nothing_where_the_first_file_is_there(job: Job) -> None:
    job.shard({1: "a", 2: "!x"}, job.header("1-2"))
    job.merge()
    retry = job.folder / "retry.jsonl"
    shutil.copy(job.output / "retry.jsonl", retry)
    job.shard({1: "mended"}, job.header("1", path=retry, created=LATE))
    job.merge()
    assert job.summary()["succeeded"] == 2
    (job.results / f"retry-{hashlib.sha256(retry.read_bytes()).hexdigest()[:12]}.json").write_text("{")
    assert job.merge() == 0
    assert job.outcomes() == {1: "a", 2: "mended"}


def test_a_retry_in_place_that_left_nothing_to_do_can_be_merged_again(job: Job) -> None:
    job.shard({1: "a", 2: "!x"}, job.header("1-2"))
    job.merge()
    job.input = job.output / "retry.jsonl"
    job.shard({1: "mended"}, job.header("1", created=LATE))
    assert job.merge() == 0
    files = {path.name: path.read_bytes() for path in job.output.iterdir() if path.is_file()}
    assert files["retry.jsonl"] == b""
    assert job.merge() == 0
    assert {path.name: path.read_bytes() for path in job.output.iterdir() if path.is_file()} == files


def test_an_input_among_the_finished_files_may_have_any_name(job: Job) -> None:
    job.shard({1: "a"}, job.header("1"))
    job.input = job.input.rename(job.output / "input.json")
    assert job.merge() == 0
    assert job.outcomes() == {1: "a"}


def test_retry_jsonl_never_stands_there_without_its_note(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    job.shard({1: "a", 2: "!x", 4: "!x"}, job.header("1-4"))
    job.merge()
    before = (job.output / "retry.jsonl").read_bytes()
    job.shard({2: "mended"}, job.header("2", created=LATE))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Retry, "write", full)
    assert job.merge() == 1
    assert (job.output / "retry.jsonl").read_bytes() == before


def test_a_blank_line_that_no_shard_tells_of_stays_blank_after_a_retry(job: Job) -> None:
    job.shard({1: "a"}, replace(job.header("1-4"), lines="1"))
    job.merge()
    assert job.counts() == [4, 1, 2, 2, 1, 0]
    job.input = job.output / "retry.jsonl"
    job.shard({1: "b"}, job.header("1-2", created=LATE))
    job.merge()
    assert job.counts() == [4, 2, 1, 1, 1, 0]
    assert job.summary()["rerun"] == "4"


def test_a_retry_of_every_line_is_the_input_itself(job: Job) -> None:
    del job.lines[2]
    job.input.write_bytes(b"".join(line + b"\n" for line in job.lines))
    job.shard(dict.fromkeys(range(1, 5), "!x"), job.header("1-9"))
    job.merge()
    assert (job.output / "retry.jsonl").read_bytes() == job.input.read_bytes()
    job.merge()
    assert job.counts() == [9, 0, 4, 0, 0, 5]


def test_a_retry_is_read_in_one_pass_and_no_further_than_it_goes(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    job.shard({1: "!x", 2: "!x", 4: "d", 5: "!x"})
    job.merge()
    job.input = job.output / "retry.jsonl"
    job.shard({1: "!y", 2: "b", 3: "!y"}, job.header("1-100000000", created=LATE))
    reads: list[str] = []
    read = Source.read
    monkeypatch.setattr(Source, "read", lambda of, wanted: reads.append(str(wanted)) or read(of, wanted))
    assert job.merge() == 0
    assert reads == ["1-3", "1,3"], "once to see what fits, once to write what failed"
    assert job.counts()[:3] == [5, 2, 2]


@pytest.mark.parametrize("name", ["lines", "blank", "of_lines"])
@pytest.mark.parametrize("value", [[1], 2, "-3--1", float("inf")])
def test_a_note_of_other_types_is_left_alone(name: str, value: Any, job: Job) -> None:
    job.shard({1: "a", 2: "!x"}, job.header("1-2"))
    job.merge()
    [note] = job.results.glob("retry-*.json")
    note.write_text(json.dumps({**json.loads(note.read_text()), name: value}))
    assert job.merge() == 0
    assert job.outcomes() == {1: "a", 2: "x"}


def test_a_note_that_says_more_than_an_older_one_takes_its_place(job: Job) -> None:
    job.shard({1: "a", 2: "!x"}, job.header("1-4"))
    job.merge()
    [note] = job.results.glob("retry-*.json")
    known = json.loads(note.read_text())
    assert known.pop("blank") == "3"
    note.write_text(json.dumps(known))
    note.with_name(note.name.replace(".json", "-2.json")).write_text(json.dumps({**known, "of_name": "old.jsonl"}))
    job.merge()
    shard_count = job.summary()["shards"]
    job.merge()
    assert job.summary()["shards"] == shard_count == 1
    assert json.loads(note.read_text())["blank"] == "3"
    job.input = job.output / "retry.jsonl"
    job.shard({1: "b"}, job.header("1", created=LATE))
    job.merge()
    assert job.summary()["shards"] == 2
