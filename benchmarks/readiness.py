"""When vLLM itself is ready and when its processes have ended, watched from outside."""

from __future__ import annotations

import contextlib
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from engine.note import load_note, read_note

LOOK_SECONDS = 0.05


@dataclass
class Readiness:
    """Watches, from outside, when vLLM itself is ready and when its processes have ended."""

    folder: Path
    started: float = 0.0  # of vLLM's process, by time.time()
    ready: float = 0.0
    pid: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Wait for the note that serve.py leaves, then for the server's first answer."""
        while not self._over.is_set() and not _launched(self.folder):
            time.sleep(LOOK_SECONDS / 5)
        self.started = time.time()
        engine = load_note(self.folder).engines[0]
        assert engine.process
        self.pid = engine.process.pid
        while not self._over.is_set():
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{engine.url}/health", timeout=5):
                self.ready = time.time()
                return
            time.sleep(LOOK_SECONDS)

    def gone(self) -> float:
        """Wait until no process of vLLM's session is left; return the time."""
        while not self._over.is_set() and _session_lives(self.pid):
            time.sleep(LOOK_SECONDS / 5)
        return time.time()

    def end(self) -> None:
        """Stop watching."""
        self._over.set()


def _launched(folder: Path) -> bool:
    """Tell whether the session's engine has a process."""
    note = read_note(folder)
    return note is not None and note.engines[0].process is not None


def _session_lives(leader: int) -> bool:
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError):
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if entry.name.isdigit() and int(fields[3]) == leader and fields[0] != "Z":
                return True
    return False
