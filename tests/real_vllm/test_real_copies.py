"""Two real vLLM, as on a worker with two GPUs: a scripted nvidia-smi has them, the engines run on the CPU."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from engine.note import State
from support.programs import Session, rows, wait_until
from support.scripted_gpus import Card, install

pytestmark = pytest.mark.vllm
ROWS = 200


def count_answered(results: Path) -> int:
    """Return how many rows are in the unfinished shard."""
    return sum(path.read_bytes().count(b'"status":"succeeded"') for path in results.glob(".lines-*.partial"))


def test_two_copies_answer_every_row_once_though_one_is_killed_hard_in_the_middle(tmp_path: Path) -> None:
    session = Session(tmp_path / "job", rows(f"Count from {n} to {n + 9}." for n in range(ROWS)), patience=900)
    session.python = os.environ["VLLM_BATCH_RUN_PYTHON"]
    session.model = os.environ["VLLM_BATCH_MODEL"]
    session.start_options = {
        "vllm_args": "--dtype float32 --enforce-eager",
        "max_model_len": "512",
        "server_start_timeout_seconds": "900",
    }
    session.options = {"max_concurrency": "0", "max_tokens": "16", "row_timeout_seconds": "600"}
    session.options["system_prompt"] = "You count, and say nothing else. " * 24  # more than a block of the cache
    path = f"{install(tmp_path / 'bin', [Card('NVIDIA L4', 23034)] * 2)}:{os.environ['PATH']}"
    session.environment = {"PATH": path, "PYTHONPATH": "", "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    try:
        started = session.start().check().text
        while any(engine.state == State.STARTING for engine in session.note().engines):
            time.sleep(0.2)
        before = session.note().engines
        assert [engine.state for engine in before] == [State.READY] * 2
        chunk = session.launch(session.chunk_argv())
        wait_until(lambda: count_answered(session.results) > ROWS // 8, chunk)
        assert before[1].process
        before[1].process.signal(signal.SIGKILL)
        text = session.finish(chunk).check().text
    finally:
        stopped = session.stop()
    stopped.check()
    assert session.processes() == []
    session.aggregate().check()
    assert "2 copies of the model, each on 1 GPU: it needs 0.3 GiB" in started
    assert "copy 2 of 2: the server died" in text
    assert Counter("error" in row for row in session.written()) == {False: ROWS}
    assert [row["id"] for row in session.written()] == list(range(1, ROWS + 1))
    summary = session.summary()
    assert summary["succeeded"] == ROWS
    assert 0.2 < summary["cached_tokens"] / summary["prompt_tokens"] < 1
    engines = summary["engines"]
    assert engines["prefix_hit_rate"] > 0.2
    assert engines["tokens_per_second"] > 0
    assert 0 < engines["highest_cache_use"] <= 1
    assert sum(engines[name] for name in ("full", "part", "little", "idle")) == pytest.approx(1, abs=0.01)
