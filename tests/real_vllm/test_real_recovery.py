"""Real vLLM whose engine process is killed hard in mid-chunk: every row is answered, and nothing stays behind."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from support.programs import Session, rows, wait_until

pytestmark = pytest.mark.vllm
ROWS = 32
FAST = "--dtype float32 --enforce-eager"  # loads in a third of the time


def engine_of(session: Session) -> int:
    """Return the process id of vLLM's engine in this session, 0 while there is none."""
    for entry in Path("/proc").iterdir():
        try:
            is_ours = entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(session.folder)
            if is_ours and (entry / "cmdline").read_bytes().startswith(b"VLLM::EngineCor"):
                return int(entry.name)
        except OSError:
            continue  # it has ended
    return 0


def partly_answered(session: Session) -> bool:
    """Tell whether some rows, but far from all, are in the unfinished shard."""
    found = [path.read_bytes() for path in session.results.glob(".lines-*.partial")]
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
        killed = engine_of(session)
        wait_until(lambda: partly_answered(session), chunk)
        os.kill(killed, signal.SIGKILL)
        text = session.finish(chunk).check().text
        assert engine_of(session) not in (0, killed)
    finally:
        stopped = session.stop()
    stopped.check()
    assert session.processes() == []
    session.aggregate().check()
    assert "the server died; the end of its log follows" in text
    assert "starting the server again (2 of 6 loads)" in text
    assert "the server answers again" in text
    assert Counter("error" in row for row in session.written()) == {False: ROWS}
    assert [row["id"] for row in session.written()] == list(range(1, ROWS + 1))
    assert session.summary()["model_loads"] == 2
