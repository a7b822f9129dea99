"""A trial asks some lines and shows them, and its answers are part of the result; openjd and the worker are real."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from rows.ranges import Lines
from submission import trial
from submission.trial import Measured
from support.fake_server import MODEL, Asked, FakeServer, Fault
from support.local_machine import argv, variables
from support.merge_job import record
from support.submitting import rows_file


def run(server: FakeServer, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run run_local.py over eight lines."""
    typed = ["--input", str(rows_file(folder, 8)), "--output-dir", str(folder / "out"), *more]
    typed += ["-p", f"ServerUrl={server.url}", "-p", f"ModelName={MODEL}"]
    return subprocess.run(
        argv(*typed), env=variables(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_a_trial_stops_where_nobody_can_be_asked_and_the_rest_completes_it(tmp_path: Path) -> None:
    with FakeServer() as server:
        first = run(server, tmp_path, "--trial", "2", "--price-per-hour", "3600")
        assert first.returncode == 0, first.stderr
        assert server.asked.keys() & {f"Number {n}?" for n in range(1, 9)} == {"Number 1?", "Number 5?"}
        assert "line 5: echo: Number 5?" in first.stderr
        assert "2 of 2 lines have an answer; 10 tokens in" in first.stderr
        assert "at $3600 an hour" in first.stderr
        rest = first.stderr.partition("To ask the rest: ")[2].splitlines()[0]
        assert "--trial" not in shlex.split(rest)
        assert "--price-per-hour" in shlex.split(rest)
        summary = json.loads((tmp_path / "out" / "output" / "summary.json").read_text())
        assert (summary["cost"]["price_per_hour"], summary["cost"]["dollars"] > 0) == (3600, True)
        second = run(server, tmp_path)
    assert second.returncode == 0, second.stderr
    assert "2 answers are reused of an earlier job" in second.stderr
    assert all(server.asked[f"Number {n}?"] == 1 for n in range(1, 9))
    assert (tmp_path / "out" / "output" / "output.jsonl").read_text().count('"generated_text"') == 8


def test_yes_goes_on_with_the_rest(tmp_path: Path) -> None:
    with FakeServer() as server:
        done = run(server, tmp_path, "--trial", "3", "--yes")
    assert done.returncode == 0, done.stderr
    assert all(server.asked[f"Number {n}?"] == 1 for n in range(1, 9))
    assert (tmp_path / "out" / "output" / "output.jsonl").read_text().count('"generated_text"') == 8


def test_a_trial_without_an_answer_ends_the_command(tmp_path: Path) -> None:
    def refuses(asked: Asked) -> Fault | None:
        return Fault(400, b'{"error": {"message": "no such thing", "code": 400}}') if "Number" in asked.text else None

    with FakeServer(refuses) as server:
        done = run(server, tmp_path, "--trial", "2", "--yes")
    assert done.returncode == 1
    assert "FAILED (invalid_request)" in done.stderr
    assert sum(server.asked[f"Number {n}?"] for n in range(1, 9)) == 2


@pytest.mark.parametrize(
    ("lines", "count", "chosen"),
    [(range(1, 11), 3, [1, 4, 7]), (range(1, 5), 4, [1, 2, 3, 4]), (range(2, 101, 7), 2, [2, 51])],
    ids=["ten", "all", "scattered"],
)
def test_a_trial_is_spread_over_the_lines(lines: range, count: int, chosen: list[int]) -> None:
    assert list(trial.spread(Lines([lines]), count)) == chosen


def test_what_a_trial_took_is_told_for_the_rest() -> None:
    records = [record(1, "one", 100.0), record(2, "two", 101.0), record(3, "!timeout", 101.0)]
    measured = Measured.of(records)
    assert measured == Measured(answered=2, lines=3, tokens=10, seconds=2.0)
    assert "The other 5,400 lines at this rate: 60.0 minutes of one worker, $1.50 at $1.5 an hour" in measured.tell(
        5400, 1.5
    )
