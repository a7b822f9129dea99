"""Real vLLM whose processes are killed from outside at each marked row: the marked rows fail, and no other does."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from support.marked_rows import MARK, SEEN
from support.programs import ROOT, Session, outcome, rows
from support.real_jobs import SMALL

pytestmark = pytest.mark.vllm
ROWS = 60
CHUNKS = ("1-30", "31-60")
KILLERS = (12, 40, 41, 42)
TOKENS = "4"


class Killer(threading.Thread):
    """Kills the engine, and every other time the API server, of a session in whose folder a mark appears."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.kills, self.ended = folder, 0, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            for mark in self.folder.rglob(f"{SEEN}*"):
                self._kill(int(mark.name.removeprefix(SEEN).partition("-")[0]))
                mark.unlink()

    def _kill(self, server: int) -> None:
        engine = next((pid for pid in children_of(server) if b"EngineCore" in command_of(pid)), 0)
        if engine:  # else it was killed for another mark
            self.kills += 1
            os.kill(server if self.kills % 2 else engine, signal.SIGKILL)


def command_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def children_of(process: int) -> list[int]:
    try:
        found = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:
        return []
    return [int(pid) for text in found for pid in text.split()]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> tuple[Session, int]:
    """Return a merged job, and how often its server was killed."""
    texts = [f"{MARK.decode() if n in KILLERS else 'Count on from'} {n}" for n in range(1, ROWS + 1)]
    session = Session(tmp_path_factory.mktemp("job"), rows(texts), patience=1500)
    session.python, session.model = os.environ["VLLM_BATCH_RUN_PYTHON"], os.environ["VLLM_BATCH_MODEL"]
    session.start_options = {
        "vllm_args": f"{SMALL} --middleware support.marked_rows.Marked",
        "max_model_len": "256",
        "server_start_timeout_seconds": "900",
    }
    session.options = {"max_concurrency": "4", "max_tokens": TOKENS}
    session.environment = {"PYTHONPATH": str(ROOT / "tests"), "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    killer = Killer(session.folder)
    killer.start()
    try:
        session.start().check()
        for chunk in CHUNKS:
            session.chunk(chunk).check()
    finally:
        session.stop()
        killer.ended.set()
    assert session.processes() == []
    session.aggregate().check()
    return session, killer.kills


def test_each_line_has_one_result_and_only_the_marked_ones_failed(job: tuple[Session, int]) -> None:
    session, _ = job
    written = session.written()
    assert [row["id"] for row in written] == list(range(1, ROWS + 1))
    failed = {row["id"]: outcome(row) for row in written if "error" in row}
    assert failed == dict.fromkeys(KILLERS, "server_crash")
    assert session.summary()["rerun"] == "12,40-42"


def test_the_server_died_only_for_marked_rows_and_was_loaded_a_bounded_number_of_times(
    job: tuple[Session, int],
) -> None:
    session, kills = job
    loads = session.summary()["model_loads"]
    assert loads <= 1 + kills  # where no row is left after a death, none is loaded
    assert loads <= 1 + 4 * len(KILLERS)
