"""The file of a chunk that runs: records are appended at once, so that an interruption loses no answer.

Until its end it is hidden and locked; then it becomes a shard by a rename, whole, under a name that no other attempt,
job or worker uses. What an interrupted attempt left is found by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from engine.note import Load
from host import files, locks
from results import shards
from results.record import Record
from results.shards import Header, Shard, ShardError, open_shard
from rows import ranges
from rows.errors import KILLED_SERVER
from rows.ranges import Lines


@dataclass
class Writer:
    """Appends records to a partial file and turns it into a shard. Use as a context manager."""

    folder: Path
    header: Header
    count: int = 0
    _file: BinaryIO = field(init=False)
    path: Path = field(init=False)
    _size: int = field(init=False, default=0)
    _digest: Any = field(init=False, default_factory=hashlib.sha256)

    def __enter__(self) -> Self:
        files.make_folder(self.folder)
        self.path = draw_path(self.folder, self.header)
        self._file = files.create(self.path, buffering=0)
        locks.hold(self._file)
        self._append(json.dumps(self.header.as_json()).encode() + b"\n")
        return self

    def add(self, record: Record) -> None:
        """Append one record; it is with the operating system when this returns."""
        self._append(record.encode())
        self.count += 1

    def _append(self, data: bytes) -> None:
        """Write all of the data or none of it. Raises OSError."""
        written = self._file.write(data)
        if written != len(data):
            self._file.truncate(self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        self._size += written
        self._digest.update(data)  # as it goes: SMB lets nobody read a locked file, not even its writer once more

    def finish(self, loads: Sequence[Load], engines: Mapping[str, float] | None = None) -> Path:
        """Write the footer and give the file its name.

        `loads` are the model loads of this attempt, `engines` says what its engines did (`engine_use.add_up`).
        """
        more = {"engines": engines} if engines else {}
        told = {
            "loads": [load.name for load in loads],
            "load_seconds": [round(load.seconds, 3) for load in loads],
            "load_began": [round(load.began, 3) for load in loads],
        }
        footer = {"end": True, "records": self.count, **told, **more, "sha256": self._digest.hexdigest()}
        self._append(json.dumps(footer).encode() + b"\n")
        os.fsync(self._file.fileno())
        final = self.path.with_name(shards.name_when_whole(self.path))
        try:
            self.path.rename(final)
        except PermissionError:  # SMB, and Windows: an open file keeps its name
            self._file.close()
            self.path.rename(final)
        return final

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def draw_path(folder: Path, header: Header) -> Path:
    """Return the path of a partial file whose name no other attempt has, on this host or another."""
    lines = ranges.parse(header.lines)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(header.created))
    whose = f"in-{header.input_sha256[:12]}.{stamp}-{secrets.token_hex(4)}"
    return folder / f".lines-{lines[0].start:09d}-{lines[-1][-1]:09d}.{whose}.{header.job}.partial"


def find_leftovers(folder: Path, header: Header) -> tuple[dict[int, Record], list[Path]]:
    """Return what interrupted attempts at this chunk left, by line, and the files that hold nothing else of worth.

    Answers are kept, and rows that were found to kill the server: each costs a model load, so that an attempt that
    asked them again would come no further than the last. Other failures are to be tried again. A torn last line is
    dropped, and a file that another process writes to is left alone. Remove the files once a new one holds the records.
    Where the file system cannot tell whether one is written to, its records are used, and it stays.
    """
    kept: dict[int, Record] = {}
    done = []
    for path in sorted(folder.glob(f".lines-*.{header.job}.partial")):
        with contextlib.suppress(OSError, ShardError):
            held = locks.is_held(path)
            shard = None if held else open_shard(path)  # an empty file is no shard: its writer has not locked it yet
            if shard is None or shard.header.input_sha256 != header.input_sha256:
                continue
            if _keep(shard, header.chunk(), kept) and held is not None:
                done.append(path)
    return kept, done


def _keep(shard: Shard, chunk: Lines, kept: dict[int, Record]) -> bool:
    """Add a leftover's records to those that are kept; return whether it holds nothing else of worth."""
    found = {
        record.head["line"]: record
        for record in shard.records()
        if record.head["status"] == "succeeded" or record.head.get("code") == KILLED_SERVER
    }
    for line, record in found.items():
        if line in chunk and (line not in kept or kept[line].head["status"] != "succeeded"):
            kept[line] = record
    return found.keys() <= kept.keys()
