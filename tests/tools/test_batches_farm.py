"""Batches' jobs through `deadline`: submitted once under the batch's name, and found again by it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from batches import farm_jobs
from batches.backend import BackendError, Job
from batches.farm_jobs import FarmJobs

JOB = "job-" + "a" * 32
ENDED = "taskRunStatus: SUCCEEDED\ntaskRunStatusCounts:\n  SUCCEEDED: 3\n"
LISTED = """Displaying 2 of 2 Jobs starting at 0

- name: batch_another
  jobId: job-{b}
  taskRunStatus: READY
- name: batch_x
  jobId: job-{a}
  taskRunStatus: READY
""".format(a="a" * 32, b="b" * 32)


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `deadline` in place that notes how it is called, and says what stands in the file of a command's name."""
    program, notes = tmp_path / "bin" / "deadline", tmp_path / "called"
    program.parent.mkdir()
    program.write_text(
        f"""#!{sys.executable}
import pathlib, sys
with open({str(notes)!r}, "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
said = pathlib.Path({str(tmp_path)!r}, sys.argv[2])
print(said.read_text() if said.exists() else "")
sys.exit(pathlib.Path({str(tmp_path)!r}, sys.argv[2] + " fails").exists())
"""
    )
    program.chmod(0o755)
    notes.write_text("")
    (tmp_path / "submit").write_text(JOB)
    (tmp_path / "get").write_text(ENDED)
    (tmp_path / "list").write_text(LISTED)
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    monkeypatch.setattr(farm_jobs, "LOOK_SECONDS", 0.01)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return notes


@pytest.fixture
def job(tmp_path: Path) -> Job:
    output = str(tmp_path / "results")
    return Job("batch_x", tmp_path, {"InputFile": str(tmp_path / "input.jsonl"), "OutputDir": output})


def run(job: Job, reference: str) -> list[str]:
    noted: list[str] = []
    assert FarmJobs().run(job, reference, noted.append, lambda _: False).is_whole
    return noted


def test_a_new_job_is_submitted_under_its_batchs_name(job: Job, called: Path) -> None:
    assert run(job, "") == [JOB]
    assert "--name batch_x" in called.read_text()
    assert "job list" not in called.read_text()


@pytest.mark.parametrize("reference", ["?", JOB])
def test_a_job_that_may_be_there_is_found_and_not_submitted(reference: str, job: Job, called: Path) -> None:
    assert run(job, reference) == [JOB]
    assert "bundle submit" not in called.read_text()


def test_a_job_that_is_not_there_is_submitted(job: Job, called: Path, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(LISTED.replace("batch_x", "batch_xy"))
    assert run(job, "?") == [JOB]
    assert called.read_text().count("bundle submit") == 1


def test_what_cannot_be_submitted_is_final_and_a_network_that_is_away_is_not(
    job: Job, called: Path, tmp_path: Path
) -> None:
    (tmp_path / "submit").write_text("refused")
    (tmp_path / "submit fails").touch()
    with pytest.raises(BackendError) as refused:
        run(job, "")
    assert not refused.value.again
    (tmp_path / "list fails").touch()
    with pytest.raises(BackendError) as away:
        run(job, "?")
    assert away.value.again
