"""What a job cost: its sessions' time by what it went to, what was in vain, and dollars where a price is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.note import Load
from results.cost import price, tell
from results.partial import Writer
from results.record import Record
from results.shards import Header
from results.usage import Usage, find_usages
from results.work import Spent, Time
from support.merge_job import EARLY, LATE, Job, record

FIRST_LOAD = Load("first", EARLY, 30.0)


def header(job: Job, lines: str, entered: float, created: float, **more: Any) -> Header:
    return replace(job.header("1-5", created=created), lines=lines, entered=entered, **more)


def shard(job: Job, head: Header, rows: Mapping[int, tuple[str, float, float]], *loads: Load) -> None:
    """Write a shard; of each line the result, when it was asked and for how long."""
    with Writer(job.results, head) as writer:
        for line, (result, started, seconds) in rows.items():
            found = record(line, result, started, job.lines[line - 1])
            writer.add(Record({**found.head, "seconds": seconds}, found.output))
        writer.finish(loads)


def costs(job: Job, *more: str) -> dict[str, Any]:
    assert job.merge(*more) == 0
    found: dict[str, Any] = job.summary()["cost"]
    return found


def parts(cost: Mapping[str, Any]) -> dict[str, float]:
    """Return where the seconds went, without what is nothing."""
    told = {**cost, **cost["in_vain"]}
    names = ("load", "answering", "idle", "not_shown", "failed", "loads_again")
    return {name: told[f"{name}_seconds"] for name in names if told[f"{name}_seconds"]}


def test_a_session_is_its_load_its_answers_and_what_lies_between_and_a_load_counts_once(job: Job) -> None:
    shard(job, header(job, "1-2", EARLY, EARLY + 31), {1: ("a", EARLY + 32, 8), 2: ("b", EARLY + 35, 5)}, FIRST_LOAD)
    shard(job, header(job, "4-5", EARLY, EARLY + 50), {4: ("d", EARLY + 52, 8), 5: ("e", EARLY + 52, 8)}, FIRST_LOAD)
    cost = costs(job)
    assert parts(cost) == {"load": 30, "answering": 16, "idle": 14}  # 2 s before the first row, 12 between the tasks
    assert (cost["worker_seconds"], cost["in_vain_seconds"]) == (60, 0)
    assert (cost["sessions"], cost["untold_sessions"], cost["dollars"]) == (1, 0, None)


def test_answers_that_newer_ones_replaced_were_in_vain_with_their_share_of_the_session(job: Job) -> None:
    shard(job, header(job, "1-2", EARLY, EARLY + 30), {1: ("a", EARLY + 30, 10), 2: ("b", EARLY + 30, 10)}, FIRST_LOAD)
    again = Load("again", LATE, 20.0)
    shard(job, header(job, "1", LATE, LATE + 20), {1: ("newer", LATE + 20, 5)}, again)
    cost = costs(job)
    assert parts(cost) == {"load": 15 + 20, "answering": 5 + 5, "not_shown": 20}
    summary = job.summary()
    assert (summary["seconds"], summary["model_loads"]) == (15, 2)


def test_a_run_whose_answers_were_all_replaced_is_in_no_figure_but_in_vain(job: Job) -> None:
    rows = {1: ("a", EARLY + 30, 10), 2: ("b", EARLY + 30, 10)}
    shard(job, header(job, "1-2", EARLY, EARLY + 30), rows, FIRST_LOAD)
    newer = dict.fromkeys(rows, ("newer", LATE + 20, 5.0))
    shard(job, header(job, "1-2", LATE, LATE + 20, worker="other"), newer, Load("again", LATE, 20.0))
    assert parts(costs(job)) == {"load": 20, "answering": 5, "not_shown": 40}
    summary = job.summary()
    assert (summary["seconds"], summary["model_loads"], summary["shards"], summary["workers"]) == (5, 1, 1, 1)
    assert summary["started"] == "1970-01-24T03:33:40Z"


def test_rows_that_failed_and_loads_after_a_death_were_in_vain(job: Job) -> None:
    second = Load("second", EARLY + 40, 20.0)
    rows = {1: ("a", EARLY + 30, 10), 2: ("!server_crash", EARLY + 30, 10), 4: ("d", EARLY + 60, 20)}
    shard(job, header(job, "1-4", EARLY, EARLY + 30), rows, FIRST_LOAD, second)
    assert parts(costs(job)) == {"load": 22.5, "answering": 22.5, "failed": 15, "loads_again": 20}


def test_what_another_attempt_was_paid_for_is_none_of_the_session_s(job: Job) -> None:
    rows = {1: ("kept", EARLY - 100, 10), 2: ("b", EARLY + 30, 10)}
    shard(job, header(job, "1-2", EARLY, EARLY + 30), rows, FIRST_LOAD)
    cost = costs(job)
    assert parts(cost) == {"load": 30, "answering": 20}
    assert (cost["sessions"], cost["untold_sessions"]) == (2, 1)


def test_a_chunk_that_runs_tells_what_came_before_it_for_its_load(job: Job) -> None:
    with Writer(job.results, header(job, "1-2", EARLY, EARLY + 30)) as writer:
        writer.add(record(1, "a", EARLY + 30, job.lines[0]))
        assert parts(costs(job)) == {"load": 30, "answering": 1}


def test_a_server_that_was_given_has_no_load(job: Job) -> None:
    given = {"ServerUrl": "http://127.0.0.1:1"}
    shard(job, header(job, "1", EARLY, EARLY + 30, parameters=given), {1: ("a", EARLY + 30, 10)})
    assert parts(costs(job)) == {"answering": 10, "idle": 30}


def test_shards_of_earlier_releases_tell_their_answers_alone(job: Job) -> None:
    shard(job, job.header("1"), {1: ("a", EARLY + 30, 10)}, Load("first"))
    cost = costs(job)
    assert parts(cost) == {"answering": 10}
    assert cost["untold_sessions"] == 1


def test_a_price_is_the_command_line_s_or_the_job_s_own(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    known = {"PricePerHour": 36.0}
    shard(job, header(job, "1", EARLY, EARLY + 30, parameters=known), {1: ("a", EARLY + 30, 10)}, FIRST_LOAD)
    cost = costs(job)
    assert (cost["price_per_hour"], cost["dollars"]) == (36, 0.4)
    assert cost["dollars_per_million_tokens"] == pytest.approx(80_000)  # five tokens
    said = capsys.readouterr().out
    assert "worker time of these answers: 40.0 s (load 30.0 s, answering 10.0 s, idle 0.0 s), $0.40 at $36 an" in said
    assert costs(job, "--price-per-hour=72")["dollars"] == 0.8
    assert job.summary()["parameters"]["PricePerHour"] == 72


def test_the_service_s_figure_stays_beside_the_shards_and_tells_the_price_where_nobody_did(job: Job) -> None:
    shard(job, header(job, "1", EARLY, EARLY + 30), {1: ("a", EARLY + 30, 10)}, FIRST_LOAD)
    jobs = [f"job-{digit * 32}" for digit in "ab"]
    for name in jobs:
        Usage(name, 60.0, 0.5).write(job.results)
    for _ in range(2):
        cost = costs(job)
        assert cost["service"] == {"jobs": jobs, "runtime_seconds": 120, "dollars": 1}
        assert (cost["price_per_hour"], cost["dollars"]) == (30, 0.3333)
    assert job.notes() == ""


@pytest.mark.parametrize("text", ["", "[]", '{"job": "j"}', '{"job": "j", "runtime_seconds": "x", "dollars": 1}'])
def test_a_note_of_the_service_s_figure_that_is_damaged_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / f"usage-job-{'a' * 32}.json").write_text(text)
    assert find_usages(tmp_path) == []


def test_what_was_in_vain_and_what_the_service_counted_is_told() -> None:
    cost = price(Spent(Time(answering=3600.0, failed=360.0), 1, 0), 2_000_000, 1.5, [Usage("job", 7200.0)])
    assert tell(cost) == [
        (
            "worker time of these answers: 60.0 min (load 0.0 s, answering 60.0 min, idle 0.0 s), "
            "$1.50 at $1.5 an hour, $0.75 per million tokens"
        ),
        "in vain besides: 6.0 min of workers, $0.15",
        "the service counted 2.0 h of workers",
    ]


@pytest.mark.parametrize("repeats", [False, True])
def test_answers_of_an_earlier_job_are_counted_and_said_where_new_ones_would_be_others(repeats: bool, job: Job) -> None:
    with Writer(job.results, job.header("1-2")) as writer:
        for line in (1, 2):
            found = record(line, "old", EARLY, job.lines[line - 1])
            writer.add(Record({**found.head, **({"repeats": 1} if repeats else {})}, found.output))
        writer.finish([])
    job.shard({4: "d"}, replace(job.header("4", created=LATE), job="newer"))
    job.merge()
    assert job.summary()["reused"] == 2
    told = "2 answers are reused of an earlier job (begun 1970-01-12T13:46:40Z)"
    assert (told in job.notes()) == (not repeats)
