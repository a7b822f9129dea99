"""The user of this machine where it has no name, no home, or no temporary folder that serves, as in containers."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

NAME = "vllm"  # of a user whom nobody knows
SOCKET_BYTES = 56  # of a temporary folder: a socket's path has at most 107, and vLLM adds the rest
_TEMPORARY = tuple(map("/{}".format, ("tmp", "var/tmp", "dev/shm")))  # where a machine lets everyone write


def find_home() -> Path | None:
    """Return this user's home, or None for one that nobody knows."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def name_missing(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the variables that tell a user's name and home where neither the environment nor the machine does."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        named = {"USER": NAME, "LOGNAME": NAME, "HOME": str(home)}
        return {name: value for name, value in named.items() if not environment.get(name)}
    return {}


def find_temporary() -> str:
    """Return a folder for sockets and compiled code: the temporary one, unless it is too long or nothing may run."""
    return next((folder for folder in _places() if _suits(folder)), tempfile.gettempdir())


def _places() -> Iterator[str]:
    yield tempfile.gettempdir()
    yield from _TEMPORARY


def _suits(folder: str) -> bool:
    try:
        runs = not os.statvfs(folder).f_flag & os.ST_NOEXEC
    except OSError:
        return False
    return runs and os.access(folder, os.W_OK | os.X_OK) and len(os.fsencode(folder)) <= SOCKET_BYTES
