"""tools/submit.py: with a `deadline` that is written here, and on a farm on loopback with the real one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import submit
from submission import farm_job
from submission.farm_job import FarmJob, FarmJobError, Note
from support.fake_server import MODEL, FakeServer
from support.farm import Farm

ROOT = Path(__file__).resolve().parents[2]
FINE = '{"prompt": "x"}\n'
JOB = "job-" + "a" * 32
ENDED = "taskRunStatus: SUCCEEDED\ntaskRunStatusCounts:\n  PENDING: 0\n  SUCCEEDED: 3\n"


def rows_file(folder: Path, count: int) -> Path:
    path = folder / "prompts.jsonl"
    path.write_text("".join(json.dumps({"id": n, "prompt": f"Number {n}?"}) + "\n" for n in range(1, count + 1)))
    return path


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put a `deadline` in place that notes its arguments and the bundle's values, and says that the job has ended."""
    program = tmp_path / "bin" / "deadline"
    program.parent.mkdir()
    notes = tmp_path / "called"
    program.write_text(
        f"""#!{sys.executable}
import pathlib, sys
with open({str(notes)!r}, "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1:3] == ["bundle", "submit"]:
    values = pathlib.Path(sys.argv[3], "parameter_values.json").read_text()
    pathlib.Path({str(notes)!r} + ".json").write_text(values)
if sys.argv[1:3] == ["job", "get"]:
    print({ENDED!r})
if sys.argv[1:3] == ["bundle", "submit"] and pathlib.Path({str(tmp_path)!r}, "no farm").exists():
    print(pathlib.Path({str(tmp_path)!r}, "no farm").read_text())
    sys.exit(2)
if sys.argv[1:3] == ["bundle", "submit"]:
    print("Job creation completed successfully\\n{JOB}")
if sys.argv[1:3] == ["job", "download-output"] and pathlib.Path({str(tmp_path)!r}, "refuse").exists():
    sys.exit("no such queue")
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    monkeypatch.setattr(farm_job, "merge", lambda _: True)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("VLLM_BATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return notes


def submitted_values(notes: Path) -> dict[str, str]:
    values = json.loads(notes.with_suffix(".json").read_text(encoding="utf-8"))["parameterValues"]
    return {each["name"]: each["value"] for each in values}


@pytest.mark.parametrize("prompts", [(), ("--prompts", "all")], ids=["unsaid", "all"])
def test_every_line_is_asked_for_in_sizes_that_suit_the_file(
    said: Path, tmp_path: Path, prompts: tuple[str, ...]
) -> None:
    assert submit.main([str(rows_file(tmp_path, 500)), "--no-wait", *prompts]) == 0
    values = submitted_values(said)
    assert values["Prompts"] == "1-500"
    assert (values["BlockSize"], values["ChunkSize"]) == ("1", "150")
    assert values["InputFile"] == str(tmp_path / "prompts.jsonl")
    assert values["OutputDir"] == str(tmp_path / "results")


def test_a_file_of_many_thousands_of_lines_is_asked_for_in_blocks(said: Path, tmp_path: Path) -> None:
    assert submit.main([str(rows_file(tmp_path, 15_001)), "--no-wait"]) == 0
    values = submitted_values(said)
    assert values["Prompts"] == "1-301"
    assert values["BlockSize"] == "50"


def test_retry_jsonl_is_copied_before_the_download_replaces_it(said: Path, tmp_path: Path) -> None:
    output = tmp_path / "results" / "output"
    output.mkdir(parents=True)
    retry = rows_file(output, 3).rename(output / "retry.jsonl")
    assert submit.main([str(retry), "--no-wait"]) == 0
    copy = Path(submitted_values(said)["InputFile"])
    assert copy.parent == tmp_path / "results"
    assert copy.read_bytes() == retry.read_bytes()


def test_what_is_given_wins_and_any_parameter_passes(said: Path, tmp_path: Path) -> None:
    file = str(rows_file(tmp_path, 50))
    given = ["--prompts", "2-3", "-p", "SystemPrompt=Be = brief\nplease", "-p", "ChunkSize=7"]
    assert submit.main([file, "--no-wait", "--name", "Mine", "--queue-id", "q", *given]) == 0
    values = submitted_values(said)
    assert values["Prompts"] == "2-3"
    assert values["SystemPrompt"] == "Be = brief\nplease"
    assert values["ChunkSize"] == "7"
    assert "--queue-id q --name Mine" in said.read_text(encoding="utf-8")


def test_no_value_is_on_a_command_line_and_no_secret_is_noted(
    said: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    plain = subprocess.Popen

    def watched(command: list[str], *rest: Any, **named: Any) -> Any:
        started.append(command)
        return plain(command, *rest, **named)

    monkeypatch.setattr(subprocess, "Popen", watched)
    submit.main(
        [str(rows_file(tmp_path, 5)), "--no-wait", "-p", "HfToken=hf_hush", "-p", "OutputUrl=https://x/?sig=hush"]
    )
    assert submitted_values(said)["HfToken"] == "hf_hush"
    assert "hush" not in str(started)
    assert "hush" not in (tmp_path / "cache" / "jobs" / f"{JOB}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "arguments"),
    [
        ("broken\n", ()),
        ("", ()),
        ('{"prompt": "x"}\n', ("-p", "MaxTokens=many")),
        ('{"prompt": "x"}\n', ("--prompts", "a")),
    ],
    ids=["no good row", "empty", "parameter", "range"],
)
def test_nothing_is_submitted_that_could_not_succeed(
    said: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "prompts.jsonl").write_text(content, encoding="utf-8")
    assert submit.main(["prompts.jsonl", *arguments]) == 2
    assert "NOT SUBMITTED" in capsys.readouterr().err
    assert not said.exists()


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
    monkeypatch.setattr(farm_job, "merge", lambda parameters: merged.append(parameters) or True)
    submit.main([str(rows_file(tmp_path, 5)), "--no-wait", "-p", "MaxTokens=9"])
    assert submit.main(["--resume", JOB]) == 0
    assert merged[-1]["MaxTokens"] == "9"
    other = "job-" + "b" * 32
    assert submit.main(["--resume", other]) == 0
    assert f"--resume {other} FILE --output-dir FOLDER" in capsys.readouterr().err
    assert submit.main(["--resume", other, "prompts.jsonl", "--output-dir", "there"]) == 0
    assert merged[-1] == {"InputFile": str(tmp_path / "prompts.jsonl"), "OutputDir": str(tmp_path / "there")}
    said.unlink()
    assert submit.main(["--resume", other, "nowhere.jsonl", "--output-dir", "there"]) == 2
    assert "there is no file nowhere.jsonl" in capsys.readouterr().err
    assert not said.exists()


def test_a_path_that_goes_up_is_submitted_as_where_it_leads(said: Path, tmp_path: Path) -> None:
    """The worker has a copy of the folders that files are in: the folder that ".." leaves is not in it."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "t.jinja").write_text("{{ prompt }}", encoding="utf-8")
    rows_file(tmp_path, 5)
    template = "PromptTemplateFile=sub/../t.jinja"
    assert submit.main(["sub/../prompts.jsonl", "--output-dir", "sub/../out", "--no-wait", "-p", template]) == 0
    names = {"InputFile": "prompts.jsonl", "OutputDir": "out", "PromptTemplateFile": "t.jinja"}
    values = submitted_values(said)
    assert {name: values[name] for name in names} == {name: str(tmp_path / path) for name, path in names.items()}


def test_a_path_is_made_whole_also_when_the_input_is_fetched(said: Path, tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text("{{ prompt }}", encoding="utf-8")
    given = ["-p", "InputUrl=http://127.0.0.1/x", "-p", "PromptTemplateFile=t.jinja", "--prompts", "1-5", "--no-wait"]
    assert submit.main(given) == 0
    assert submitted_values(said)["PromptTemplateFile"] == str(tmp_path / "t.jinja")


def test_local_runs_the_same_parameters_on_this_machine(
    said: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[dict[str, str]] = []
    monkeypatch.setattr(submit.run_local, "run", lambda *, parameters, **_: ran.append(parameters) or 0)
    file = str(rows_file(tmp_path, 500))
    assert submit.main([file, "--local", "-p", "MaxTokens=9"]) == 0
    assert submit.main([file, "--no-wait", "-p", "MaxTokens=9"]) == 0
    values = submitted_values(said)
    values.pop("JobScriptDir")
    assert ran == [values]


@pytest.mark.parametrize(
    ("details", "status", "progress"),
    [
        (ENDED, "SUCCEEDED", "3 of 3 tasks done"),
        (
            "taskRunStatus: RUNNING\ntaskRunStatusCounts:\n  RUNNING: 2\n  FAILED: 1\n  SUCCEEDED: 4\nother: 9\n",
            "RUNNING",
            "4 of 7 tasks done, 2 running, 1 failed",
        ),
        ("lifecycleStatus: CREATE_IN_PROGRESS\n", "", ""),
        ("lifecycleStatus: CREATE_FAILED\n", "CREATE_FAILED", ""),
        ("lifecycleStatus: UPDATE_SUCCEEDED\ntaskRunStatus: READY\n", "READY", ""),
        ("", "", ""),
    ],
    ids=["ended", "at work", "being made", "never made", "changed", "nothing"],
)
def test_the_progress_is_read_from_what_deadline_prints(details: str, status: str, progress: str) -> None:
    assert farm_job.progress_in(details) == (status, progress)


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
    monkeypatch.setattr(FarmJob, "wait", lambda _: "FAILED")
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


# -- on a farm ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    with Farm(tmp_path_factory.mktemp("farm")) as started:
        yield started


def run_submit(farm: Farm, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**farm.environment, "VLLM_BATCH_CACHE": str(folder / "cache")}
    command = [sys.executable, "-B", str(ROOT / "tools" / "submit.py"), *arguments]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=900
    )


@pytest.mark.farm
def test_a_second_job_into_one_folder_completes_the_first(farm: Farm, tmp_path: Path) -> None:
    rows_file(tmp_path, 20)
    farm.deadline("config", "set", "settings.allow_bundle_hooks", "true")
    with FakeServer() as server:
        common = ["prompts.jsonl", "--output-dir", "out", "-p", f"ServerUrl={server.url}", "-p", f"ModelName={MODEL}"]
        first = run_submit(farm, tmp_path, *common, "--prompts", "1-5")
        assert first.returncode == 0, first.stderr
        assert "[pre-submission hook 1] prompts.jsonl: 5 of 5 rows are fine" in first.stderr
        second = run_submit(farm, tmp_path, *common, "--prompts", "6-20", "--no-wait")
        again = run_submit(farm, tmp_path, "--resume", farm.job_in(second.stderr).id)
    assert again.returncode == 0, again.stderr
    output = tmp_path / "out" / "output"
    assert again.stdout.strip() == str(output / "results.html")
    found = [json.loads(line) for line in (output / "output.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in found] == list(range(1, 21))
    assert all(row["generated_text"] == f"echo: {row['prompt']}" for row in found)
    assert not [path.name for path in output.iterdir() if "(1)" in path.name]
    assert json.loads((output / "summary.json").read_text(encoding="utf-8"))["requested"] == 20


@pytest.mark.farm
def test_ctrl_c_leaves_the_job_and_says_how_to_come_back(farm: Farm, tmp_path: Path) -> None:
    rows_file(tmp_path, 5)
    command = [
        sys.executable,
        "-B",
        str(ROOT / "tools" / "submit.py"),
        "prompts.jsonl",
        "-p",
        "ServerUrl=http://127.0.0.1:9",
    ]
    environment = {**farm.environment, "VLLM_BATCH_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr
        lines = iter(running.stderr.readline, "")
        submitted = next(line for line in lines if line.startswith("submitted "))
        running.send_signal(signal.SIGINT)
        rest = "".join(lines)
    assert running.returncode == 130
    job = farm.job_in(submitted)
    assert f"--resume {job.id}" in rest
    assert not job.canceled
    farm.cancel(job)
