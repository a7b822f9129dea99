"""Files that appear whole: written under a temporary name, which becomes the file's own when all is there.

A temporary name is hidden and drawn at random, so that programs of any host may write one file at once: the last to end
wins, and no reader sees a part.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

GZIP_MAGIC = b"\x1f\x8b"  # what gzip data begins with, whatever the file's name
_BUFFER = 1 << 20  # bytes


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

    def create(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    with name_at_end(path) as temporary, open(temporary, "xb", _BUFFER, opener=create) as file:
        yield file


def write_whole(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file that appears with all of its content."""
    with open_whole(path, mode=mode) as file:
        file.write(content)
