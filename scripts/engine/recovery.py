"""Keeping a server for a chunk: noticing that it died or is stuck, and bringing it back a bounded number of times."""

from __future__ import annotations

import asyncio
import http.client
import threading
import time
import urllib.request
from pathlib import Path

from asking.dispatcher import ServerGone, Supervisor
from engine import cause, readiness, server
from host import runner

LOADS_LIMIT = 6  # model loads in one session, the first included; more would pay for a worker that cannot work
SETTLE_SECONDS = 3.0  # a dying server closes its connections before its process ends
PROBES = 3
AWAY_SECONDS = 300.0  # how long a server that somebody else runs may be away, if it may take that long to start


class Keeper(Supervisor):
    """Watches the session's server for one chunk; `loads` are the model loads of this attempt."""

    def __init__(self, folder: Path, state: server.State, key: str) -> None:
        self.folder, self.state, self._key = folder, state, key
        self.loads = [state.load] if state.load else []
        self._abandoned = threading.Event()

    async def healthy(self) -> bool:
        """Tell whether the server answers, giving a dying one the time to show it; show the log of one that died."""
        for _ in range(PROBES):
            if not self.state.alive() or not await asyncio.to_thread(self._answers):
                if not self.state.external:
                    runner.say(f"the server died; the end of its log follows\n{self._tail()}")
                return False
            if self.state.external:
                return True
            await asyncio.sleep(SETTLE_SECONDS / PROBES)
        return True

    def _answers(self) -> bool:
        try:
            # a server that somebody else runs may have no /health; the list of models is common to all
            path = "/v1/models" if self.state.external else "/health"
            request = urllib.request.Request(self.state.url + path, headers={"Authorization": f"Bearer {self._key}"})
            with readiness.OPENER.open(request, timeout=readiness.ANSWER_SECONDS) as response:
                return bool(response.status == 200)
        except (OSError, http.client.HTTPException):
            return False

    async def recover(self) -> str:
        """End what is left of the server and start it again; wait for one that somebody else runs."""
        return await asyncio.to_thread(self._wait_for_return if self.state.external else self._restart)

    def abandon(self) -> None:
        """Wait no longer for the server."""
        self._abandoned.set()

    def _wait_for_return(self) -> str:
        seconds = min(AWAY_SECONDS, self.state.settings.start_timeout)
        runner.say(f"the server at {self.state.url} does not answer; it is given {seconds:.0f} s to come back")
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._abandoned.wait(readiness.POLL_SECONDS):
            if self._answers():
                runner.say("the server answers again")
                return self.state.url
        raise ServerGone(f"The server at {self.state.url} does not answer any more; start it and submit again")

    def _restart(self) -> str:
        server.stop(self.state, patience=2)
        if len(self.state.loads) >= LOADS_LIMIT:
            raise ServerGone(f"The server died {LOADS_LIMIT} times in this session; another worker may do better")
        state = server.launch(self.state.settings, self.folder, self._key, self.state.loads)
        runner.say(f"model load {state.load}: starting the server again ({len(state.loads)} of {LOADS_LIMIT} loads)")
        try:
            state, facts = readiness.wait_until_ready(state, self.folder, self._key, self._abandoned)
        except server.ServerError as error:
            server.stop(server.load(self.folder) or state, patience=2)
            raise ServerGone(str(error)) from None
        readiness.save_served(facts, self.folder)
        self.state = state
        self.loads.append(state.load)
        runner.say(f"the server answers again, at {state.url}")
        return state.url

    def _tail(self) -> str:
        tail = readiness.log_tail(self.state)
        why = cause.explain(cause.read_log(Path(self.state.log)))
        return "\n".join([*(f"vllm: {line}" for line in tail.splitlines()), *([why] if why else [])])

    async def metrics(self) -> str:
        """Return the server's /metrics page. Raises OSError or http.client.HTTPException."""
        return await asyncio.to_thread(self._metrics)

    def _metrics(self) -> str:
        with readiness.OPENER.open(self.state.url + "/metrics", timeout=readiness.ANSWER_SECONDS) as response:
            return str(response.read().decode("utf-8", "replace"))

    async def end_stuck(self) -> None:
        """End a server that makes no progress; the rows in flight then find it dead."""
        if self.state.external:
            return
        runner.say("the server made no progress although requests are in flight: it is stuck and is ended")
        await asyncio.to_thread(server.stop, self.state, patience=2)
