"""Shards that show late: on a network file system a worker may see for a while what a folder held before.

A farm merges when all tasks have ended well, and each has left a shard. While the shards in sight do not cover what the
job asks for, they are looked for again; for good they are missing only after that.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from host import runner
from results.shards import NAME, Header, ShardError, read_header
from rows import ranges

LATE_SECONDS = 90.0  # Linux keeps an NFS folder's content for 60 s at most (acdirmax); nfs(5)
POLL_SECONDS = 2.0


def wait_for_shards(folder: Path, sha256: str, given: Mapping[str, Any]) -> None:
    """Return when the shards of an input cover the lines that a job asks for, or after LATE_SECONDS."""
    wanted = len(ranges.of_values(given["Prompts"], given["BlockSize"] or 1))
    known: dict[str, Header | None] = {}
    deadline, has_told = time.monotonic() + LATE_SECONDS, False
    while (shown := _count_lines(folder, sha256, given, known)) < wanted and time.monotonic() < deadline:
        if not has_told:
            has_told = True
            runner.say(f"the shards in sight have {shown:,} of {wanted:,} lines, although all tasks have ended: wait")
        time.sleep(POLL_SECONDS)


def _count_lines(folder: Path, sha256: str, given: Mapping[str, Any], known: dict[str, Header | None]) -> int:
    """Return how many lines the shards of this request have together; `known` keeps what was read of each."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in known and NAME.fullmatch(path.name):
            with contextlib.suppress(OSError):
                known[path.name] = _read(path)
    asked = (sha256, given["Prompts"], given["BlockSize"] or 1)
    found = {
        header.lines: len(header.chunk())
        for header in known.values()
        if header and (header.input_sha256, header.prompts, header.block_size) == asked
    }
    return sum(found.values())


def _read(path: Path) -> Header | None:
    """Return a shard's header, or None for what is no shard. Raises OSError."""
    with contextlib.suppress(ShardError):
        header = read_header(path)
        header.chunk()
        return header
    return None
