"""Shards: the files under OutputDir/output/results that hold what was answered, one file a chunk.

A shard is JSONL. Its first line is a header: what was asked of which input, by which job and worker. Then one record a
line of the input: `line`, `status` (succeeded, failed or blank), what is known of the request, and last `output`, the
line for output.jsonl. Its last line is a footer with the SHA-256 of all bytes before it. docs/outputs.md describes the
format for people who read a shard years later.

While a chunk runs its records are appended to a hidden partial file, so that an interruption loses no answer; the
finished shard appears whole, by a rename, under a name that no other attempt, job or worker uses.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from host import files, locks
from results.record import COUNT_LIMIT, Glance, Record, decoded, glance
from rows import ranges
from rows.errors import KILLED_SERVER
from rows.ranges import Lines

VERSION = 1
NAME = re.compile(r"lines-(\d+)-(\d+)\.in-([0-9a-f]{12})\.(\d{8}T\d{6}Z)-([0-9a-f]{8})\.jsonl")
PARTIAL = re.compile(r"\.lines-.*\.partial")
_FOOTER_LIMIT = 4096  # bytes
_BLOCK = 1 << 20  # bytes read at a time


class ShardError(Exception):
    """A file that is not a shard, or not one that this version reads."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a shard is about. `lines` is the chunk, `prompts` and `block_size` are the whole job's request."""

    input_sha256: str
    input_name: str
    input_lines: int
    lines: str
    prompts: str
    block_size: int
    model: str
    job: str
    worker: str
    created: float

    def as_json(self) -> dict[str, Any]:
        """Return the header line's object."""
        whole = {name: getattr(self, name) for name in self.__slots__}
        source = {name.removeprefix("input_"): whole.pop(name) for name in list(whole) if name.startswith("input_")}
        return {"shard": VERSION, "input": source, **whole}

    @classmethod
    def from_json(cls, value: Any) -> Header:
        """Return the header of a parsed first line. Raises ShardError for anything else."""
        if not isinstance(value, dict) or value.get("shard") != VERSION or not isinstance(value.get("input"), dict):
            raise ShardError("no shard header of this version")
        found = {**value, **{f"input_{name}": content for name, content in value["input"].items()}}
        for name, kind in _HEADER.items():
            if type(found.get(name)) is not kind or (kind is not str and not 0 <= found[name] < COUNT_LIMIT):
                raise ShardError(f"its header has no proper {name!r}")
        return cls(**{name: _clean(found[name]) for name in _HEADER})

    def chunk(self) -> Lines:
        """Return the lines of this shard's chunk. Raises ShardError."""
        try:
            return Lines(ranges.parse(self.lines))
        except ranges.RangeError as error:
            raise ShardError(str(error)) from None


