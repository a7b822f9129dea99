"""The bundle on a farm: real submission, agents, attachments, vLLM and download. Scheduling is the harness's own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfn_stack import Stack
from farm import Farm, Job, tool

pytestmark = [pytest.mark.farm, pytest.mark.vllm]
BUNDLE = Path(__file__).resolve().parent.parent
FILES = {"output.jsonl", "errors.jsonl", "retry.jsonl", "summary.json", "results.html"}
LOAD_SECONDS = 900  # for two models that load at once on a small machine, and what they then have to do
SMALL_MODEL = {
    "ModelName": os.environ.get("VLLM_BATCH_MODEL", ""),
    "MaxModelLen": 2048,
    "VllmArgs": "--dtype float32 --enforce-eager",
}
WORKER = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}  # 1 GiB of cache is plenty for these rows


@pytest.fixture(scope="module")
def conda_calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stand in for the worker's two conda commands: a folder of programs, each noting how it was called."""
    folder = tmp_path_factory.mktemp("conda")
    for name in ("conda-queue-env-enter", "conda-queue-env-exit"):
        program = folder / name
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{folder}/{name}.called"\n', encoding="utf-8")
        program.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory, conda_calls: Path) -> Iterator[Farm]:
    """Start a farm whose queue has the conda environment of cloudformation/gpu_farm.yaml, with one agent."""
    run_python = tool("VLLM_BATCH_RUN_PYTHON")
    path = os.pathsep.join([str(run_python.parent), str(conda_calls), os.environ["PATH"]])
    templates = [
        resource["Properties"]["Template"]
        for resource in Stack().written_out()["Resources"].values()
        if resource["Type"] == "AWS::Deadline::QueueEnvironment"
    ]
    folder = tmp_path_factory.mktemp("farm")
    with Farm(folder, job_environment={**WORKER, "PATH": path}, queue_environments=templates) as started:
        yield started


def rows_of(out: Path, name: str = "output.jsonl") -> list[dict[str, Any]]:
    text = (out / "output" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def summary_of(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "output" / "summary.json").read_text(encoding="utf-8")))


def loads_in_logs(farm: Farm, job: Job) -> int:
    return sum(farm.log(session).count("| model load ") for session in farm.sessions(job, "Infer"))


def test_the_tutorials_commands_leave_its_files_where_it_says(farm: Farm, conda_calls: Path, tmp_path: Path) -> None:
    prompts, out = BUNDLE / "sample_prompts.jsonl", tmp_path / "out"
    tutorial = {"InputFile": prompts, "Prompts": "1-10", "ChunkSize": "5", "OutputDir": out}
    given = [part for name, value in (tutorial | SMALL_MODEL).items() for part in ("--parameter", f"{name}={value}")]
    job = farm.job_in(farm.deadline("bundle", "submit", ".", *given, cwd=BUNDLE, typed="y\n").stdout)
    assert farm.wait(job, LOAD_SECONDS) == "SUCCEEDED"
    farm.deadline("job", "download-output", "--job-id", job.id, "--yes")  # it asks nothing of a pipe

    assert {path.name for path in (out / "output").iterdir()} >= FILES
    wanted = [json.loads(line) for line in prompts.read_text(encoding="utf-8").splitlines()[:10]]
    assert [row["id"] for row in rows_of(out)] == [row["id"] for row in wanted]
    assert all(row["generated_text"] for row in rows_of(out))
    summary = summary_of(out)
    assert (summary["requested"], summary["succeeded"], summary["failed"]) == (10, 10, 0)
    [session] = farm.sessions(job, "Infer")
    assert session.tasks_done == ["1-5", "6-10"]
    assert loads_in_logs(farm, job) == summary["model_loads"] == 1
    packages = (conda_calls / "conda-queue-env-enter.called").read_text(encoding="utf-8")
    assert "vllm=" in packages


@pytest.fixture(scope="module")
def sixty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 60 rows; the last of each fifteen is long, so that it is at work when the others are answered."""
    file = tmp_path_factory.mktemp("rows") / "sixty.jsonl"
    prompts: list[dict[str, object]] = [{"id": n, "prompt": f"What comes after {n}?"} for n in range(1, 61)]
    for row in prompts[14::15]:
        row |= {"max_tokens": 48, "min_tokens": 48}
    file.write_text("".join(json.dumps(row) + "\n" for row in prompts), encoding="utf-8")
    return file


def submit_sixty(farm: Farm, sixty: Path, out: Path) -> Job:
    values = {
        "InputFile": sixty,
        "OutputDir": out,
        "Prompts": "1-60",
        "ChunkSize": 15,
        "Temperature": 0,
        "MaxTokens": 8,
    }
    return farm.submit(BUNDLE, values | SMALL_MODEL)


def test_a_worker_lost_in_mid_chunk_changes_nothing_in_the_output(farm: Farm, sixty: Path, tmp_path: Path) -> None:
    calm = submit_sixty(farm, sixty, tmp_path / "calm")
    assert farm.wait(calm, LOAD_SECONDS) == "SUCCEEDED"
    farm.download(calm)

    lost = farm.start_agent()
    job = submit_sixty(farm, sixty, tmp_path / "lost")
    interrupted = farm.wait_for_running_task(lost, LOAD_SECONDS, percent=1)
    farm.kill(lost)
    assert farm.wait(job, LOAD_SECONDS) == "SUCCEEDED"
    farm.download(job)

    assert interrupted.status == "RECLAIMED"
    assert interrupted.task
    assert interrupted.task.attempts == 2
    assert [row["id"] for row in rows_of(tmp_path / "lost")] == list(range(1, 61))
    assert rows_of(tmp_path / "lost") == rows_of(tmp_path / "calm")
    sessions = farm.sessions(job, "Infer")
    assert {session.worker_id for session in sessions} == {agent.worker_id for agent in farm.agents}
    # One session each, and one more for the survivor if it had run out of chunks by the time of the loss.
    assert loads_in_logs(farm, job) == len(sessions)


def test_the_bundle_asks_nothing_of_the_service_that_the_farm_does_not_know(farm: Farm) -> None:
    assert (farm.api.unknown, farm.api.errors) == ([], [])
