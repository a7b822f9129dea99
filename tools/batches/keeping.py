"""What goes on beside the requests of RunPod's API: gathering, forgetting, and telling clients."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

from batches.calls import Calls
from batches.runpod_face import Gatherer
from batches.webhooks import tell_clients

LOOK_SECONDS = 0.2  # between two looks at what waits
EXPIRE_SECONDS = 10.0

log = logging.getLogger("batches")


class Keeping:
    """A thread that does all of it until it is stopped."""

    def __init__(self, calls: Calls, gatherer: Gatherer) -> None:
        self._calls, self._gatherer = calls, gatherer
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=step, daemon=True) for step in (self._gather, self._tell)]
        self._expired = 0.0

    def start(self) -> None:
        """Take up the calls that nobody asks any more, and begin."""
        self._calls.recover()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End when what is under way is done."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _gather(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            try:
                self._gatherer.gather()
                if time.monotonic() - self._expired > EXPIRE_SECONDS:
                    self._expired = time.monotonic()
                    self._calls.expire()
            except Exception:
                log.exception("calls could not be gathered")

    def _tell(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            try:
                asyncio.run(tell_clients(self._calls)) if self._calls.notices(1) else None
            except Exception:
                log.exception("clients could not be told")
