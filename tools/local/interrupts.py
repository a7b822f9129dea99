"""Ctrl-C for an `openjd run`: the first ends it with what is in flight, the second at once."""

from __future__ import annotations

import signal
import subprocess
import threading
import time

PAUSE = 2.0  # seconds between two signals


class Interrupts:
    """Sends SIGINT to an openjd that runs, never two at once: its handler would wait for itself for ever."""

    def __init__(self, openjd: subprocess.Popen[bytes]) -> None:
        self._openjd = openjd
        self._due = 0.0  # by time.monotonic()

    def send(self) -> None:
        """Send one, now or after a pause; a program that has ended gets none."""
        wait = max(0.0, self._due - time.monotonic())
        self._due = time.monotonic() + wait + PAUSE
        later = threading.Timer(wait, self._openjd.send_signal, (signal.SIGINT,))
        later.daemon = True
        later.start()
