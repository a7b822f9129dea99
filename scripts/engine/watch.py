"""What a task knows of one of the session's servers: whether it lives, and how to have it back.

There is one rule for death: the process is gone, or the server itself says that it is dead, or it makes no progress
with requests in flight (which is for the caller to say, by `end_stuck`). A server that is slow to answer lives.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import urllib.error
from collections.abc import Callable
from http.client import OK
from pathlib import Path

from engine.address import ANSWER_SECONDS, UNREADABLE, Address
from engine.cause import explain, quote_tail, read_log
from engine.loading import follow, name_copy
from engine.note import Engine, Load, Note, Request, ServerError, ServerGone, State, load_note, send_request
from engine.routes import CHAT
from host import runner
from host.processes import KILL_SECONDS
from host.transfer import shown

SETTLE_SECONDS = 3.0  # a dying server closes its connections before its process ends
END_SECONDS = KILL_SECONDS + 30.0  # for the supervisor to end an engine
AWAY_SECONDS = 300.0  # how long a server that somebody else runs may be away, if it may take that long to start
AWAY_POLL_SECONDS = 0.5  # between two looks at such a server
POLL_SECONDS = 0.1
JOIN_SECONDS = 0.5  # between two looks at a copy that loads
_NOBODY = frozenset({502, 503, 504})  # what a gateway says for a server that is not there


class Watch:
    """Watches one engine of the session for one task; `loads` are the model loads of it that the task used."""

    def __init__(self, folder: Path, note: Note, key: str, number: int = 0) -> None:
        self._folder, self._note, self._key = folder, note, key
        self._engine = note.engines[number]
        self._copy = name_copy(number, note)
        self.loads: list[Load] = []
        self._abandoned = threading.Event()

    async def join(self) -> None:
        """Wait while the engine loads.

        Raises ServerGone for one that never did, and for one of several that could not be started again: each task
        that tried it once more would keep rows waiting for that.
        """
        waited = False
        while (engine := self._read_engine()).state == State.STARTING and self._is_owned():
            waited = True
            await asyncio.sleep(JOIN_SECONDS)
        self._engine = engine
        failed = engine.state == State.FAILED and len(self._note.engines) > 1
        if (engine.served is None or failed) and not self._note.external:
            why = engine.message.rpartition("\n")[2] or "it has not started"
            raise ServerGone(f"{self._copy}{why}")
        if waited:
            runner.say(f"{self._copy}it answers too, at {self.url}")
        self.loads = list(engine.loads[-1:])

    @property
    def url(self) -> str:
        """Return the server's address."""
        return self._engine.url

    async def find_death(self) -> float | None:
        """Return when the server died (time.monotonic()), giving a dying one the time to show it; None if it lives."""
        find = self._find_absence if self._note.external else self._find_death
        return await asyncio.to_thread(find)

    async def recover(self) -> str:
        """Have the server started again, or wait for one that somebody else runs; return its address.

        Raises ServerGone when no server can be had.
        """
        return await asyncio.to_thread(self._wait_for_return if self._note.external else self._restart)

    def abandon(self) -> None:
        """Let a recovery that is under way end soon, by ServerGone."""
        self._abandoned.set()

    async def metrics(self) -> str:
        """Return the server's /metrics page. Raises OSError or http.client.HTTPException."""
        return await asyncio.to_thread(self._address.read, "/metrics")

    async def end_stuck(self) -> None:
        """End a server that makes no progress; the rows in flight then find it dead."""
        if not self._note.external:
            runner.say(
                f"{self._copy}the server made no progress although requests are in flight: it is stuck and is ended"
            )
            await asyncio.to_thread(self._end, "it makes no progress")

    @property
    def _address(self) -> Address:
        return Address(self._engine.url, self._key)

    def _find_death(self) -> float | None:
        says_dead = threading.Event()
        threading.Thread(target=self._ask_health, args=[says_dead], daemon=True).start()
        deadline = time.monotonic() + SETTLE_SECONDS
        while (died := self._read_death()) is None and time.monotonic() < deadline:
            if says_dead.is_set():
                self._end("it says that it is dead")
            time.sleep(POLL_SECONDS)
        if died is not None:
            self._tell_death()
        return died

    def _ask_health(self, says_dead: threading.Event) -> None:
        """Note it when the server itself says that it is dead; one that does not answer in time says nothing."""
        try:
            self._address.read("/health", SETTLE_SECONDS)
        except urllib.error.HTTPError as error:
            if error.code >= 500:
                says_dead.set()
        except UNREADABLE:
            pass

    def _read_death(self) -> float | None:
        """Return when the engine that is watched died, as its note tells; None while it lives."""
        engine = self._read_engine()
        if engine.generation != self._engine.generation or engine.state in (State.DOWN, State.FAILED):
            return engine.died or time.monotonic()
        lives = self._is_owned() or (engine.process is not None and engine.process.runs())
        return None if lives else time.monotonic()

    def _tell_death(self) -> None:
        log, status = self._engine.log, self._read_engine().status
        why = explain(read_log(Path(log)), status)
        runner.say(f"{self._copy}the server died; the end of its log follows\n{quote_tail(log)}{why}".rstrip("\n"))

    def _end(self, reason: str) -> None:
        """Have the engine ended, and wait until it is."""
        self._request("end", reason)
        deadline = time.monotonic() + END_SECONDS
        while self._read_death() is None and self._is_owned() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)

    def _restart(self) -> str:
        self._request("restart", "a row needs it")
        generation = self._engine.generation + 1
        try:
            self._engine = follow(self._folder, self._engine.number, generation, self._abandoned, self._is_owned)
        except ServerError as error:
            raise ServerGone(str(error)) from None
        self.loads.append(self._engine.loads[-1])
        runner.say(f"{self._copy}the server answers again, at {self.url}")
        return self.url

    def _request(self, action: str, reason: str) -> None:
        request = Request(self._engine.number, self._engine.generation, action, reason)
        send_request(request, self._folder)

    def _read_engine(self) -> Engine:
        return load_note(self._folder).engines[self._engine.number]

    def _is_owned(self) -> bool:
        return self._note.supervisor is not None and self._note.supervisor.runs()

    def _find_absence(self) -> float | None:
        return None if self._answers() else time.monotonic()

    def _wait_for_return(self) -> str:
        seconds = min(AWAY_SECONDS, self._note.settings.start_timeout)
        runner.say(f"the server at {shown(self.url)} does not answer; it is given {seconds:.0f} s to come back")
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._abandoned.wait(AWAY_POLL_SECONDS):
            if self._answers():
                runner.say("the server answers again")
                return self.url
        raise ServerGone(f"The server at {shown(self.url)} does not answer any more; start it and submit again")

    def _answers(self) -> bool:
        """Tell whether a given server answers: it may have neither /health nor a list of models, and still say so."""
        listed = self._ask(lambda: self._address.read("/v1/models"))
        if listed not in _NOBODY:
            return listed is not None
        model = self._engine.served.model if self._engine.served else self._note.settings.model
        asked = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
        return self._ask(lambda: self._address.post(CHAT, asked, ANSWER_SECONDS)) not in {*_NOBODY, None}

    @staticmethod
    def _ask(send: Callable[[], object]) -> int | None:
        """Return the status that a request is answered with, None where there is no answer."""
        try:
            send()
        except urllib.error.HTTPError as error:
            return error.code
        except json.JSONDecodeError:
            return OK
        except UNREADABLE:
            return None
        return OK