def _clean(value: Any) -> Any:
    """Return a text without halves of surrogate pairs, which UTF-8 cannot say."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


_HEADER = {field.name: {"str": str, "int": int, "float": float}[str(field.type)] for field in fields(Header)}


@dataclass
class Writer:
    """Appends records to a partial file and turns it into a shard. Use as a context manager."""

    folder: Path
    header: Header
    count: int = 0
    _file: BinaryIO = field(init=False)
    _stem: str = field(init=False)
    _path: Path = field(init=False)
    _size: int = field(init=False, default=0)
    _digest: Any = field(init=False, default_factory=hashlib.sha256)

    def __enter__(self) -> Self:
        files.make_folder(self.folder)
        self._stem = _draw_stem(self.header)
        self._path = self.folder / f".{self._stem}.{self.header.job}.partial"
        self._file = files.create(self._path, buffering=0)
        locks.hold(self._file)
        self._append(json.dumps(self.header.as_json()).encode() + b"\n")
        return self

    def add(self, record: Record) -> None:
        """Append one record; it is with the operating system when this returns."""
        self._append(record.encoded())
        self.count += 1

    def _append(self, data: bytes) -> None:
        """Write all of the data or none of it. Raises OSError."""
        written = self._file.write(data)
        if written != len(data):
            self._file.truncate(self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        self._size += written
        self._digest.update(data)  # as it goes: SMB lets nobody read a locked file, not even its writer once more

    def finish(self, loads: list[str]) -> Path:
        """Write the footer and give the file its name. `loads` are the model loads of this attempt."""
        footer = {"end": True, "records": self.count, "loads": loads, "sha256": self._digest.hexdigest()}
        self._append(json.dumps(footer).encode() + b"\n")
        os.fsync(self._file.fileno())
        final = self.folder / f"{self._stem}.jsonl"
        try:
            self._path.rename(final)
        except PermissionError:  # SMB, and Windows: an open file keeps its name
            self._file.close()
            self._path.rename(final)
        return final

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _draw_stem(header: Header) -> str:
    """Return a name that no other attempt has, on this host or another."""
    lines = ranges.parse(header.lines)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(header.created))
    whose = f"in-{header.input_sha256[:12]}.{stamp}-{secrets.token_hex(4)}"
    return f"lines-{lines[0].start:09d}-{lines[-1][-1]:09d}.{whose}"


def leftovers(folder: Path, header: Header) -> tuple[dict[int, Record], list[Path]]:
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
        head["line"]: (offset, length)
        for offset, length, head in shard.records()
        if head["status"] == "succeeded" or head.get("code") == KILLED_SERVER
    }
    with shard.path.open("rb") as file:
        for line, (offset, length) in found.items():
            if line in chunk and (line not in kept or kept[line].head["status"] != "succeeded"):
                file.seek(offset)
                kept[line] = decoded(file.read(length))
    return found.keys() <= kept.keys()


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard on disk: its header, the loads of its footer, and whether its digest is right."""

    path: Path
    header: Header
    loads: tuple[str, ...]
    sound: bool

    def records(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield (offset, bytes, head) of each readable record."""
        for offset, line in self._lines():
            with contextlib.suppress(ValueError, RecursionError):
                yield offset, len(line), decoded(line).head

    def glances(self) -> Iterator[tuple[int, int, Glance]]:
        """Yield (offset, bytes, glance) of each readable record: the merge's first look, at every row of a job."""
        for offset, line in self._lines():
            try:
                found = glance(line)
            except (ValueError, RecursionError):  # the footer is none, either
                continue
            yield offset, len(line), found

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, line) of every line below the header; of a damaged shard, those that are JSON."""
        with opened(self.path) as file:
            offset = len(file.readline())
            for line in file:
                if self.sound or _is_json(line):
                    yield offset, line
                offset += len(line)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def open_shard(path: Path) -> Shard:
    """Read a shard's header and footer and check its digest. Raises ShardError for what is no shard."""
    with opened(path) as file:
        try:
            header = Header.from_json(json.loads(file.readline()))
        except (ValueError, RecursionError):
            raise ShardError("its first line is no header") from None
        footer, start = _footer(file)
        sound = footer is not None and footer.get("sha256") == _digest(file, start)
    return Shard(path, header, tuple(map(str, footer["loads"])) if footer and sound else (), sound)


def opened(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a shard to read it, also one whose partial file got its final name meanwhile. Raises OSError."""
    try:
        return path.open("rb", buffering=buffering)
    except FileNotFoundError:
        if not PARTIAL.fullmatch(path.name):
            raise
        stem = path.name.removeprefix(".").rsplit(".", 2)[0]
        return path.with_name(f"{stem}.jsonl").open("rb", buffering=buffering)


def _footer(file: BinaryIO) -> tuple[dict[str, Any] | None, int]:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _FOOTER_LIMIT))
    last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    try:
        footer = json.loads(last)
    except (ValueError, RecursionError):
        return None, size
    return (footer, size - len(last) - 1) if isinstance(footer, dict) and footer.get("end") is True else (None, size)


def _digest(file: BinaryIO, end: int) -> str:
    """Return the SHA-256 of a file's first `end` bytes."""
    digest = hashlib.sha256()
    file.seek(0)
    while end > 0 and (block := file.read(min(_BLOCK, end))):
        digest.update(block)
        end -= len(block)
    return digest.hexdigest()


def job_key(*parts: str) -> str:
    """Return the short name of a job: on the farm its own id, elsewhere what was asked of which input."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
