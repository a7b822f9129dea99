"""The life of one engine in a session: launched, ready, ended, and launched again when a task asks for it.

A life is a thread with a box of events, so that several engines live beside each other. It alone ends and launches its
engine, and tells every change of its state to `publish`.
"""

from __future__ import annotations

import queue
import random
import secrets
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine import command
from engine.facts import Served
from engine.launch import HASTE_SECONDS, HubBusy, Launch, PortTaken, find_free_port
from engine.note import Engine, Load, Request, ServerError, Settings, State
from host import runner

HUB_PAUSES = 30.0, 60.0, 120.0, 240.0  # seconds: workers that begin together ask the hub for the same files at once
NEVER = float("inf")
PORT_ATTEMPTS = 3  # a port that is free when it is looked up may be taken when it is needed


@dataclass(frozen=True, slots=True)
class Plan:
    """What an engine is launched with."""

    settings: Settings
    folder: Path
    key: str


@dataclass(frozen=True, slots=True)
class _Ended:
    """A launch's process has ended."""

    launch: Launch


class Life(threading.Thread):
    """One engine's life. `engine` is how it is now."""

    def __init__(self, engine: Engine, plan: Plan, publish: Callable[[Engine], None]) -> None:
        super().__init__(name=f"engine-{engine.number}", daemon=True)
        self.engine, self._plan, self._publish = engine, plan, publish
        self._events: queue.SimpleQueue[Request | _Ended | None] = queue.SimpleQueue()
        self._abandoned = threading.Event()
        self._launch: Launch | None = None
        self.failed = False  # by an error that nobody thought of, or a disk that is full

    def run(self) -> None:
        """Live until `finish`."""
        try:
            self._load()
            while (event := self._events.get()) is not None:
                if isinstance(event, _Ended):
                    self._notice(event.launch)
                elif event.generation == self.engine.generation:
                    self._obey(event)
        except Exception:  # noqa: BLE001 - the supervisor ends everything when one life fails
            self.failed = True
            traceback.print_exc(file=sys.stderr)

    def ask(self, request: Request) -> None:
        """Hand over a task's request."""
        self._events.put(request)

    def finish(self, patience: float) -> None:
        """End the engine for good; from another thread."""
        self._abandoned.set()
        self._events.put(None)
        killed = self._launch is not None and self._launch.end(patience)
        if self.is_alive():
            self.join(HASTE_SECONDS)
        if self._launch is not None:
            killed = self._launch.end(HASTE_SECONDS) or killed  # launched, or left, at the last moment
        state = self.engine.state if self.engine.state == State.FAILED else State.DOWN
        self._change(state=state, killed=killed, died=self.engine.died or time.monotonic())

    def _load(self) -> None:
        """Launch the engine and wait until it is ready; publish how that ended."""
        loads, load, begun = self.engine.loads, Load(secrets.token_hex(6), time.time()), time.monotonic()
        ports_taken, pauses = 0, iter(HUB_PAUSES)
        while True:
            try:
                self._start(loads=(*loads, load), ports_taken=ports_taken)
                served = self._await()
                ended = replace(load, seconds=time.monotonic() - begun)
                self._change(state=State.READY, served=served, loads=(*loads, ended))
                return
            except (ServerError, OSError) as error:
                runner.say(str(error))
                if self._launch is not None:
                    self._launch.end(HASTE_SECONDS)  # its children may outlive it
                if isinstance(error, PortTaken) and ports_taken < PORT_ATTEMPTS - 1:
                    ports_taken += 1
                elif not (isinstance(error, HubBusy) and self._waits(next(pauses, NEVER), begun)):
                    ended = replace(load, seconds=time.monotonic() - begun)
                    self._change(state=State.FAILED, message=str(error), loads=(*loads, ended))
                    return

    def _waits(self, pause: float, begun: float) -> bool:
        """Wait for the hub, a while that differs from worker to worker; tell whether there is time for another try."""
        pause *= random.uniform(0.5, 1.5)  # noqa: S311 - not a secret
        if time.monotonic() - begun + pause > self._plan.settings.start_timeout:
            return False
        runner.say(f"the Hugging Face hub has too much to do; the server is started again in {pause:.0f} s")
        return not self._abandoned.wait(pause)

    def _start(self, *, loads: tuple[Load, ...], ports_taken: int) -> None:
        """Launch the engine on a port that is free. Raises ServerError or OSError."""
        if self._abandoned.is_set():
            raise ServerError("canceled while the server was starting")
        plan, port, before = self._plan, find_free_port(), self.engine
        number, place, generation = before.number, before.place, before.generation + 1
        self.engine = Engine(
            number, place=place, generation=generation, loads=loads, served=before.served, ports_taken=ports_taken
        )
        argv = command.build_command(plan.settings, port, place)
        environment = command.build_environment(plan.key, plan.settings.start_timeout, place, number)
        name = f"server-{number}-{len(loads)}" if number else f"server-{len(loads)}"
        self._launch = launch = Launch(argv, plan.folder, name, environment)
        threading.Thread(target=self._tell_end, args=[launch], daemon=True).start()
        url = f"http://127.0.0.1:{port}"
        self._change(url=url, process=launch.process, log=launch.log, scratch=launch.scratch)

    def _await(self) -> Served:
        """Wait until the launched engine is ready; return what it serves. Raises ServerError."""
        from engine import inquiry  # vLLM loads while all that speaks HTTP is imported
        from engine.address import Address

        assert self._launch is not None
        address = Address(self.engine.url, self._plan.key)
        inquiry.wait_until_ready(self._launch, address, self._plan.settings.start_timeout, self._abandoned)
        return inquiry.ask_own(address, self._plan.settings.model, self._launch.log)

    def _tell_end(self, launch: Launch) -> None:
        launch.gone.wait()
        self._events.put(_Ended(launch))

    def _notice(self, launch: Launch) -> None:
        """Publish that a ready engine has ended, then end what it left."""
        if launch is self._launch and self.engine.state == State.READY:
            runner.say(f"engine {self.engine.number} ended with status {launch.status}")
            self._change(state=State.DOWN, died=launch.died, status=launch.status)
            launch.end(HASTE_SECONDS)

    def _obey(self, request: Request) -> None:
        runner.say(f"engine {self.engine.number}: {request.action}, {request.reason}")
        if self.engine.state == State.READY:
            self._end()
        if request.action == "restart":
            self._load()

    def _end(self) -> None:
        """End a ready engine that answers no more."""
        if self._launch is not None:
            self._launch.end(HASTE_SECONDS)
            self._change(state=State.DOWN, died=self._launch.died or time.monotonic())

    def _change(self, **changes: Any) -> None:
        self.engine = replace(self.engine, **changes)
        self._publish(self.engine)
