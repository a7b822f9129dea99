"""Run a command so that nothing it starts can outlive its holder: python holder.py COMMAND...

The holder is the subreaper of all it starts, so a process that made itself a session of its own stays below it in the
process tree. When the command ends, or the holder gets SIGTERM, or its own parent dies, every process below it is
killed; the command's exit status is passed on. Linux only. `below` and `kill_below` serve whoever started the holder.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PARENT_FIELD = 1  # in /proc/PID/stat, counted after the parenthesis that ends the name; 0 is the state


def below(root: int) -> list[int]:
    """Return the ids of the live processes below a process, parents first."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(stat.parent.name)] = int(fields[PARENT_FIELD])
    found = [root]
    for parent in found:
        found += [child for child, its_parent in parents.items() if its_parent == parent]
    return found[1:]


def kill_below(root: int) -> None:
    """Kill every process below a process, until none is left to start another."""
    while victims := below(root):
        for victim in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        time.sleep(0.02)


def main(command: list[str]) -> int:
    """Run the command and clean up after it."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)

    def end(signum: int, frame: FrameType | None) -> None:
        kill_below(os.getpid())
        os._exit(128 + signum)

    signal.signal(signal.SIGTERM, end)
    started = subprocess.Popen(command)
    status = _reap_until(started.pid)
    kill_below(os.getpid())
    return status


def _reap_until(child: int) -> int:
    """Wait for the child, taking in every orphan that ends before it; return its exit status."""
    while True:
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) % 256)
