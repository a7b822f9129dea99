"""tools/run_local.py: what it asks of this machine, what it refuses, and how it ends."""

from __future__ import annotations

import argparse
import gzip
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import run_local
from job.moment import read_moment
from job.parameters import BY_NAME
from local import local_job
from local.local_job import STOPPED
from submission import request
from support.fake_server import MODEL, FakeServer, Fault
from support.local_machine import Ran, argv, variables
from support.merge_job import Job
from support.programs import read_until
from support.submitting import rows_file


def test_by_default_every_row_of_the_sample_is_asked_for(ran: Ran) -> None:
    assert run_local.main([]) == 0
    assert (ran.jobs[0]["InputFile"], ran.jobs[0]["Prompts"]) == (str(run_local.SAMPLE), "1-24")


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [(["--prompts", "2,5,8-9"], "2,5,8-9"), (["-p", "Prompts=1-10:2"], "1-10:2"), (["-p", "BlockSize=10"], "1-3")],
    ids=["argument", "parameter", "blocks"],
)
def test_the_range_is_what_was_asked_for(arguments: list[str], chosen: str, ran: Ran) -> None:
    assert run_local.main(arguments) == 0
    assert ran.jobs[0]["Prompts"] == chosen


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl.gz", b'{"prompt":"x"}\n' * 3), ("a.jsonl", gzip.compress(b'{"prompt":"x"}\n' * 3))]
)
def test_lines_are_counted_by_what_the_file_holds_and_not_by_its_name(
    name: str, content: bytes, tmp_path: Path, ran: Ran
) -> None:
    (tmp_path / name).write_bytes(content)
    assert run_local.main(["--input", str(tmp_path / name)]) == 0
    assert ran.jobs[0]["Prompts"] == "1-3"


@pytest.mark.parametrize(
    ("content", "more", "told"),
    [
        (None, [], "there is no file"),
        (b"", [], "is empty"),
        (gzip.compress(b'{"prompt":"x"}')[:-5], [], "rows.jsonl"),
        (b'{"prompt":"x"}', ["-p", "BlockSize=abc"], "BlockSize must be a whole number, got 'abc'"),
        (b'{"prompt":"x"}', ["-p", "BlockSize=0"], "BlockSize must be at least 1, got 0"),
    ],
    ids=["none", "empty", "cut", "no number", "zero"],
)
def test_what_cannot_be_run_is_told_in_a_sentence(
    content: bytes | None, more: list[str], told: str, tmp_path: Path, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "rows.jsonl").write_bytes(content)
    assert run_local.main(["--input", str(tmp_path / "rows.jsonl"), *more]) == 1
    assert told in capsys.readouterr().err.partition("run_local: ")[2]
    assert ran.jobs == []


def test_an_input_url_needs_its_range(ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_local.main(["-p", "InputUrl=http://127.0.0.1/rows.jsonl"]) == 1
    assert "--prompts" in capsys.readouterr().err


@pytest.mark.parametrize("argument", ["ChunkSize", "=5", "a b=5"])
def test_a_parameter_that_is_not_name_and_value_is_refused(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_local.main(["-p", argument])
    assert "NAME=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 7200), ("90m", 5400), ("1h30m", 5400), ("1d", 86400), ("45s", 45)]
)
def test_a_job_may_be_given_so_much_time(text: str, seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "time", SimpleNamespace(time=lambda: 1_800_000_000.5))
    name, moment = request.stop_within(text)
    assert (name, read_moment(moment)) == ("StopAt", 1_800_000_000 + seconds)


@pytest.mark.parametrize("text", ["", "0h", "soon", "2 hours", "-1h", "2"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="such as 2h"):
        request.stop_within(text)


def test_a_stop_ends_in_a_page_of_what_is_there_and_the_command_that_goes_on(
    job: Job, ran: Ran, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job.shard({1: "one", 2: "two"})
    ran.statuses.append(STOPPED)
    typed = ["--input", str(job.input), "--output-dir", str(job.folder), "-p", "HfToken=hf_hush"]
    typed += ["-p", f"ModelName={BY_NAME['ModelName'].default}"]  # as the shard was asked, without arguments
    monkeypatch.setattr(local_job, "CPU_VLLM_ARGS", ())
    assert run_local.main(typed) == STOPPED
    printed = capsys.readouterr()
    assert printed.out.strip() == str(job.output / "results.html")
    assert (job.outcomes()[1], job.outcomes()[4]) == ("one", "missing")
    assert f"To go on: python3 tools/run_local.py --input {job.input}" in printed.err
    assert "hush" not in printed.err


def test_a_job_that_left_nothing_names_its_log_and_no_page(ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    ran.statuses.append(1)
    assert run_local.main([]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "exit status 1" in printed.err
    assert "openjd.log" in printed.err


def test_a_second_ctrl_c_drops_what_is_in_flight_and_keeps_what_was_answered(tmp_path: Path) -> None:
    held = lambda asked: Fault(wire="hang") if asked.text == "Number 3?" else None  # noqa: E731
    with FakeServer(held) as server:
        typed = ["--input", str(rows_file(tmp_path, 3)), "--output-dir", str(tmp_path / "out")]
        typed += ["-p", f"ServerUrl={server.url}", "-p", f"ModelName={MODEL}"]
        running = subprocess.Popen(
            argv(*typed), env=variables(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        read_until("2/3 rows", running)
        running.send_signal(signal.SIGINT)
        read_until("canceled: nothing more is sent", running)
        running.send_signal(signal.SIGINT)
        said = running.communicate()[0]
    assert running.returncode == STOPPED
    assert "what is in flight is dropped" in said
    assert str(tmp_path / "out" / "output" / "results.html") in said.splitlines()
    assert (tmp_path / "out" / "output" / "output.jsonl").read_text().count('"generated_text"') == 2
