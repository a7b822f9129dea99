"""Ctrl-C for an openjd that hangs."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from local import interrupts
from local.interrupts import Interrupts

DEAF = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("deaf", flush=True)
while True:
    signal.pause()
"""


def test_an_openjd_that_hangs_after_its_last_signal_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "PAUSE", 0.0)
    monkeypatch.setattr(interrupts, "LAST_SECONDS", 0.1)
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE) as openjd:
        assert openjd.stdout
        assert openjd.stdout.readline() == b"deaf\n"
        sender = Interrupts(openjd)
        sender.send()
        assert openjd.poll() is None
        sender.send()
        assert openjd.wait() == -signal.SIGKILL
