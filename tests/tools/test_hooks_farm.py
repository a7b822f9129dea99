"""The submission hook in real submissions to a farm on loopback, with real agents and attachments."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from job.parameters import TABLE
from support.fake_server import MODEL, FakeServer
from support.farm import Farm, Job
from support.hooks import BAD, GOOD, ROOT, SUITED, file_of


@pytest.fixture
def five_hundred(tmp_path: Path) -> Path:
    return file_of(tmp_path, *map(json.dumps, GOOD))


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    with Farm(tmp_path_factory.mktemp("farm")) as started:
        yield started


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer() as started:
        yield started


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Copy what a submission reads, so that nothing here depends on the checkout's other files."""
    copy = tmp_path / "bundle"
    copy.mkdir()
    for name in ("template.yaml", "hooks.yaml"):
        shutil.copy(ROOT / name, copy)
    for name in ("scripts", "tools"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def set_hooks(farm: Farm, *, allowed: bool) -> None:
    farm.deadline("config", "set", "settings.allow_bundle_hooks", str(allowed).lower())


def values(server: FakeServer, rows: Path, out: Path, **more: object) -> list[str]:
    given = {"InputFile": rows, "OutputDir": out, "ServerUrl": server.url, "ModelName": MODEL, "ChunkSize": 150, **more}
    return [part for name, value in given.items() for part in ("--parameter", f"{name}={value}")]


def finish(farm: Farm, job: Job) -> None:
    state = farm.wait(job)
    assert state == "SUCCEEDED", "\n".join(farm.log(session) for session in farm.sessions(job))


def output_of(out: Path) -> list[dict[str, Any]]:
    text = (out / "output" / "output.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.farm
def test_a_file_of_bad_lines_is_not_submitted_and_nothing_is_uploaded(
    farm: Farm, server: FakeServer, bundle: Path, tmp_path: Path
) -> None:
    set_hooks(farm, allowed=True)
    jobs = len(farm.api.scheduler.jobs)
    given = values(server, file_of(tmp_path, *BAD, *["[]"] * 7), tmp_path / "out", Prompts="1-3")
    done = farm.deadline("bundle", "submit", ".", "--yes", *given, cwd=bundle, check=False)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert all(f"prompts.jsonl:{line}:" in said for line in (1, 2, 3))
    assert "prompts.jsonl has 10 lines, 1-3 will run" in said
    assert "NOT SUBMITTED" in said
    assert "Upload Summary" not in said
    assert len(farm.api.scheduler.jobs) == jobs


@pytest.mark.farm
def test_the_real_submitter_takes_the_sizes_for_the_form_s_defaults(farm: Farm, bundle: Path, tmp_path: Path) -> None:
    """As the form does, every parameter is given; nothing of it runs."""
    set_hooks(farm, allowed=True)
    defaults = {each.name: each.default for each in TABLE if each.default not in (None, "")}
    for lines, prompts, block, chunk, seconds, tasks in SUITED:
        rows = file_of(tmp_path, *(json.dumps(GOOD[n % 500]) for n in range(lines)), name=f"{lines}.jsonl")
        given = {each.name: "" for each in TABLE} | defaults
        given |= {
            "InputFile": rows,
            "OutputDir": tmp_path / "out",
            "Prompts": "all",
            "JobScriptDir": bundle / "scripts",
        }
        job = farm.submit(bundle, given, options=("--max-failed-tasks-count", "0"))
        farm.api.scheduler.cancel(job)
        infer = job.steps[0]
        assert [task.values for task in infer.tasks][:1] == [f"1-{chunk}"]
        assert len(infer.tasks) == tasks
        [values] = infer.template["parameterSpace"]["taskParameterDefinitions"]
        kept = "{{Param.TargetRuntimeSeconds}}"  # at its default
        assert values["range"] == prompts
        assert values["chunks"]["targetRuntimeSeconds"] == (kept if seconds == 120 else seconds)
        assert f"--block-size={block}" in infer.template["stepEnvironments"][0]["script"]["actions"]["onEnter"]["args"]


@pytest.mark.farm
def test_all_on_a_file_of_500_lines_answers_500_and_the_job_keeps_its_name(
    farm: Farm, server: FakeServer, bundle: Path, tmp_path: Path, five_hundred: Path
) -> None:
    set_hooks(farm, allowed=True)
    given = values(server, five_hundred, tmp_path / "out", Prompts="all")
    done = farm.deadline("bundle", "submit", ".", "--yes", "--name", "Five hundred: all", *given, cwd=bundle)
    job = farm.job_in(done.stdout)
    assert job.name == "Five hundred: all"
    finish(farm, job)
    farm.download(job)
    found = output_of(tmp_path / "out")
    assert [row["id"] for row in found] == list(range(1, 501))
    assert {row["generated_text"] == f"echo: {row['prompt']}" for row in found} == {True}


@pytest.mark.farm
def test_with_hooks_off_the_same_bundle_submits_and_runs_what_it_is_told(
    farm: Farm, server: FakeServer, bundle: Path, tmp_path: Path, five_hundred: Path
) -> None:
    set_hooks(farm, allowed=False)
    done = farm.deadline("bundle", "submit", ".", "--yes", *values(server, five_hundred, tmp_path / "out"), cwd=bundle)
    job = farm.job_in(done.stdout)
    assert "will run" not in done.stdout + done.stderr
    finish(farm, job)
    farm.download(job)
    assert len(output_of(tmp_path / "out")) == 10
