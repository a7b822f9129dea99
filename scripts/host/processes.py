"""Processes that outlive the program that started them: whether they run, what they started, and ending them.

A process is named by its id and the time it was born, since ids are used again. Source: proc(5), /proc/PID/stat.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

KILL_SECONDS = 60.0  # for killed processes to be gone; one that hangs in a driver never goes
POLL_SECONDS = 0.05
_NAMED, _STATE, _PARENT, _SESSION, _START_TIME = ")", 0, 1, 3, 19  # the end of the name, and places after it
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_INIT = 1  # outlives everything
# What stands between a runner and the program that it runs as another user, and ends with that program.
_WRAPPERS = frozenset({"sudo", "su", "runuser", "setsid", "sh", "bash", "dash", "ksh", "zsh", "fish"})
# Ends a program with whoever starts it, also when that is killed hard. PR_SET_PDEATHSIG is 1 in linux/prctl.h.
_TIED = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True, slots=True)
class Process:
    """A process for good: its id, and its start time in clock ticks."""

    pid: int
    birth: str

    def runs(self) -> bool:
        """Tell whether it still runs; one that ended and waits for its parent does not."""
        stat = _read_stat(self.pid)
        return stat is not None and stat.birth == self.birth and stat.alive

    def signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.runs():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)


@dataclass(frozen=True, slots=True)
class _Stat:
    name: str
    alive: bool
    parent: int
    session: int
    birth: str


def find_process(pid: int) -> Process:
    """Return the process that has this id now; one that never runs when there is none."""
    stat = _read_stat(pid)
    return Process(pid, stat.birth if stat else "")


def find_runner() -> Process | None:
    """Return what runs this program: its nearest ancestor in another process session that is not a mere wrapper.

    None when nothing is to be watched: that ancestor is the first of all processes, or is hidden. Runners start each
    action in a session of its own (openjd-sessions: `_subprocess.py`), as another user by sudo, a shell and setsid.
    """
    own = stat = _read_stat(os.getpid())
    while stat is not None and stat.parent > _INIT and own is not None:
        pid, stat = stat.parent, _read_stat(stat.parent)
        if stat is not None and stat.session != own.session and stat.name not in _WRAPPERS:
            return Process(pid, stat.birth)
    return None


def find_family(leader: Process, mark: str) -> set[int]:
    """Return the live processes that a leader started, with itself, also after its end.

    These are the members of its session, what carries `mark` (NAME=value) in its environment, and all their children.
    """
    table = _read_all()
    holder = table.get(leader.pid)
    found = {pid for pid, stat in table.items() if leader.pid in (stat.session, pid)}
    if holder is not None and holder.birth != leader.birth:
        found = set()  # the id is somebody else's by now
    found |= {pid for pid in table if _has_mark(pid, mark)}
    return _with_descendants(found, table)


def find_marked(mark: str) -> set[int]:
    """Return the live processes that carry `mark` (NAME=value) in their environment, and what they started."""
    table = _read_all()
    return _with_descendants({pid for pid in table if _has_mark(pid, mark)}, table)


def find_descendants() -> set[int]:
    """Return the live processes that this program started, and those that they started."""
    return _with_descendants({os.getpid()}, _read_all()) - {os.getpid()}


def end_all(find: Callable[[], set[int]], patience: float) -> bool:
    """End the processes that `find` finds, politely for `patience` seconds; return whether some had to be killed."""
    if not _end_by(signal.SIGTERM, find, patience, repeat=False):
        _end_by(signal.SIGKILL, find, KILL_SECONDS, repeat=True)
        return True
    return False


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none gets away. Source: prctl(2)."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Be sent SIGTERM when the parent ends, also when it is killed hard. Source: prctl(2)."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGTERM))


def reap_orphans(own: set[int]) -> None:
    """Let adopted processes that ended go; those of `own` are waited for elsewhere."""
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid in own:
                return
            os.waitpid(ended.si_pid, os.WNOHANG)


def fork_apart(run: Callable[[int], int], log: BinaryIO) -> tuple[Process, int]:
    """Run a function in a child process, in a process session of its own; return the process, and a pipe to it.

    `run` is given the other end of the pipe, as a file descriptor, and returns the exit status. What it prints goes to
    `log`. The child begins with all that this program has imported, which takes a new one longer than all else it does.
    """
    sys.stdout.flush()
    hearing, saying = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(saying)
        _run_apart(run, hearing, log)
    os.close(hearing)
    return find_process(pid), saying


def _run_apart(run: Callable[[int], int], hearing: int, log: BinaryIO) -> NoReturn:
    """Be the child of `fork_apart`: nothing of what its parent has begun goes on in it."""
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        for own in (1, 2):
            os.dup2(log.fileno(), own)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        status = run(hearing)
    except BaseException:  # noqa: BLE001 - the parent's handlers are the parent's
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def tie_to_parent(argv: list[str]) -> list[str]:
    """Return a command line that runs `argv` and is sent SIGTERM when the thread that started it ends."""
    return [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *argv]


def _end_by(number: int, find: Callable[[], set[int]], seconds: float, *, repeat: bool) -> bool:
    """Send a signal to every process, once or until it works; return whether all are gone within the time."""
    deadline = time.monotonic() + seconds
    told: set[int] = set()
    while members := find():
        for pid in members if repeat else members - told:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        told |= members
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _with_descendants(found: set[int], table: dict[int, _Stat]) -> set[int]:
    """Return live processes and their live descendants."""
    children: dict[int, list[int]] = {}
    for pid, stat in table.items():
        children.setdefault(stat.parent, []).append(pid)
    reached, new = set(found), list(found)
    while new:
        new = [child for pid in new for child in children.get(pid, []) if child not in reached]
        reached.update(new)
    return {pid for pid in reached if pid in table and table[pid].alive}


def _has_mark(pid: int, mark: str) -> bool:
    try:
        return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False  # another user's, or it has ended


def _read_all() -> dict[int, _Stat]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return {pid: stat for pid in pids if (stat := _read_stat(pid))}


def _read_stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    head, _, tail = text.rpartition(_NAMED)
    fields = tail.split()
    name = head.partition("(")[2]
    return _Stat(name, fields[_STATE] not in "ZX", int(fields[_PARENT]), int(fields[_SESSION]), fields[_START_TIME])
