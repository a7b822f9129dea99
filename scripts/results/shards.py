"""Shards: the files under OutputDir/output/results that hold what was answered, one file a chunk.

A shard is JSONL. Its first line is a header: what was asked of which input, by which job and worker. Then one record a
line of the input: `line`, `status` (succeeded, failed or blank), what is known of the request, and last `output`, the
line for output.jsonl. Its last line is a footer with the SHA-256 of all bytes before it. docs/outputs.md describes the
format for people who read a shard years later.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO

from engine.facts import Served
from engine.note import Load
from job import parameters
from results.engine_use import read_use
from results.record import COUNT_LIMIT, Glance, Record, decode_record, glance
from results.terms import Terms
from rows import ranges
from rows.ranges import Lines

VERSION, EARLIER = 2, (1,)  # shards of earlier versions do not tell what was asked
NAME = re.compile(r"lines-(\d+)-(\d+)\.in-([0-9a-f]{12})\.(\d{8}T\d{6}Z)-([0-9a-f]{8})\.jsonl")
PARTIAL = re.compile(r"\.lines-.*\.partial")
_FOOTER_LIMIT = 4096  # bytes
_BLOCK = 1 << 20  # bytes read at a time


class ShardError(Exception):
    """A file that is not a shard, or not one that this version reads."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a shard is about. `lines` is the chunk, `prompts` and `block_size` are the whole job's request.

    `parameters` are those of the job that are recorded; `terms` and `served` are what its questions were made of.
    `placement` says on which GPUs the session's servers ran, and why; `entered` is when the session began, in seconds
    since 1970. Shards of earlier releases have none of these.
    """

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
    parameters: dict[str, Any] = field(default_factory=dict)
    terms: Terms | None = None
    served: Served | None = None
    placement: str = ""
    entered: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the header line's object."""
        whole = {name: getattr(self, name) for name in self.__slots__}
        source = {name.removeprefix("input_"): whole.pop(name) for name in list(whole) if name.startswith("input_")}
        terms, served = whole.pop("terms"), whole.pop("served")
        asks = {"asks": {**terms.as_json(), "served": served.as_json()}} if terms and served else {}
        more = {name: whole.pop(name) for name in ("placement", "entered")}
        more = {name: value for name, value in more.items() if value}
        return {"shard": VERSION, "input": source, **whole, **more, **asks}

    @classmethod
    def from_json(cls, value: Any) -> Header:
        """Return the header of a parsed first line. Raises ShardError for anything else."""
        if (
            not isinstance(value, dict)
            or value.get("shard") not in (VERSION, *EARLIER)
            or not isinstance(value.get("input"), dict)
        ):
            raise ShardError("no shard header of this version")
        found = {**value, **{f"input_{name}": content for name, content in value["input"].items()}}
        for name, kind in _HEADER.items():
            if type(found.get(name)) is not kind or (kind is not str and not 0 <= found[name] < COUNT_LIMIT):
                raise ShardError(f"its header has no proper {name!r}")
        recorded = parameters.read_record(found.get("parameters"))
        terms, served = _read_terms(found.get("asks"))
        placement = found.get("placement") if isinstance(found.get("placement"), str) else ""
        more = {"parameters": recorded, "terms": terms, "served": served, "placement": _clean(placement)}
        more["entered"] = _read_figure(found.get("entered"))
        return cls(**{name: _clean(found[name]) for name in _HEADER}, **more)

    def chunk(self) -> Lines:
        """Return the lines of this shard's chunk. Raises ShardError."""
        try:
            return Lines(ranges.parse(self.lines))
        except ranges.RangeError as error:
            raise ShardError(str(error)) from None


def _read_terms(asks: Any) -> tuple[Terms | None, Served | None]:
    """Return what a header tells of the job's questions, which is all or nothing."""
    terms = Terms.from_json(asks)
    with contextlib.suppress(KeyError, TypeError, AttributeError):
        return (terms, Served.from_json(asks["served"])) if terms else (None, None)
    return None, None


def _read_figure(value: object) -> float:
    """Return a figure of seconds, 0 where it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < COUNT_LIMIT:
        return float(value)
    return 0.0


def _clean(value: Any) -> Any:
    """Return a text without halves of surrogate pairs, which UTF-8 cannot say."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


_KINDS = {"str": str, "int": int, "float": float}
_HEADER = {
    each.name: _KINDS[str(each.type)] for each in fields(Header) if each.type in _KINDS and each.default is MISSING
}


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard on disk: its header, the loads of its footer, whether its digest is right, and what its engines did."""

    path: Path
    header: Header
    loads: tuple[Load, ...]
    sound: bool
    engines: Mapping[str, float] = field(default_factory=dict)

    def records(self) -> Iterator[Record]:
        """Yield each readable record."""
        for _, line in self._lines():
            with contextlib.suppress(ValueError, RecursionError):
                yield decode_record(line)

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
        with open_file(self.path) as file:
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
    with open_file(path) as file:
        header = _read_header(file)
        footer, start = _footer(file)
        sound = footer is not None and footer.get("sha256") == _digest(file, start)
        whole = footer if footer and sound else {}
    return Shard(path, header, _read_loads(whole), sound, read_use(whole.get("engines")))


def _read_loads(footer: dict[str, Any]) -> tuple[Load, ...]:
    """Return the loads of a footer; those of earlier releases have no times."""
    names, began, seconds = (
        found if isinstance(found := footer.get(name), list) else [] for name in ("loads", "load_began", "load_seconds")
    )
    times = itertools.zip_longest(names, map(_read_figure, began), map(_read_figure, seconds), fillvalue=0.0)
    return tuple(Load(str(name), *figures) for name, *figures in itertools.islice(times, len(names)))


def read_header(path: Path) -> Header:
    """Return what a shard is about, without a look at its records. Raises ShardError and OSError."""
    with open_file(path) as file:
        return _read_header(file)


def _read_header(file: BinaryIO) -> Header:
    try:
        return Header.from_json(json.loads(file.readline()))
    except (ValueError, RecursionError):
        raise ShardError("its first line is no header") from None


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a shard to read it, also one whose partial file got its final name meanwhile. Raises OSError."""
    try:
        return path.open("rb", buffering=buffering)
    except FileNotFoundError:
        if not PARTIAL.fullmatch(path.name):
            raise
        return path.with_name(name_when_whole(path)).open("rb", buffering=buffering)


def name_when_whole(partial: Path) -> str:
    """Return the name that a partial file's shard has."""
    return f"{partial.name.removeprefix('.').rsplit('.', 2)[0]}.jsonl"


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


def find_newest(folder: Path) -> Header | None:
    """Return what the shard that was begun last says of its job, or None where there is no shard."""
    headers = []
    for path in folder.glob("*.jsonl") if folder.is_dir() else ():
        if NAME.fullmatch(path.name):
            with contextlib.suppress(ShardError, OSError):
                headers.append(open_shard(path).header)
    return max(headers, key=lambda header: header.created, default=None)
