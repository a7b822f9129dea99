"""How the load of an engine goes on: followed in the session's note, and told, until the engine answers or has failed.

Used by whoever needs the engine: the program that enters the session, and a task that has one started again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from engine.cause import read_tail
from engine.note import Engine, Note, ServerError, State, load_note
from host import runner

POLL_SECONDS = 0.05
SHOW_SECONDS = 10  # between two looks at the log of a load


def follow_first(folder: Path, abandoned: threading.Event, owned: Callable[[], bool]) -> Engine:
    """Return the first of a new session's engines that is ready; the others may still load.

    `owned` tells whether the supervisor runs. Raises ServerError when all engines fail, when nobody owns them any more,
    and once `abandoned`.
    """
    begun, progress = time.monotonic(), [_Progress() for _ in load_note(folder).engines]
    while True:
        runs = owned()  # first, so that the last note is read
        note = load_note(folder)
        for engine in note.engines:
            if engine.generation:
                progress[engine.number].tell(engine, note, time.monotonic() - begun)
        for engine in note.engines:
            if engine.state in (State.READY, State.DOWN):
                return engine
        if all(engine.state == State.FAILED for engine in note.engines):
            raise ServerError(note.engines[0].message)
        _wait(abandoned, runs=runs)


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
            progress.tell(engine, note, time.monotonic() - begun)
            if engine.state == State.FAILED:
                raise ServerError(engine.message)
            if engine.state != State.STARTING:
                return engine
        _wait(abandoned, runs=runs)


def _wait(abandoned: threading.Event, *, runs: bool) -> None:
    """Wait a moment for an engine that loads. Raises ServerError when there is nothing to wait for."""
    if not runs:
        raise ServerError("the server's supervisor has ended; another worker may do better")
    if abandoned.wait(POLL_SECONDS):
        raise ServerError("canceled while the server was starting")


class _Progress:
    """What of an engine's start was told."""

    def __init__(self) -> None:
        self._at, self._seen = 0.0, 0
        self._load, self._ports_taken, self._failed = "", 0, False

    def tell(self, engine: Engine, note: Note, seconds: float) -> None:
        """Tell what is new: a port that was taken, a load that begins or fails, now and then the newest log line."""
        log = Path(engine.log)
        if engine.ports_taken > self._ports_taken:
            self._ports_taken = engine.ports_taken
            runner.say("another program took the port; starting on a new one")
        if engine.loads[-1].name != self._load:
            self._load = engine.loads[-1].name
            what = f"{note.settings.model} is being loaded, its log is {log.name}"
            if len(engine.loads) > 1:
                what = f"starting the server again (load {len(engine.loads)} of this session)"
            runner.say(f"model load {self._load}: {name_copy(engine.number, note)}{what}")
        if engine.state == State.FAILED and not self._failed and len(note.engines) > 1:
            self._failed = True
            runner.say(f"{name_copy(engine.number, note)}it does not start: {engine.message}")
        if seconds - self._at > SHOW_SECONDS and engine.state == State.STARTING:
            self._at = seconds
            self._show(log, note.settings.model, seconds)

    def _show(self, log: Path, model: str, seconds: float) -> None:
        """Relay the newest line of the log, if there is one."""
        size = log.stat().st_size if log.exists() else 0
        runner.status(f"Loading {model}, {seconds:.0f} s")
        if size > self._seen:
            line = read_tail(str(log)).rpartition("\n")[2].rpartition("\r")[2]
            runner.say(f"{seconds:.0f} s, vllm: {line}")
        self._seen = size


def name_copy(number: int, note: Note) -> str:
    """Return what a message about one of several engines begins with; "" where there is one."""
    return f"copy {number + 1} of {len(note.engines)}: " if len(note.engines) > 1 else ""
