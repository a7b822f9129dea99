"""A job that is followed shows its first answers and a page while it runs, and ends when too many lines fail."""

from __future__ import annotations

import json
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from submission import merging
from submission.arrivals import Arrivals, FirstAnswers
from submission.farm_job import FarmJob, FarmJobError, Progress
from submission.follow import ENOUGH, Follower, Following
from submission.on_farm import _Watch
from submission.pace import Pace
from submission.request import Request
from support.fake_server import MODEL, FakeServer, Fault
from support.local_machine import argv, variables
from support.merge_job import EARLY, LATE, Job
from support.programs import read_until
from support.submitting import JOB, rows_file


def request_of(job: Job) -> Request:
    """Return the request that a job's shards are answers to."""
    return Request({"InputFile": str(job.input), "OutputDir": str(job.folder), "Prompts": f"1-{len(job.lines)}"})


def follow(job: Job, stop_above: float | None = None) -> Follower:
    """Return what follows a job whose shards are still to come."""
    request = request_of(job)
    return Following(stop_above).start(request, FirstAnswers(Arrivals(request.output), request.answers))


def lines(count: int) -> list[bytes]:
    return [json.dumps({"id": n, "prompt": f"{n}"}).encode() for n in range(1, count + 1)]


def test_what_arrives_is_merged_as_unfinished_and_the_first_answers_are_shown(
    job: Job, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("submission.follow.time.time", lambda: EARLY + 60)
    job.shard({1: "from before"})
    follower = follow(job)
    assert not follower.look("1 of 2 tasks done")
    assert not (job.output / "results.html").exists()
    job.shard({2: "two", 4: "!timeout", 5: "five"})
    assert not follower.look("1 of 2 tasks done")
    said = capsys.readouterr().err
    assert "line 2: two" in said
    assert "line 5: five" in said
    assert "from before" not in said
    page = job.output / "results.html"
    assert f"so far 2 lines answered, 1 failed, about 40 s left; load it anew for more: {page}" in said
    assert job.summary()["unfinished"] == "1 of 2 tasks done, about 40 s left"
    assert job.summary()["notes"][0].startswith(
        "UNFINISHED: the job still runs (1 of 2 tasks done, about 40 s left); 0"
    )
    job.merge()
    assert "unfinished" not in job.summary()


def test_one_line_is_told_as_one(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    follower = follow(job)
    job.shard({2: "two"})
    follower.look("1 of 2 tasks done")
    assert "so far 1 line answered, 0 failed" in capsys.readouterr().err


def test_the_time_left_is_by_the_pace_of_the_newest_job_since_its_first_task_began(job: Job) -> None:
    job.shard({1: "one", 2: "two"}, job.header("1-2"))
    newer = replace(job.header("1-9", created=LATE), job="newer")  # of nine lines the file has five
    job.shard({1: "!timeout"}, replace(newer, lines="1"))
    job.shard({2: "two"}, replace(newer, lines="2", created=LATE + 100))
    pace = Pace.of(Arrivals(job.output, all_of_it=True))
    assert pace == Pace(LATE, done=2, lines=5)
    assert pace.tell_left(LATE + 200) == ", about 5 min left"


@pytest.mark.parametrize(("done", "now"), [(0, 10.0), (5, 10.0), (2, 0.0)], ids=["nothing", "all", "no time"])
def test_no_time_is_told_where_none_is_left_or_known(done: int, now: float) -> None:
    assert Pace(0.0, done, 5).tell_left(now) == ""


def test_before_the_first_answer_there_is_no_pace(tmp_path: Path) -> None:
    assert Pace.of(Arrivals(tmp_path)) is None


@pytest.mark.parametrize(("failed", "ends"), [(2, False), (3, True)])
def test_a_job_ends_when_more_than_the_share_of_its_lines_fails(failed: int, ends: bool, tmp_path: Path) -> None:
    job = Job(tmp_path / "job", lines(ENOUGH))
    follower = follow(job, stop_above=20)
    job.shard({line: "!timeout" if line <= failed else "fine" for line in range(1, ENOUGH + 1)})
    assert follower.look("") == ends


def test_a_few_failures_at_first_end_nothing(tmp_path: Path) -> None:
    job = Job(tmp_path / "job", lines(ENOUGH))
    follower = follow(job, stop_above=20)
    job.shard(dict.fromkeys(range(1, ENOUGH), "!timeout"))
    assert not follower.look("")


def test_shards_are_fetched_when_tasks_end_and_a_fetch_that_fails_is_tried_again(
    job: Job, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = [FarmJobError("no network"), None, None]
    fetched: list[str] = []

    def fetch(farm_job: FarmJob) -> None:
        fetched.append(farm_job.id)
        if error := outcomes.pop(0):
            raise error

    monkeypatch.setattr(FarmJob, "fetch", fetch)
    watch = _Watch(FarmJob(JOB, []), follow(job))
    for done in (0, 1, 1, 1, 2):
        watch.look(Progress("RUNNING", f"{done} of 3 tasks done", done))
    assert fetched == [JOB] * 3
    assert "not fetched, and tried again: no network" in capsys.readouterr().err


def test_a_job_on_this_machine_shows_a_page_while_a_row_is_held(tmp_path: Path) -> None:
    go = threading.Event()
    held = lambda asked: Fault(until=go.is_set) if asked.text == "Number 5?" else None  # noqa: E731
    with FakeServer(held) as server:
        typed = ["--input", str(rows_file(tmp_path, 5)), "--output-dir", str(tmp_path / "out"), "--follow"]
        typed += ["-p", f"ServerUrl={server.url}", "-p", f"ModelName={MODEL}"]
        running = subprocess.Popen(
            argv(*typed), env=variables(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        said = read_until("so far", running)
        summary = json.loads((tmp_path / "out" / "output" / "summary.json").read_text())
        go.set()
        rest = running.communicate()[0]
    assert running.returncode == 0, said + rest
    assert "line 1: echo: Number 1?" in said
    assert (summary["unfinished"].partition(", about ")[0], summary["succeeded"]) == ("on this machine", 4)
    assert summary["missing"] == 1
    ended = json.loads((tmp_path / "out" / "output" / "summary.json").read_text())
    assert ended["succeeded"] == 5
    assert "unfinished" not in ended


def test_failures_on_this_machine_end_the_job(tmp_path: Path) -> None:
    def refuses(asked: object) -> Fault | None:
        text = getattr(asked, "text", "")
        refusal = Fault(400, b'{"error": {"message": "no such thing", "code": 400}}')
        return Fault(wire="hang") if text == "Number 30?" else refusal if "Number" in text else None

    with FakeServer(refuses) as server:
        typed = ["--input", str(rows_file(tmp_path, 30)), "--output-dir", str(tmp_path / "out")]
        typed += ["-p", f"ServerUrl={server.url}", "-p", f"ModelName={MODEL}", "--stop-if-failed", "20%"]
        running = subprocess.Popen(
            argv(*typed), env=variables(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        said = read_until("lines failed, more than 20%: the job is canceled", running)
        said += read_until("canceled: nothing more is sent", running)
        running.send_signal(2)
        said += running.communicate()[0]
    assert running.returncode != 0
    assert "To go on: " in said


def test_that_the_input_is_not_here_is_said_where_the_finished_files_may_lack_an_answer(
    job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"OutputDir": str(job.folder)}
    job.shard({1: "one"})
    merging.merge(told)
    assert "The input is an InputUrl" in capsys.readouterr().err
    job.merge()
    merging.merge(told)
    assert "The input is an InputUrl" not in capsys.readouterr().err
    job.shard({2: "two"}, replace(job.header(), job="another"))
    merging.merge(told)
    assert "The input is an InputUrl" in capsys.readouterr().err
