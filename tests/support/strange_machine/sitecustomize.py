"""Makes the machine that a program runs on a strange one, as STRANGE says; Python imports this module by its name.

`nfs` refuses an exclusive lock on a file that was opened to be read; `smb` lets nobody open a locked file to read it,
not its own writer either; `no-locks` has no locks; `windows` has none of the modules that Windows lacks; `no-jinja2`
lacks that package.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any


def refuse(number: int) -> OSError:
    """Return the error that a file system gives."""
    return OSError(number, os.strerror(number))


def be_nfs(fcntl: Any) -> None:
    """Refuse an exclusive lock without the right to write. Source: flock(2)."""
    lock = fcntl.flock

    def flock(file: Any, operation: int) -> None:
        number = file if isinstance(file, int) else file.fileno()
        if operation & fcntl.LOCK_EX and fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise refuse(errno.EBADF)
        lock(file, operation)

    fcntl.flock = flock


def be_smb(fcntl: Any) -> None:
    """Refuse to read what another descriptor has locked, of this process or any. Source: flock(2)."""
    plain = io.open

    def open_unlocked(file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
        opened = plain(file, mode, *rest, **more)
        if "r" in mode:
            try:
                fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
                fcntl.flock(opened, fcntl.LOCK_UN)
            except OSError:
                opened.close()
                raise refuse(errno.EACCES) from None
        return opened

    io.open = open_unlocked  # what pathlib opens with


def be_without_locks(fcntl: Any) -> None:
    """Have no locks."""

    def flock(file: Any, operation: int) -> None:
        raise refuse(errno.ENOLCK)

    fcntl.flock = flock


class Absent:
    """Finds no module of these names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        for name in names:
            sys.modules.pop(name, None)

    def find_spec(self, name: str, *_: Any) -> None:
        """Refuse the name, or leave it to others."""
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


ABSENT = {"windows": ("fcntl", "resource", "pwd", "grp", "termios"), "no-jinja2": ("jinja2",)}
DISKS = {"nfs": be_nfs, "smb": be_smb, "no-locks": be_without_locks}

kind = os.environ.get("STRANGE", "")
if kind in ABSENT:
    sys.meta_path.insert(0, Absent(ABSENT[kind]))  # type: ignore[arg-type]
elif kind:
    import fcntl

    DISKS[kind](fcntl)
