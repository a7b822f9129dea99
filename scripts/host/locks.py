"""Locks that tell a file which a program still writes from one that it left behind.

Where a file system or an operating system has no locks, nobody can tell, and a program works without: two attempts may
then both keep a file, which costs a little disk and loses nothing. Network file systems differ from a disk in two ways
that callers need not know: NFS refuses an exclusive lock on a file that was opened to be read, and SMB lets no second
descriptor read what is locked. Source: flock(2), section "NFS details" and "CIFS details".
"""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_HELD = frozenset({errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK})  # by another; SMB says EACCES


def hold(file: BinaryIO) -> None:
    """Lock a file that was opened to be written, until it is closed; where there are no locks, do nothing."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)


def is_held(path: Path) -> bool | None:
    """Tell whether a program holds a file; None where that cannot be known. Raises OSError for a file that is gone."""
    with path.open("rb") as file:
        if fcntl is None:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            return True if error.errno in _HELD else None
    return False
