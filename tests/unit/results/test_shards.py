"""Shards: whole or not there, one name each, and readable by what the document says of their format."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.note import Load
from results import shards
from results.partial import Writer, find_leftovers
from results.record import Record
from results.shards import Header, ShardError

HEADER = Header(
    input_sha256="ab" * 32,
    input_name="prompts.jsonl",
    input_lines=100,
    lines="1-5",
    prompts="1-100",
    block_size=1,
    model="m",
    job="0123456789ab",
    worker="w",
    created=1_700_000_000.25,
)
ANSWER = Record(
    {"line": 1, "status": "succeeded", "dialect": "prompt"}, b'{"id": 1, "output": {"x": ",\\"output\\":"}}'
)


def written(folder: Path, *records: Record, header: Header = HEADER) -> Path:
    """Write a shard."""
    with Writer(folder, header) as writer:
        for record in records:
            writer.add(record)
        return writer.finish([Load("load", 1_699_999_990.5, 9.25)])


def test_a_shard_appears_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    with Writer(tmp_path, HEADER) as writer:
        writer.add(ANSWER)
        assert [path.name[0] for path in tmp_path.iterdir()] == ["."]
        path = writer.finish([])
    assert list(tmp_path.iterdir()) == [path]
    assert shards.NAME.fullmatch(path.name)
    assert path.name.startswith("lines-000000001-000000005.in-abababababab.20231114T221320Z-")


def test_a_shard_can_be_read_with_nothing_but_json_and_a_digest(tmp_path: Path) -> None:
    lines = written(tmp_path, ANSWER).read_bytes().splitlines(keepends=True)
    header, record, footer = map(json.loads, lines)
    assert header["shard"] == shards.VERSION
    assert header["input"] == {"sha256": "ab" * 32, "name": "prompts.jsonl", "lines": 100}
    assert record == {"line": 1, "status": "succeeded", "dialect": "prompt", "output": json.loads(ANSWER.output)}
    assert footer == {
        "end": True, "records": 1, "loads": ["load"], "load_seconds": [9.25], "load_began": [1_699_999_990.5],
        "sha256": hashlib.sha256(b"".join(lines[:-1])).hexdigest(),
    }  # fmt: skip


def test_an_output_line_is_kept_byte_for_byte(tmp_path: Path) -> None:
    output = '{"a":1.0,  "b":"\u2028é\\u00e9", "output":{"output":","}}'.encode()
    shard = shards.open_shard(written(tmp_path, replace(ANSWER, output=output)))
    assert list(shard.records()) == [Record(ANSWER.head, output)]


def test_names_of_attempts_jobs_and_workers_never_collide(tmp_path: Path) -> None:
    """Neither do those of two hosts with one name, one process id and one moment."""
    assert len({written(tmp_path).name for _ in range(50)}) == 50


def test_the_answers_of_an_interrupted_attempt_are_found_and_its_failures_are_tried_again(tmp_path: Path) -> None:
    failed, crash = (
        Record({"line": line, "status": "failed", "code": code, "dialect": "prompt"}, b"{}")
        for line, code in ((2, "x"), (3, "server_crash"))
    )
    with Writer(tmp_path, HEADER) as writer:
        for record in (ANSWER, failed, crash):
            writer.add(record)
    kept, files = find_leftovers(tmp_path, replace(HEADER, created=HEADER.created + 1))
    assert kept == {1: ANSWER, 3: crash}, "a row that kills the server would do so again"
    assert files == list(tmp_path.iterdir())
    with Writer(tmp_path, replace(HEADER, created=HEADER.created - 1)) as earlier:
        earlier.add(Record({**ANSWER.head, "line": 3}, b"{}"))
    with Writer(tmp_path, replace(HEADER, created=HEADER.created + 2)) as later:
        later.add(Record({**crash.head, "line": 1}, b"{}"))
    kept, files = find_leftovers(tmp_path, replace(HEADER, created=HEADER.created + 3))
    assert {line: record.head["status"] for line, record in kept.items()} == {1: "succeeded", 3: "succeeded"}
    assert sorted(files) == sorted(tmp_path.iterdir())


@pytest.mark.parametrize(
    "header",
    [replace(HEADER, input_sha256="cd" * 32), replace(HEADER, job="ba9876543210"), replace(HEADER, lines="7-9")],
    ids=["another input", "another job", "other lines"],
)
def test_what_an_attempt_at_something_else_left_is_not_taken(header: Header, tmp_path: Path) -> None:
    with Writer(tmp_path, HEADER) as writer:
        writer.add(ANSWER)
    assert find_leftovers(tmp_path, header) == ({}, [])


def test_a_file_with_answers_for_other_chunks_too_stays_for_them(tmp_path: Path) -> None:
    with Writer(tmp_path, HEADER) as writer:
        for line in (1, 2):
            writer.add(Record({**ANSWER.head, "line": line}, b"{}"))
    kept, files = find_leftovers(tmp_path, replace(HEADER, lines="1"))
    assert (list(kept), files) == ([1], [])


def test_the_file_of_a_writer_that_still_writes_is_left_alone(tmp_path: Path) -> None:
    with Writer(tmp_path, HEADER) as writer:
        writer.add(ANSWER)
        assert find_leftovers(tmp_path, HEADER) == ({}, [])


def test_a_write_that_does_not_fit_leaves_the_records_before_it_whole(tmp_path: Path) -> None:
    with Writer(tmp_path, HEADER) as writer:
        writer.add(ANSWER)

        class Full:
            """A file on a disk with room for five bytes."""

            file = writer._file

            def write(self, data: bytes) -> int:
                return self.file.write(data[:5])

            def __getattr__(self, name: str) -> Any:
                return getattr(self.file, name)

        writer._file = Full()  # type: ignore[assignment]
        with pytest.raises(OSError, match=re.escape(os.strerror(28))):
            writer.add(replace(ANSWER, head={**ANSWER.head, "line": 2}))
    kept, _ = find_leftovers(tmp_path, HEADER)
    assert list(kept) == [1]
    assert next(tmp_path.iterdir()).read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("name", [f"input_{x}" for x in ("sha256", "name", "lines")] + ["lines", "created", "job"])
@pytest.mark.parametrize("value", [None, [], {}, True, -1, "openjd_fail: x", 1e300, float("nan")])
def test_a_header_of_other_types_is_refused(name: str, value: Any) -> None:
    kind = type(getattr(HEADER, name))
    whole = HEADER.as_json()
    (whole["input"] if name.startswith("input_") else whole)[name.removeprefix("input_")] = value
    if type(value) is kind and kind is str:
        Header.from_json(whole)
        return
    with pytest.raises(ShardError):
        Header.from_json(whole)


@pytest.mark.parametrize(("told", "taken"), [("4 copies", "4 copies"), (None, ""), (7, ""), (["x"], "")])
def test_where_servers_ran_is_told_and_a_shard_without_it_is_one(told: Any, taken: str) -> None:
    assert "placement" not in HEADER.as_json()
    assert Header.from_json({**HEADER.as_json(), "placement": told}).placement == taken
    assert Header.from_json(replace(HEADER, placement="4 copies").as_json()).placement == "4 copies"


@pytest.mark.parametrize(
    ("told", "taken"),
    [
        ({"MaxTokens": 9, "Temperature": 1}, {"MaxTokens": 9, "Temperature": 1}),
        ({"MaxTokens": "9", "Temperature": math.nan, "SystemPrompt": None, "BlockSize": True}, {}),
        ({"HfToken": "secret", "InputUrl": "https://signed", "NoSuch": 1}, {}),
        (None, {}),
        ([1], {}),
    ],
    ids=["what is recorded", "other types", "what is never recorded", "nothing", "no object"],
)  # fmt: skip
def test_of_a_job_s_parameters_a_header_gives_those_that_are_recorded(
    told: Any, taken: dict[str, Any], tmp_path: Path
) -> None:
    path = written(tmp_path, header=replace(HEADER, parameters=told))
    assert shards.open_shard(path).header.parameters == taken
