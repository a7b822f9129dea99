"""Files that appear whole: written under a temporary name, which becomes the file's own when all is there.

A temporary name is hidden and drawn at random, so that programs of any host may write one file at once: the last to end
wins, and no reader sees a part.

Whoever may change a folder may change what programs put into it, whatever their umask: the person who merges results on
a share is often not the user that a worker runs its jobs as.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

GZIP_MAGIC = b"\x1f\x8b"  # what gzip data begins with, whatever the file's name
_BUFFER = 1 << 20  # bytes


def make_folder(path: Path) -> None:
    """Make a folder where there is none, with those above it."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        _let_write(path, 0o777)


def create(path: Path, *, mode: int = 0o666, buffering: int = _BUFFER) -> BinaryIO:
    """Open a new file to write. Raises FileExistsError."""
    file = open(path, "xb", buffering, opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115 - the caller's
    _let_write(path, mode)
    return file


def _let_write(path: Path, most: int) -> None:
    """Give group and others the right to write that they have in the folder, as far as `most` lets them."""
    with contextlib.suppress(OSError):  # another's folder, or a file system without modes
        folder, own = path.parent.stat().st_mode, path.stat().st_mode
        shared = folder & most & (stat.S_IWGRP | (0 if folder & stat.S_ISVTX else stat.S_IWOTH))
        if shared & ~own:
            path.chmod(stat.S_IMODE(own) | shared)


@contextlib.contextmanager
def name_at_end(path: Path) -> Iterator[Path]:
    """Give a temporary path; what is there takes the name `path` when the block ends well, else it is removed."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def open_whole(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Give a file to write that appears as `path` when the block ends well; `mode` is what the umask leaves of it."""
    with name_at_end(path) as temporary, create(temporary, mode=mode) as file:
        yield file


def open_log(path: Path) -> BinaryIO:
    """Return an empty file for what a program prints, which its owner alone may read."""
    path.unlink(missing_ok=True)
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))


def write_whole(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file that appears with all of its content."""
    with open_whole(path, mode=mode) as file:
        file.write(content)
