"""Entering a session and leaving it: its supervisor is started, waited for and ended.

The supervisor is a child process on its own, so that it outlives the program that starts it. A pipe ties the two until
the session is entered: if the starter ends before, however hard, so does the supervisor.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from engine import gpus, launch
from engine.caches import choose_caches, remove_caches
from engine.cause import read_tail
from engine.checkpoint import read_checkpoint
from engine.facts import Served
from engine.loading import follow_first
from engine.note import (
    Engine,
    Note,
    ServerError,
    Settings,
    State,
    is_linked,
    link_note,
    load_note,
    read_note,
    write_note,
)
from engine.placement import Choice, Wish, add_fronts, choose
from engine.server_url import parse_url
from engine.supervisor import ENTERED, Supervisor
from host import files, processes, runner

LOG = "supervisor.log"
KEPT_VARIABLE = "VLLM_BATCH_KEPT_SESSION"  # the folder of a session whose engines this one uses and does not end
LEAVE_SECONDS = launch.STOP_SECONDS + processes.KILL_SECONDS + 20.0  # for a supervisor to end all it owns
POLL_SECONDS = 0.02


class Entrance:
    """A session that is being entered: its supervisor loads the model. On any way out but `finish` it is ended.

    Use as a context manager.
    """

    def __init__(self, settings: Settings, folder: Path, key: str) -> None:
        self._folder = folder
        caches = choose_caches(os.environ)
        for remark in caches.remarks:
            runner.say(remark)
        choice = choose_places(settings, {**os.environ, **caches.variables})
        if choice.why:
            runner.say(choice.why)
        engines = tuple(Engine(number, place) for number, place in enumerate(choice.placements))
        write_note(Note(settings, engines, cache=caches.temporary, why=choice.why), folder)
        watched = processes.find_runner()

        def supervise(lifeline: int) -> int:
            os.environ.update(caches.variables)
            return Supervisor(folder, key, watched).run(lifeline)

        with files.open_log(folder / LOG) as output:
            self._supervisor, self._lifeline = processes.fork_apart(supervise, output)
        self._entered = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lifeline)
        if not self._entered:
            _wait_for_end(self._supervisor)

    def wait(self, abandoned: threading.Event) -> Engine:
        """Wait until a copy of the model is loaded, telling the progress; return its engine.

        Raises ServerError, also once `abandoned`.
        """
        return follow_first(self._folder, abandoned, self._owned)

    def finish(self) -> None:
        """Say that the session is entered: its supervisor goes on alone. Raises ServerError."""
        if not self._owned():
            raise ServerError("the server's supervisor has ended")
        os.write(self._lifeline, ENTERED)
        self._entered = True

    def _owned(self) -> bool:
        """Tell whether the supervisor runs; show why one ended."""
        if self._supervisor.runs():
            return True
        runner.say(read_tail(str(self._folder / LOG)))
        return False


def choose_places(settings: Settings, environment: Mapping[str, str]) -> Choice:
    """Look at the worker's GPUs and at the model, and choose where its engines run. Raises ServerError."""
    try:
        found = gpus.here(environment)
    except gpus.GpuError as error:
        raise ServerError(str(error)) from None
    wish = Wish.read(
        settings.tensor_parallel_size, settings.max_model_len, settings.gpu_memory_utilization, settings.vllm_args
    )
    checkpoint = read_checkpoint(settings.model, environment, ask_hub=bool(found))
    choice = choose(found, checkpoint, wish)
    if environment.get("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "0") not in ("", "0"):
        return choice  # vLLM refuses it beside several fronts
    return add_fronts(choice, checkpoint, wish, len(os.sched_getaffinity(0)))


def enter_given(url: str, settings: Settings, folder: Path, key: str, due: threading.Event) -> Engine:
    """Enter a session with a server that somebody else runs, once it answers. Raises ServerError, also once `due`."""
    from engine.given import await_given  # a session's own server is asked by its supervisor

    entered = time.time()
    address, served = await_given(parse_url(url), key, settings.model, settings.start_timeout, due)
    engine = Engine(state=State.READY, url=address.url, served=served)
    write_note(Note(settings, (engine,), external=True, entered=entered), folder)
    return engine


def enter_kept(kept: Path, folder: Path, due: threading.Event) -> Engine:
    """Enter a session with the engines of another, which goes on after this. Raises ServerError, also once `due`."""
    note = load_note(kept)
    if note.supervisor is None or not note.supervisor.runs():
        raise ServerError("the session whose engines were to be used has ended")
    link_note(kept, folder)
    ready = next((engine for engine in note.engines if engine.state in (State.READY, State.DOWN)), None)
    return ready or follow_first(folder, due, note.supervisor.runs)


def enter_without(settings: Settings, folder: Path) -> None:
    """Enter a session whose tasks ask nothing, and so need no server."""
    engine = Engine(state=State.DOWN, served=Served(settings.model))
    write_note(Note(settings, (engine,), external=True), folder)


def leave(folder: Path) -> bool | None:
    """End the session's engines; return whether some had to be killed, None when there were none to end."""
    note = read_note(folder)
    if note is None or note.external or is_linked(folder):
        return None
    if note.supervisor is not None:
        note.supervisor.signal(signal.SIGTERM)
        _wait_for_end(note.supervisor)
        note = read_note(folder) or note
    killed = [launch.end_engine(engine, launch.STOP_SECONDS) or engine.killed for engine in note.engines]
    remove_caches(note.cache)
    return any(killed)


def _wait_for_end(supervisor: processes.Process) -> None:
    """Wait until the supervisor has ended, and end one that does not."""
    deadline = time.monotonic() + LEAVE_SECONDS
    while supervisor.runs():
        if time.monotonic() > deadline:
            supervisor.signal(signal.SIGKILL)
        time.sleep(POLL_SECONDS)
