"""A job over the answers of an earlier one: read out of the queue's bucket where that can be, else after a download."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import run_local
import submit
from submission.farm_output import read_parameters
from support.local_machine import Ran
from support.submitting import ENDED, JOB, rows_file, submitted_values

DIGEST = "0123456789abcdef" * 2
JUDGE = ["--after", JOB, "--output-dir", "judged", "--no-wait"]


def details(folder: Path, **changed: str) -> str:
    """Return what `deadline job get` says of the first job."""
    values = {"InputFile": "/there/a.jsonl", "OutputDir": folder, "Prompts": "1-24", "BlockSize": "'1'", **changed}
    kinds = {"BlockSize": "int", "Prompts": "string"}
    told = "".join(f"  {name}:\n    {kinds.get(name, 'path')}: {value}\n" for name, value in values.items())
    return f"{ENDED}parameters:\n{told}"


@pytest.fixture
def told(said: Path, tmp_path: Path) -> Path:
    """Return the folder with what `deadline` says of a job whose 24 answers are in the bucket, and not here yet."""
    folder = tmp_path / "told"
    folder.mkdir()
    settings = "jobAttachmentSettings:\n  s3BucketName: bucket\n  rootPrefix: Deadline/Cloud\n"
    (folder / "queue-get").write_text(settings)
    (folder / "job-get").write_text(details(tmp_path / "answers"))
    paths = [{"path": f"answers/output/{name}", "hash": DIGEST} for name in ("results/output.jsonl", "output.jsonl")]
    (folder / "manifest-download").write_text(json.dumps({"hashAlg": "xxh128", "paths": paths}))
    return folder


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Put the first job's output where a download leaves it; return its folder."""
    output = tmp_path / "answers" / "output"
    output.mkdir(parents=True)
    rows_file(output, 24).rename(output / "output.jsonl")
    (output / "summary.json").write_text('{"parameters": {"OutputField": "said"}}')
    return output.parent


def test_the_answers_are_read_out_of_the_queue_s_bucket(told: Path, said: Path, tmp_path: Path) -> None:
    template = tmp_path / "judge.jinja"
    template.write_text("Good? {{ generated_text }}")
    assert submit.main([*JUDGE, "--prompt-template-file", "judge.jinja"]) == 0
    values = submitted_values(said)
    assert values["InputUrl"] == f"s3://bucket/Deadline/Cloud/Data/{DIGEST}.xxh128"
    assert "InputFile" not in values
    assert (values["Prompts"], values["BlockSize"], values["ChunkSize"]) == ("1-24", "1", "24")
    assert (values["PromptTemplateFile"], values["OutputField"]) == (str(template), "verdict")
    assert "download-output" not in said.read_text()


def test_what_a_person_sets_counts(told: Path, said: Path) -> None:
    assert submit.main([*JUDGE, "--prompts", "2-5", "-p", "OutputField=mark", "-p", "ChunkSize=2"]) == 0
    values = submitted_values(said)
    assert (values["Prompts"], values["OutputField"], values["ChunkSize"]) == ("2-5", "mark", "2")
    assert values["BlockSize"] == "1", "a chunk of two is two lines"


def refuse_bucket(told: Path) -> None:
    (told / "queue-get").write_text("displayName: no attachments\n")


def fail_job(told: Path) -> None:
    path = told / "job-get"
    path.write_text(path.read_text().replace("SUCCEEDED\n", "FAILED\n", 1))


def leave_nothing(told: Path) -> None:
    (told / "manifest-download").write_text('{"hashAlg": "xxh128", "paths": []}')


def break_list(told: Path) -> None:
    (told / "manifest-download").write_text("no JSON")


def break_lines(told: Path) -> None:
    (told / "job-get").write_text(details(told.parent / "answers", Prompts="|-"))


def note_more(told: Path) -> None:
    note = told.parent / "cache" / "jobs" / f"{JOB}.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps({"OutputDir": str(told.parent / "answers"), "Prompts": "1-100"}))


def answer_some(told: Path) -> None:
    shard = told.parent / "judged" / "output" / "results" / "lines-000000001-000000002.in-x.jsonl"
    shard.parent.mkdir(parents=True)
    shard.touch()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (refuse_bucket, "its queue has no bucket"),
        (fail_job, "it ended as FAILED"),
        (leave_nothing, "it left no output.jsonl of its own"),
        (break_list, "the list of its files cannot be read"),
        (break_lines, "deadline does not tell how many lines"),
        (note_more, "it asked some of the lines"),
        (answer_some, "judged has answers already"),
    ],
)
def test_where_that_cannot_be_the_output_is_downloaded_and_why_is_said(
    change: object, why: str, told: Path, answers: Path, said: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(change)
    change(told)
    assert submit.main(JUDGE) == 0
    values = submitted_values(said)
    assert (values["InputFile"], values["OutputField"]) == (str(answers / "output" / "output.jsonl"), "verdict")
    assert "InputUrl" not in values
    assert f"The output of {JOB} is downloaded: {why}" in capsys.readouterr().err
    assert f"job download-output --job-id {JOB}" in said.read_text()


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        (["--after", JOB, "--output-dir", "answers"], "name another folder"),
        (["--after", JOB, "prompts.jsonl"], "leave out the file"),
        (["--after", JOB, "-p", "InputUrl=s3://a/b"], "leave out the file"),
        (["--after", JOB, "-p", "OutputField=generated_text"], "name another field"),
        (["--after", "nowhere"], "there is no"),
        ([*JUDGE, "--prompt-template-file", "no.jinja"], "PromptTemplateFile"),
    ],
    ids=["one folder", "a file", "an address", "one field", "no folder", "no template"],
)
def test_what_cannot_be_chained_is_refused(
    typed: list[str], why: str, told: Path, said: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert submit.main(typed) == 2
    assert why in capsys.readouterr().err
    assert "bundle submit" not in (said.read_text() if said.exists() else "")


def test_a_job_that_has_not_ended_is_waited_for_or_refused(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = told / "job-get"
    path.write_text(path.read_text().replace("SUCCEEDED\n", "RUNNING\n", 1))
    assert submit.main(JUDGE) == 2
    assert f"{JOB} has not ended" in capsys.readouterr().err


def test_the_folder_of_a_run_on_this_machine_is_read_too(ran: Ran, answers: Path) -> None:
    assert run_local.main(["--after", "answers", "--output-dir", "judged"]) == 0
    assert (ran.jobs[0]["InputFile"], ran.jobs[0]["Prompts"]) == (str(answers / "output" / "output.jsonl"), "1-24")
    assert ran.jobs[0]["OutputField"] == "verdict"
    assert run_local.main(["--after", "answers", "--output-dir", "other", "-p", "OutputField=said"]) == 1
    assert run_local.main(["--after", JOB, "--output-dir", "other"]) == 1
    assert len(ran.jobs) == 1


def test_parameters_are_read_with_their_defaults_and_texts_of_several_lines_are_left_out() -> None:
    said = (
        "parameters:\n  SystemPrompt:\n    string: |\n      Prompts:\n        string: no\n  MaxTokens:\n    int: '7'\n"
    )
    told = read_parameters(said)
    assert (told["MaxTokens"], told["Prompts"], told["OutputField"]) == ("7", "1-10", "generated_text")
    assert "SystemPrompt" not in told
    assert read_parameters('parameters:\n  OutputField:\n    string: "a\\tb"\n')["OutputField"] == "a\tb"
