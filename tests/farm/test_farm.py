"""The bundle on a farm: real submission, agents, attachments, vLLM and download. Scheduling is the harness's own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cfn_stack import Stack
from support.farm import Farm, Job, tool

pytestmark = [pytest.mark.farm, pytest.mark.vllm]
BUNDLE = Path(__file__).resolve().parents[2]
FILES = {"output.jsonl", "errors.jsonl", "retry.jsonl", "summary.json", "results.html"}
ROWS, TOKENS = 12, 32  # each answer has so many tokens
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
    assert farm.wait(job) == "SUCCEEDED"
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
def long_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write rows that keep a worker busy for many times as long as it takes to see that it is, and to end it."""
    file = tmp_path_factory.mktemp("rows") / "long.jsonl"
    prompts = [{"id": n, "prompt": f"What comes after {n}?", "min_tokens": TOKENS} for n in range(1, ROWS + 1)]
    file.write_text("".join(json.dumps(row) + "\n" for row in prompts), encoding="utf-8")
    return file


def submit_long(farm: Farm, long_rows: Path, out: Path) -> Job:
    """Submit a job whose answers can be compared: each row is alone in its batch, and nothing is kept of the others."""
    values = {"InputFile": long_rows, "OutputDir": out, "Prompts": f"1-{ROWS}", "ChunkSize": 4}
    alone = {"MaxConcurrency": 1, "VllmArgs": f"{SMALL_MODEL['VllmArgs']} --no-enable-prefix-caching"}
    return farm.submit(BUNDLE, SMALL_MODEL | values | alone | {"Temperature": 0, "MaxTokens": TOKENS})


def test_a_worker_lost_in_mid_chunk_changes_nothing_in_the_output(farm: Farm, long_rows: Path, tmp_path: Path) -> None:
    calm = submit_long(farm, long_rows, tmp_path / "calm")
    assert farm.wait(calm) == "SUCCEEDED"
    farm.download(calm)

    job = submit_long(farm, long_rows, tmp_path / "lost")
    [first] = farm.agents
    farm.wait_for_running_task(first, percent=1)
    farm.kill(first)
    second = farm.start_agent()
    assert farm.wait(job) == "SUCCEEDED"
    farm.download(job)

    sessions = farm.sessions(job, "Infer")
    [interrupted] = [action for action in sessions[0].of_kind("taskRun") if action.status == "RECLAIMED"]
    assert interrupted.task
    assert interrupted.task.attempts == 2
    assert [row["id"] for row in rows_of(tmp_path / "lost")] == list(range(1, ROWS + 1))
    assert rows_of(tmp_path / "lost") == rows_of(tmp_path / "calm")
    assert [session.worker_id for session in sessions] == [first.worker_id, second.worker_id]
    assert loads_in_logs(farm, job) == len(sessions)


def test_the_bundle_asks_nothing_of_the_service_that_the_farm_does_not_know(farm: Farm) -> None:
    assert (farm.api.unknown, farm.api.errors) == ([], [])
