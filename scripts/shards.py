"""Shards: the files under OutputDir/output/results that hold what was answered, one file a chunk.

A shard is JSONL. Its first line is a header: what was asked of which input, by which job and worker. Then one record a
line of the input: `line`, `status` (succeeded, failed or blank), what is known of the request, and last `output`, the
line for output.jsonl. Its last line is a footer with the SHA-256 of all bytes before it. The README describes the
format for people who read a shard years later.

While a chunk runs its records are appended to a hidden partial file, so that an interruption loses no answer; the
finished shard appears whole, by a rename, under a name that no other attempt, job or worker uses.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import ranges
from ranges import Lines

VERSION = 1
NAME = re.compile(r"lines-(\d+)-(\d+)\.in-([0-9a-f]{12})\.(\d{8}T\d{6}Z)-([0-9a-f]{8})\.jsonl")
PARTIAL = re.compile(r"\.lines-.*\.partial")
_OUTPUT = b',"output":'  # cannot stand inside the record's head: there, quotes inside strings are escaped
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
        if not isinstance(value, dict) or value.get("shard") != VERSION:
            raise ShardError("no shard header of this version")
        try:
            source = {f"input_{name}": value["input"][name] for name in ("sha256", "name", "lines")}
            rest = {name: value[name] for name in cls.__slots__ if not name.startswith("input_")}
        except (KeyError, TypeError) as error:
            raise ShardError(f"its header lacks {error}") from None
        return cls(**source, **rest)

    def requested(self) -> Lines:
        """Return all lines that the job asked for, this chunk's and the others'."""
        return ranges.of_values(self.prompts, self.block_size)


@dataclass(frozen=True, slots=True)
class Record:
    """One line's result. `head` is what a program needs to know, `output` the line for output.jsonl, as UTF-8."""

    head: dict[str, Any]
    output: bytes

    def encoded(self) -> bytes:
        """Return the record's line, with its line feed."""
        head = json.dumps(self.head, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
        return head[:-1] + (_OUTPUT + self.output if self.output else b"") + b"}\n"


def decoded(line: bytes) -> Record:
    """Return the record of a line that `encoded` made. Raises ValueError for a line that is torn."""
    if not line.endswith(b"}\n"):
        raise ValueError("torn")
    head, found, output = line.partition(_OUTPUT)
    return Record(json.loads(head + b"}" if found else head), output[:-2])


@dataclass
class Writer:
    """Appends records to a partial file and turns it into a shard. Use as a context manager."""

    folder: Path
    header: Header
    count: int = 0
    _file: BinaryIO = field(init=False)
    _path: Path = field(init=False)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path = self.folder / f".{_stem(self.header)}.{self.header.job}.partial"
        self._file = self._path.open("xb", buffering=0)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._file.write(json.dumps(self.header.as_json()).encode() + b"\n")
        return self

    def add(self, record: Record) -> None:
        """Append one record; it is with the operating system when this returns."""
        encoded = record.encoded()
        written = self._file.write(encoded)
        if written != len(encoded):
            raise OSError(28, "No space left on device")
        self.count += 1

    def finish(self, loads: list[str]) -> Path:
        """Write the footer and give the file its name. `loads` are the model loads that answered."""
        self._file.flush()
        footer = {"end": True, "records": self.count, "loads": loads, "sha256": _digest(self._path, None)}
        self._file.write(json.dumps(footer).encode() + b"\n")
        os.fsync(self._file.fileno())
        final = self.folder / f"{_stem(self.header)}.jsonl"
        self._path.rename(final)
        return final

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _stem(header: Header) -> str:
    lines = ranges.parse(header.lines)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(header.created))
    token = hashlib.sha256(f"{header.created!r} {header.worker} {os.getpid()}".encode()).hexdigest()[:8]
    return f"lines-{lines[0].start:09d}-{lines[-1][-1]:09d}.in-{header.input_sha256[:12]}.{stamp}-{token}"


def take_leftovers(folder: Path, header: Header) -> dict[int, Record]:
    """Return the records that an interrupted attempt at this chunk left, by line, and remove its partial files.

    A torn last line is dropped. A partial file that another process still writes to is left alone.
    """
    kept: dict[int, Record] = {}
    chunk = Lines(ranges.parse(header.lines))
    for path in sorted(folder.glob(f".lines-*.{header.job}.partial")):
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = _good_records(file, header)
            kept |= {line: record for line, record in found.items() if line in chunk}
            if found.keys() <= kept.keys():
                path.unlink()
    return kept


def _good_records(file: BinaryIO, header: Header) -> dict[int, Record]:
    found: dict[int, Record] = {}
    try:
        if Header.from_json(json.loads(file.readline())).input_sha256 != header.input_sha256:
            return found
        for line in file:
            json.loads(line)
            record = decoded(line)
            if "line" in record.head:
                found[record.head["line"]] = record
    except (ValueError, ShardError):
        return found
    return found


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard on disk: its header, the loads of its footer, and whether its digest is right."""

    path: Path
    header: Header
    loads: tuple[str, ...]
    sound: bool

    def records(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield (offset, bytes, head) of each readable record. In a damaged shard, what does not parse is left out."""
        with self.path.open("rb") as file:
            offset = len(file.readline())
            for line in file:
                with contextlib.suppress(ValueError):
                    if not self.sound:
                        json.loads(line)
                    head = decoded(line).head
                    if type(head.get("line")) is int and head.get("status") in ("succeeded", "failed", "blank"):
                        yield offset, len(line), head
                offset += len(line)


def open_shard(path: Path) -> Shard:
    """Read a shard's header and footer and check its digest. Raises ShardError for what is no shard."""
    with path.open("rb") as file:
        try:
            header = Header.from_json(json.loads(file.readline()))
        except ValueError:
            raise ShardError("its first line is no header") from None
    footer, start = _footer(path)
    sound = footer is not None and footer.get("sha256") == _digest(path, start)
    return Shard(path, header, tuple(footer.get("loads", ())) if footer else (), sound)


def _footer(path: Path) -> tuple[dict[str, Any] | None, int]:
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _FOOTER_LIMIT))
        last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    try:
        footer = json.loads(last)
    except ValueError:
        return None, size
    return (footer, size - len(last) - 1) if isinstance(footer, dict) and footer.get("end") is True else (None, size)


def _digest(path: Path, end: int | None) -> str:
    digest = hashlib.sha256()
    left = path.stat().st_size if end is None else end
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()


def job_key(*parts: str) -> str:
    """Return the short name of a job: on the farm its own id, elsewhere what was asked of which input."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def new_token() -> str:
    """Return a name for one load of a model."""
    return secrets.token_hex(6)
