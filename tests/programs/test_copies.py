"""The real programs on a worker with several GPUs, as a scripted nvidia-smi has them: copies of the model."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.note import Engine, State
from support.programs import Session, outcome, rows, wait_until
from support.scripted_gpus import Card, install

L4 = Card("NVIDIA L4", 23034)
ROWS = 40


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session of a worker with three GPUs, whose model fits one of them."""
    one = Session(tmp_path / "job", rows(f"held {number}" for number in range(ROWS)))
    path = f"{install(tmp_path / 'bin', [L4] * 3)}:{os.environ['PATH']}"
    one.environment = {"PATH": path, "FAKE_VLLM_GO": str(tmp_path / "go"), "FAKE_VLLM_ASKED": str(tmp_path / "asked")}
    one.start_options = {"tensor_parallel_size": "1"}
    yield one
    one.stop()
    assert one.processes() == []


def wait_for_all(session: Session) -> tuple[Engine, ...]:
    """Return the session's engines once none starts any more; the run's own limit ends a wait for ever."""
    while any(engine.state == State.STARTING for engine in session.note().engines):
        time.sleep(0.05)
    return session.note().engines


def variables_of(engine: Engine) -> dict[str, str]:
    """Return the environment of an engine's process."""
    assert engine.process
    text = Path(f"/proc/{engine.process.pid}/environ").read_bytes().decode()
    return dict(pair.split("=", 1) for pair in text.split("\0") if "=" in pair)


def asked(session: Session) -> list[str]:
    """Return the texts of the rows that were asked so far, by all copies."""
    path = Path(session.environment["FAKE_VLLM_ASKED"])
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def let_go(session: Session) -> None:
    """Let the rows be answered."""
    Path(session.environment["FAKE_VLLM_GO"]).touch()


def check_all_answered_once(session: Session) -> None:
    session.aggregate().check()
    assert [outcome(row) for row in session.written()] == [f"echo: held {number}" for number in range(ROWS)]
    assert [row["id"] for row in session.written()] == list(range(1, ROWS + 1))


def test_every_gpu_has_a_copy_and_the_rows_are_shared_out(session: Session) -> None:
    text = session.start().check().text
    assert "3 copies of the model, each on 1 GPU, as TensorParallelSize says" in text
    engines = wait_for_all(session)
    assert [variables_of(engine)["CUDA_VISIBLE_DEVICES"] for engine in engines] == ["0", "1", "2"]
    assert len({engine.url for engine in engines}) == 3
    assert len({variables_of(engine)["VLLM_CACHE_ROOT"] for engine in engines}) == 3
    chunk = session.launch(session.chunk_argv(max_concurrency="12"))
    wait_until(lambda: len(asked(session)) == 12, chunk)
    let_go(session)
    session.finish(chunk).check()
    check_all_answered_once(session)
    summary = session.summary()
    assert summary["model_loads"] == 3
    assert 0 < summary["engines"]["little"] <= 1  # of 256 rows that each takes there were four at most
    assert (summary["engines"]["full"], summary["engines"]["preemptions"]) == (0, 0)
    assert summary["placement"] == ["3 copies of the model, each on 1 GPU, as TensorParallelSize says"]


def test_a_copy_that_is_killed_in_mid_chunk_is_brought_back_and_costs_no_row(session: Session) -> None:
    session.start().check()
    before = wait_for_all(session)
    chunk = session.launch(session.chunk_argv(max_concurrency="12"))
    wait_until(lambda: len(asked(session)) == 12, chunk)
    assert before[1].process
    before[1].process.signal(signal.SIGKILL)
    let_go(session)
    text = session.finish(chunk).check().text
    check_all_answered_once(session)
    assert "copy 2 of 3: the server died" in text
    assert [engine.generation for engine in session.note().engines] == [1, 2, 1]
    assert session.summary()["model_loads"] == 4


def test_a_copy_that_does_not_start_leaves_the_others(session: Session) -> None:
    session.model = "broken-gpu-1"
    session.start().check()
    assert [engine.state for engine in wait_for_all(session)] == [State.READY, State.FAILED, State.READY]
    let_go(session)
    text = session.chunk(max_concurrency="12").check().text
    assert "copy 2 of 3: The vLLM server ended while it was starting" in text
    assert "the other copies go on without this one" in text
    check_all_answered_once(session)
    assert session.summary()["model_loads"] == 2


def test_copies_of_which_none_starts_fail_the_session_with_the_reason(session: Session) -> None:
    session.model = "dies"
    session.start().refused("The vLLM server ended while it was starting", "something went wrong")


def test_a_row_that_kills_is_found_among_copies(session: Session) -> None:
    session.input.write_bytes(b"".join(line + b"\n" for line in rows([*map(str, range(20)), "poison"])))
    session.prompts = "1-21"
    session.start().check()
    wait_for_all(session)
    session.chunk(max_concurrency="12").check()
    session.aggregate().check()
    assert Counter(map(outcome, session.written())) == Counter(["server_crash", *(f"echo: {n}" for n in range(20))])


def test_zero_requests_at_once_are_what_the_copies_take(session: Session) -> None:
    session.start_options["vllm_args"] = "--max-num-seqs 4"
    session.options["max_concurrency"] = "0"
    session.start().check()
    wait_for_all(session)
    chunk = session.launch(session.chunk_argv())
    wait_until(lambda: len(asked(session)) >= 15, chunk)
    assert len(asked(session)) == 15, "three copies of four sequences, and a quarter more each"
    let_go(session)
    session.finish(chunk).check()


def test_a_model_of_which_nothing_is_known_has_one_server_on_all_gpus(session: Session) -> None:
    session.start_options = {}
    assert "split over all 3 GPUs, since the size of the model is not known" in session.start().check().text
    (engine,) = session.note().engines
    assert engine.process
    assert b"--tensor-parallel-size\0003\0" in Path(f"/proc/{engine.process.pid}/cmdline").read_bytes()
