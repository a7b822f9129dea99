"""Real vLLM in a session where its engine, or the runner, is killed hard in mid-chunk: nothing stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from support.programs import ROOT, Session, rows, wait_until
from support.real_jobs import short_folder

pytestmark = pytest.mark.vllm
ROWS = 32
FAST = "--dtype float32 --enforce-eager"  # loads in a third of the time


def find_processes(folder: Path) -> dict[int, bytes]:
    """Return the live processes that work below a folder, with their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder):
                found[int(entry.name)] = (entry / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended
    return {pid: line for pid, line in found.items() if line}  # a zombie has no command line


def engine_of(folder: Path) -> int:
    """Return the process id of vLLM's engine in a session below this folder, 0 while there is none."""
    return next((pid for pid, line in find_processes(folder).items() if line.startswith(b"VLLM::EngineCor")), 0)


def partly_answered(results: Path) -> bool:
    """Tell whether some rows, but far from all, are in the unfinished shard."""
    found = [path.read_bytes() for path in results.glob(".lines-*.partial")]
    return bool(found) and 0 < found[0].count(b'"status":"succeeded"') < ROWS - 8


def test_an_engine_that_is_killed_in_mid_chunk_costs_no_row_and_leaves_no_orphan(tmp_path: Path) -> None:
    session = Session(tmp_path / "job", rows(f"Count from {n} to {n + 9}." for n in range(ROWS)), patience=900)
    session.python = os.environ["VLLM_BATCH_RUN_PYTHON"]
    session.model = os.environ["VLLM_BATCH_MODEL"]
    session.start_options = {
        "vllm_args": FAST,
        "max_model_len": "512",
        "server_start_timeout_seconds": "900",
        "max_tokens": "48",
    }
    session.options = {"max_concurrency": "8", "max_tokens": "48", "row_timeout_seconds": "600"}
    session.environment = {"PYTHONPATH": "", "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    try:
        session.start().check()
        chunk = session.launch(session.chunk_argv())
        killed = engine_of(session.folder)
        wait_until(lambda: partly_answered(session.results), chunk)
        os.kill(killed, signal.SIGKILL)
        text = session.finish(chunk).check().text
        assert engine_of(session.folder) not in (0, killed)
    finally:
        stopped = session.stop()
    stopped.check()
    assert session.processes() == []
    session.aggregate().check()
    assert "the server died; the end of its log follows" in text
    assert "starting the server again (load 2 of this session)" in text
    assert "the server answers again" in text
    assert Counter("error" in row for row in session.written()) == {False: ROWS}
    assert [row["id"] for row in session.written()] == list(range(1, ROWS + 1))
    assert session.summary()["model_loads"] == 2


def test_a_runner_that_is_killed_hard_in_mid_chunk_leaves_no_process() -> None:
    python = Path(os.environ["VLLM_BATCH_RUN_PYTHON"])
    with short_folder() as folder:
        (folder / "in.jsonl").write_bytes(b"".join(line + b"\n" for line in rows(["Count on."] * ROWS)))
        given = {"InputFile": str(folder / "in.jsonl"), "Prompts": f"1-{ROWS}", "OutputDir": str(folder / "out")}
        given |= {"ModelName": os.environ["VLLM_BATCH_MODEL"], "VllmArgs": FAST, "MaxModelLen": "512"}
        given |= {"ChunkSize": str(ROWS), "MaxConcurrency": "2", "ServerStartTimeoutSeconds": "900"}
        (folder / "job.json").write_text(json.dumps(given), encoding="utf-8")
        command = [str(python.parent / "openjd"), "run", str(ROOT / "template.yaml"), "-p", f"file://{folder}/job.json"]
        environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}", "TMPDIR": str(folder)}
        environment |= {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
        with (folder / "log").open("w+") as log:
            runner = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, text=True
            )
            wait_until(lambda: partly_answered(folder / "out" / "output" / "results"), runner)
            assert engine_of(folder)
            runner.kill()
            runner.wait()
        while find_processes(folder):
            time.sleep(0.2)
        assert list(folder.glob("vllm-*")) == []
