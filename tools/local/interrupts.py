"""Ctrl-C for an `openjd run`: the first ends it with what is in flight, the second at once, and a hang is killed."""

from __future__ import annotations

import signal
import subprocess
import threading
import time

PAUSE = 2.0  # seconds between two signals
ENOUGH = 2  # signals for openjd to end by itself
LAST_SECONDS = 120.0  # for what the last one begins: the task's end, and the server's


class Interrupts:
    """Sends SIGINT to an openjd that runs, never two at once: its handler would wait for itself for ever.

    It may all the same, where a signal meets a lock that its program holds; then it is killed some time after the last.
    """

    def __init__(self, openjd: subprocess.Popen[bytes]) -> None:
        self._openjd = openjd
        self._due = 0.0  # by time.monotonic()
        self._sent = 0

    def send(self) -> None:
        """Send one, now or after a pause; a program that has ended gets none."""
        wait = max(0.0, self._due - time.monotonic())
        self._due = time.monotonic() + wait + PAUSE
        self._sent += 1
        self._later(wait, signal.SIGINT)
        if self._sent == ENOUGH:
            self._later(wait + LAST_SECONDS, signal.SIGKILL)

    def _later(self, seconds: float, number: int) -> None:
        timer = threading.Timer(seconds, self._openjd.send_signal, (number,))
        timer.daemon = True
        timer.start()
