"""Processes that outlive the program that started them: whether they run, and ending all of a session of them.

A process is named by its id and the time it was born, since ids are used again. A session is what a process started
with `start_new_session` and its children are; it is ended whole. Source: proc(5), /proc/PID/stat.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

KILL_SECONDS = 60.0  # for killed processes to be gone; one that hangs in a driver never goes
POLL_SECONDS = 0.2
_STATE, _SESSION, _START_TIME = 0, 3, 19  # places in /proc/PID/stat, counted after the name


def born(pid: int) -> str:
    """Return a process's start time in clock ticks, "" when there is no such process."""
    stat = _stat(pid) if pid else []
    return stat[_START_TIME] if stat else ""


def runs(pid: int, birth: str) -> bool:
    """Tell whether a process still runs; one that ended and waits for its parent does not."""
    stat = _stat(pid)
    return bool(stat) and stat[_START_TIME] == birth and stat[_STATE] != "Z"


def end_session(leader: int, birth: str, patience: float) -> bool:
    """End all processes of a session, politely for `patience` seconds; return whether some had to be killed."""
    if not _ended(leader, birth, signal.SIGTERM, patience, repeat=False):
        _ended(leader, birth, signal.SIGKILL, KILL_SECONDS, repeat=True)
        return True
    return False


def _ended(leader: int, birth: str, number: int, seconds: float, *, repeat: bool) -> bool:
    """Send a signal to every member, once or until it works; return whether all are gone within the time."""
    deadline = time.monotonic() + seconds
    told: set[int] = set()
    while members := _members(leader, birth):
        for pid in members if repeat else set(members) - told:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        told.update(members)
        if time.monotonic() >= deadline:
            return False
        with contextlib.suppress(ChildProcessError):
            os.waitpid(leader, os.WNOHANG)
        time.sleep(POLL_SECONDS)
    return True


def _members(leader: int, birth: str) -> list[int]:
    """Return the live processes of a session; none when the leader's id is somebody else's by now."""
    if born(leader) not in ("", birth):
        return []
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    stats = ((pid, _stat(pid)) for pid in pids)
    return [pid for pid, stat in stats if stat and stat[_STATE] != "Z" and int(stat[_SESSION]) == leader]


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name, or an empty list."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
