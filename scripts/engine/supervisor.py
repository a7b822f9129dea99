"""The owner of a session's engines: their parent, from the session's beginning to its end.

A child process of `serve.py start`, in a process session of its own. It alone launches, restarts and ends engines, and
it alone writes the session's note of them. It ends with the session: on SIGTERM; when the program that started it ends
without having said by a pipe that the session was entered; and when the runner of the session is gone.
"""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from itertools import repeat
from pathlib import Path

from engine import fetch
from engine.caches import remove_caches
from engine.launch import HASTE_SECONDS, STOP_SECONDS
from engine.life import Life, Plan
from engine.note import Engine, Note, load_note, take_requests, write_note
from host import files, processes, runner
from host.processes import Process

ENTERED = b"entered\n"  # what the starter writes once the session's tasks may begin
UNENTERED_SECONDS = 5.0  # for vLLM to end by itself where no task ever had it
POLL_SECONDS = 0.2
FETCH_LOG = "weights.log"
RUNNER_GONE = "the runner of this session is gone"


class Supervisor:
    """Owns the engines of the session in `folder`. `watched` is the session's runner, if it is to be watched."""

    def __init__(self, folder: Path, key: str, watched: Process | None) -> None:
        note = load_note(folder)
        self._folder, self._watched = folder, watched
        self._note: Note = replace(note, supervisor=processes.find_process(os.getpid()))
        self._noting = threading.Lock()
        self._ending = threading.Event()
        self._reason = ""
        self._entered = False
        plan = Plan(note.settings, folder, key)
        self._lives = [Life(engine, plan, self._publish) for engine in note.engines]

    def run(self, lifeline: int) -> int:
        """Own the engines until the session ends; return the exit status. `lifeline` is a file descriptor to read."""
        processes.adopt_orphans()
        signal.signal(signal.SIGTERM, lambda *_: self._end("told to end"))
        write_note(self._note, self._folder)
        self._fetch_weights()  # a fork, so before there are threads
        threading.Thread(target=self._follow_starter, args=[lifeline], daemon=True).start()
        try:
            for life in self._lives:
                life.start()
            while not self._ending.wait(POLL_SECONDS):
                self._look()
            runner.say(self._reason)
        finally:
            self._finish()
        return 1 if any(life.failed for life in self._lives) else 0

    def _fetch_weights(self) -> None:
        """Have the model's weights fetched beside vLLM's start, where GPUs wait for them."""
        model, arguments = self._note.settings.model, self._note.settings.vllm_args
        if any(engine.place.gpus for engine in self._note.engines) and fetch.is_of_hub(model, arguments, os.environ):
            with files.open_log(self._folder / FETCH_LOG) as output:
                _, pipe = processes.fork_apart(lambda _: fetch.fetch(model), output)
            os.close(pipe)

    def _look(self) -> None:
        """Do what is to be done now and then."""
        for request in take_requests(self._folder):
            self._lives[request.engine].ask(request)
        if self._watched is not None and not self._watched.runs():
            self._end(RUNNER_GONE)
        if any(not life.is_alive() for life in self._lives):
            self._end("an engine cannot be owned any more")
        processes.reap_orphans({life.engine.process.pid for life in self._lives if life.engine.process})

    def _follow_starter(self, lifeline: int) -> None:
        """Read what the starter says; the end of the file is the starter's."""
        said = b""
        while chunk := os.read(lifeline, len(ENTERED)):
            said += chunk
        self._entered = said == ENTERED
        if not self._entered:
            self._end("the session was not entered: what started it has ended")

    def _end(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._ending.set()

    def _finish(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        patience = STOP_SECONDS if self._entered else UNENTERED_SECONDS
        try:
            with ThreadPoolExecutor() as pool:
                list(pool.map(Life.finish, self._lives, repeat(patience)))
        finally:
            processes.end_all(processes.find_descendants, HASTE_SECONDS)
            remove_caches(self._note.cache)

    def _publish(self, engine: Engine) -> None:
        with self._noting:
            engines = tuple(engine if each.number == engine.number else each for each in self._note.engines)
            self._note = replace(self._note, engines=engines)
            write_note(self._note, self._folder)
