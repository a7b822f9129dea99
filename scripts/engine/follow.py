"""Waiting, beside the supervisor, for an engine to be ready: its note is read, and its log's progress is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from engine.log import read_tail
from engine.note import LOADS_LIMIT, Engine, ServerError, State, load_note
from host import runner

POLL_SECONDS = 0.1
SHOW_SECONDS = 10  # between two looks at the log


def follow(folder: Path, number: int, generation: int, abandoned: threading.Event, owned: Callable[[], bool]) -> Engine:
    """Return the engine once a launch of this generation or a later one is ready.

    `owned` tells whether the supervisor runs. Raises ServerError when the engine fails, when nobody owns it any more,
    and once `abandoned`.
    """
    begun, progress = time.monotonic(), _Progress()
    while True:
        runs = owned()  # first, so that the last note is read
        note = load_note(folder)
        engine = note.engines[number]
        if engine.generation >= generation:
            progress.tell(engine, note.settings.model, time.monotonic() - begun)
            if engine.state == State.FAILED:
                raise ServerError(engine.message)
            if engine.state != State.STARTING:
                return engine
        if not runs:
            raise ServerError("the server's supervisor has ended; another worker may do better")
        if abandoned.wait(POLL_SECONDS):
            raise ServerError("canceled while the server was starting")


class _Progress:
    """What of an engine's start was told."""

    def __init__(self) -> None:
        self._at, self._seen = 0.0, 0
        self._load, self._ports_taken = "", 0

    def tell(self, engine: Engine, model: str, seconds: float) -> None:
        """Tell what is new: a port that was taken, a load that begins, and the log's newest line now and then."""
        log = Path(engine.log)
        if engine.ports_taken > self._ports_taken:
            self._ports_taken = engine.ports_taken
            runner.say("another program took the port; starting on a new one")
        if engine.loads[-1] != self._load:
            self._load = engine.loads[-1]
            what = f"{model} is being loaded, its log is {log.name}"
            if len(engine.loads) > 1:
                what = f"starting the server again ({len(engine.loads)} of {LOADS_LIMIT} loads)"
            runner.say(f"model load {self._load}: {what}")
        if seconds - self._at > SHOW_SECONDS:
            self._at = seconds
            self._show(log, model, seconds)

    def _show(self, log: Path, model: str, seconds: float) -> None:
        """Relay the newest line of the log, if there is one."""
        size = log.stat().st_size if log.exists() else 0
        runner.status(f"Loading {model}, {seconds:.0f} s")
        if size > self._seen:
            line = read_tail(str(log)).rpartition("\n")[2].rpartition("\r")[2]
            runner.say(f"{seconds:.0f} s, vllm: {line}")
        self._seen = size
