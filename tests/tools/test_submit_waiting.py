"""tools/submit.py: waiting for a job, coming back to it, and what `deadline` says meanwhile."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import submit
from submission import farm_job, merging
from submission.farm_job import FarmJob, FarmJobError, Note
from support.submitting import ENDED, JOB, rows_file


def test_a_job_is_waited_for_downloaded_over_what_is_there_and_its_page_printed(
    said: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "out" / "output" / "results.html"
    page.parent.mkdir(parents=True)
    page.touch()
    assert submit.main([str(rows_file(tmp_path, 5)), "--output-dir", "out"]) == 0
    printed = capsys.readouterr()
    assert printed.out.strip() == str(page)
    assert "3 of 3 tasks done" in printed.err
    assert f"--job-id {JOB} --conflict-resolution OVERWRITE --yes" in said.read_text(encoding="utf-8")


def test_resume_goes_on_with_a_noted_job_and_asks_for_folders_where_none_is_noted(
    said: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    merged: list[dict[str, str]] = []
    monkeypatch.setattr(merging, "merge", lambda parameters: merged.append(parameters) or True)
    submit.main([str(rows_file(tmp_path, 5)), "--no-wait", "-p", "MaxTokens=9"])
    assert submit.main(["--resume", JOB]) == 0
    assert merged[-1]["MaxTokens"] == "9"
    assert submit.main(["--resume", JOB, "--price-per-hour", "1.5"]) == 0
    assert (merged[-1]["PricePerHour"], merged[-1]["MaxTokens"]) == ("1.5", "9")
    other = "job-" + "b" * 32
    assert submit.main(["--resume", other]) == 0
    assert f"--resume {other} FILE --output-dir FOLDER" in capsys.readouterr().err
    assert submit.main(["--resume", other, "prompts.jsonl", "--output-dir", "there"]) == 0
    assert merged[-1] == {"InputFile": str(tmp_path / "prompts.jsonl"), "OutputDir": str(tmp_path / "there")}
    said.unlink()
    assert submit.main(["--resume", other, "nowhere.jsonl", "--output-dir", "there"]) == 2
    assert "there is no file nowhere.jsonl" in capsys.readouterr().err
    assert not said.exists()


@pytest.mark.parametrize(
    ("details", "status", "progress", "done"),
    [
        (ENDED, "SUCCEEDED", "3 of 3 tasks done", 3),
        (
            "taskRunStatus: RUNNING\ntaskRunStatusCounts:\n  RUNNING: 2\n  FAILED: 1\n  SUCCEEDED: 4\nother: 9\n",
            "RUNNING",
            "4 of 7 tasks done, 2 running, 1 failed",
            4,
        ),
        ("lifecycleStatus: CREATE_IN_PROGRESS\n", "", "", 0),
        ("lifecycleStatus: CREATE_FAILED\n", "CREATE_FAILED", "", 0),
        ("lifecycleStatus: UPDATE_SUCCEEDED\ntaskRunStatus: READY\n", "READY", "", 0),
        ("", "", "", 0),
    ],
    ids=["ended", "at work", "being made", "never made", "changed", "nothing"],
)
def test_the_progress_is_read_from_what_deadline_prints(details: str, status: str, progress: str, done: int) -> None:
    assert farm_job.read_progress(details)[:3] == (status, progress, done)


def test_a_network_that_is_away_for_a_while_ends_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [FarmJobError("no network"), FarmJobError("no network"), ENDED]

    def answered(*_: str) -> str:
        answer = answers.pop(0)
        if isinstance(answer, FarmJobError):
            raise answer
        return answer

    monkeypatch.setattr(farm_job, "deadline", answered)
    monkeypatch.setattr(farm_job, "FIRST_PAUSE", 0)
    assert FarmJob(JOB, []).wait() == "SUCCEEDED"


@pytest.mark.parametrize("permanent", [farm_job.UsageError, farm_job.NoDeadline])
def test_an_error_that_will_not_pass_ends_the_wait(
    permanent: type[FarmJobError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: str) -> str:
        raise permanent("Missing '--farm-id'")

    monkeypatch.setattr(farm_job, "deadline", refuses)
    monkeypatch.setattr(farm_job, "PATIENCE", 1_000)
    with pytest.raises(permanent, match="--farm-id"):
        FarmJob(JOB, []).wait()


@pytest.mark.parametrize(
    ("printed", "status", "words"),
    [
        ("Missing '--farm-id'", 2, "NOT SUBMITTED: deadline bundle submit ended with exit status 2: see above"),
        ("Waiting for Job to be created...\nno network", 1, "submit: deadline bundle submit ended"),
    ],
    ids=["nothing is submitted", "a job is there"],
)
def test_what_deadline_refuses_ends_with_2_as_long_as_there_is_no_job(
    printed: str, status: int, words: str, said: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "no farm").write_text(printed, encoding="utf-8")
    assert submit.main([str(rows_file(tmp_path, 5))]) == status
    told = capsys.readouterr().err
    assert printed.splitlines()[-1] in told
    assert words in told


def test_the_real_deadline_s_usage_error_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADLINE_CONFIG_FILE_PATH", str(tmp_path / "config"))
    with pytest.raises(farm_job.UsageError, match="--no-such-option"):
        FarmJob(JOB, ["--no-such-option"]).wait()


def test_a_job_that_failed_is_downloaded_and_merged_and_ends_with_1(
    said: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FarmJob, "wait", lambda *_: "FAILED")
    assert submit.main([str(rows_file(tmp_path, 5))]) == 1
    assert "download-output" in said.read_text(encoding="utf-8")


def test_what_deadline_says_reaches_the_person(said: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "refuse").touch()
    assert submit.main([str(rows_file(tmp_path, 5))]) == 1
    assert "no such queue" in capsys.readouterr().err


def test_a_word_that_is_no_job_s_id_is_refused(said: Path) -> None:
    with pytest.raises(FarmJobError, match="is no job's id"):
        Note.read("../../etc/passwd")


def test_without_deadline_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FarmJobError, match="pip install deadline"):
        FarmJob(JOB, []).download()
    assert submit.main([str(rows_file(tmp_path, 5)), "--output-dir", str(tmp_path / "out")]) == 2
    assert "NOT SUBMITTED: the deadline command is not installed" in capsys.readouterr().err
