"""tools/submit.py: what it submits, with a `deadline` that is written here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import submit
from local.local_job import CPU_VLLM_ARGS
from submission.farm_job import make_bundle
from submission.template import CLIENT_PACKAGES
from support.local_machine import Ran
from support.submitting import JOB, rows_file, submitted_values
from support.tables import result


@pytest.mark.parametrize("prompts", [(), ("--prompts", "all")], ids=["unsaid", "all"])
def test_every_line_is_asked_for_in_sizes_that_suit_the_file(
    said: Path, tmp_path: Path, prompts: tuple[str, ...]
) -> None:
    assert submit.main([str(rows_file(tmp_path, 500)), "--no-wait", *prompts]) == 0
    values = submitted_values(said)
    assert (values["Prompts"], values["BlockSize"], values["ChunkSize"]) == ("1-100", "5", "100"), "one task of 500"
    assert values["InputFile"] == str(tmp_path / "prompts.jsonl")
    assert values["OutputDir"] == str(tmp_path / "results")


def test_a_file_of_many_thousands_of_lines_is_asked_for_in_blocks(said: Path, tmp_path: Path) -> None:
    assert submit.main([str(rows_file(tmp_path, 15_001)), "--no-wait"]) == 0
    values = submitted_values(said)
    assert (values["Prompts"], values["BlockSize"], values["ChunkSize"]) == ("1-301", "50", "61"), "five tasks"


def test_a_range_that_is_named_gets_sizes_too(said: Path, tmp_path: Path) -> None:
    assert submit.main([str(rows_file(tmp_path, 500)), "--no-wait", "--prompts", "101-200"]) == 0
    values = submitted_values(said)
    assert (values["Prompts"], values["BlockSize"], values["ChunkSize"]) == ("101-200", "1", "100")


def test_workers_that_are_known_get_tasks_alike(said: Path, tmp_path: Path) -> None:
    assert submit.main([str(rows_file(tmp_path, 15_000)), "--no-wait", "--workers", "2"]) == 0
    values = submitted_values(said)
    assert -(-int(values["Prompts"].removeprefix("1-")) // int(values["ChunkSize"])) == 4, "two for each"


def test_a_job_for_a_server_that_runs_asks_for_no_gpu(said: Path, tmp_path: Path) -> None:
    parameters = {"OutputDir": str(tmp_path), "ServerUrl": "http://127.0.0.1/v1"}
    make_bundle(tmp_path, parameters)
    assert "amount.worker" not in (tmp_path / "template.yaml").read_text(encoding="utf-8")
    assert CLIENT_PACKAGES in (tmp_path / "parameter_values.json").read_text(encoding="utf-8")


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
    ("content", "arguments", "told"),
    [
        ("broken\n", (), "has no line that begins a JSON object"),
        ("", (), "is empty"),
        ('{"prompt": "x"}\n', ("-p", "MaxTokens=many"), "MaxTokens must be a whole number, got 'many'"),
        ('{"prompt": "x"}\n', ("-p", "MaxAttempts=0"), "MaxAttempts must be at least 1, got 0"),
        ('{"prompt": "x"}\n', ("-p", "MaxToken=9"), "there is no parameter MaxToken; did you mean MaxTokens?"),
        ('{"prompt": "x"}\n', ("--prompts", "a"), "is not a range"),
    ],
    ids=["no good row", "empty", "parameter", "bounds", "name", "range"],
)
def test_nothing_is_submitted_that_could_not_succeed(
    said: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "prompts.jsonl").write_text(content, encoding="utf-8")
    assert submit.main(["prompts.jsonl", *arguments]) == 2
    assert told in capsys.readouterr().err.partition("NOT SUBMITTED: ")[2]
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


def test_local_runs_the_same_parameters_on_this_machine(said: Path, ran: Ran, tmp_path: Path) -> None:
    file = str(rows_file(tmp_path, 500))
    assert submit.main([file, "--local", "-p", "MaxTokens=9"]) == 0
    assert submit.main([file, "--no-wait", "-p", "MaxTokens=9"]) == 0
    values = submitted_values(said)
    values.pop("JobScriptDir")
    machine_s = {"ModelName": str(tmp_path / "model"), "VllmArgs": " ".join(CPU_VLLM_ARGS)}
    assert ran.jobs == [machine_s | values]


def test_a_table_is_made_at_the_end_of_what_there_is(said: Path, ran: Ran, tmp_path: Path) -> None:
    output = tmp_path / "results" / "output"
    output.mkdir(parents=True)
    line = result({"id": 1, "prompt": "p"}, {"mood": "good"})
    (output / "output.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    ran.statuses = [0, 1]
    for status in (0, 1):
        table = tmp_path / f"{status}.csv"
        assert submit.main([str(rows_file(tmp_path, 5)), "--local", "--table", str(table)]) == status
        assert table.read_text(encoding="utf-8-sig").splitlines() == ["id,prompt,mood", "1,p,good"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--table", "t.doc"], "does not say its form"),
        (["--table", "t.csv", "--no-wait"], "leave out --no-wait or --table"),
    ],
)
def test_a_table_that_could_not_be_made_is_refused_first(
    said: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str], told: str
) -> None:
    assert submit.main([str(rows_file(tmp_path, 5)), *given]) == 2
    assert told in capsys.readouterr().err
    assert not said.exists()
