"""Which result counts for each line: all shards of one input, the newer success first.

Memory is a few bytes a line of the input, whatever the shards hold.
"""

from __future__ import annotations

import array
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from results import shards
from results.record import Record, decode_record
from results.retry import DAMAGED, RETRY_NAME, Input, Retry
from results.shards import Header, Shard, ShardError
from rows.ranges import Lines, RangeError, of_values

_NONE, _FAILED, _BLANK, _SUCCEEDED = range(4)  # a better result never gives way to a worse one
_RANKS = {"failed": _FAILED, "blank": _BLANK, "succeeded": _SUCCEEDED}
OPEN_FILES = 256
PAUSE_SECONDS = 10  # without a row in flight: an attempt had ended, and another began
BUFFER = 1 << 16  # bytes read of a shard at a time


@dataclass
class Merge:
    """The results that count, by line. Fill with `take`, then read with `record`."""

    input: Input
    used: list[Shard] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    requested: Lines = field(default_factory=Lines)
    spans: list[tuple[float, float]] = field(default_factory=list)  # when rows were being answered; they may overlap

    def __post_init__(self) -> None:
        size = self.input.lines + 1
        self._shard = array.array("I", bytes(4 * size))
        self._offset = array.array("Q", bytes(8 * size))
        self._length = array.array("Q", bytes(8 * size))
        self._time = array.array("d", bytes(8 * size))
        self._rank = bytearray(size)
        self._translations: list[Retry | None] = []
        self._requests: set[tuple[str, int, int]] = set()
        self._files: dict[int, BinaryIO] = {}

    def take(self, folder: Path) -> None:
        """Take every shard of the input in a folder; what is left alone is noted."""
        retries = self._find_retries(folder)
        foreign: dict[str, int] = {}
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if RETRY_NAME.fullmatch(path.name) or _is_hidden(path):
                continue
            shard = self._open(path)
            if shard is None:
                continue
            sha256 = shard.header.input_sha256
            if sha256 != self.input.sha256 and sha256 not in retries:
                foreign[shard.header.input_name] = foreign.get(shard.header.input_name, 0) + 1
                continue
            for retry in retries.get(sha256, [None]):
                self._take_shard(shard, retry)
        models = sorted({shard.header.model for shard in self.used})
        if len(models) > 1:
            self.notes.append(f"the answers are those of {len(models)} models: {', '.join(map(repr, models))}")
        for name, count in foreign.items():
            self.notes.append(f"{count} shards of another input ({name!r}) are left alone")

    def _find_retries(self, folder: Path) -> dict[str, Sequence[Retry | None]]:
        found: dict[str, list[Retry]] = {}
        for path in sorted(folder.glob("retry-*.json")) if folder.is_dir() else ():
            try:
                retry = Retry.read(path)
            except DAMAGED as error:
                self.notes.append(f"{path.name!r} is damaged ({error}); results of that retry are left alone")
                continue
            if retry.of != self.input.sha256:
                continue
            same = found.setdefault(retry.sha256, [])
            if all(other.lines != retry.lines for other in same):
                same.append(retry)
        return dict(found)

    def _open(self, path: Path) -> Shard | None:
        unfinished = shards.PARTIAL.fullmatch(path.name) is not None
        if not unfinished and not shards.NAME.fullmatch(path.name):
            self.notes.append(f"{path.name!r} is no shard's name and is left alone")
            return None
        try:
            shard = shards.open_shard(path)
        except (ShardError, OSError) as error:
            self.notes.append(f"{path.name!r} is left alone: {error or 'it is empty'}")
            return None
        if unfinished:
            self.notes.append(f"{path.name!r} is of an interrupted chunk; what it had answered is used")
        elif not shard.sound:
            self.notes.append(f"{path.name!r} is damaged; its readable lines are used")
        return shard

    def _take_shard(self, shard: Shard, retry: Retry | None) -> None:
        place = len(self.used)
        self.used.append(shard)
        self._translations.append(retry)
        self._ask(shard.header, retry)
        first, last = float("inf"), 0.0
        for offset, length, found in shard.glances():
            line = found.line if retry is None else retry.line(found.line)
            if not 0 < line <= self.input.lines:
                continue
            started = found.started or shard.header.created
            when = started + (found.seconds or 0)
            if last and (started > last + PAUSE_SECONDS or when < first - PAUSE_SECONDS):
                self.spans.append((first, last))
                first, last = started, when
            first, last = min(first, started), max(last, when)
            rank = _RANKS[found.status]
            if (rank, when) >= (self._rank[line], self._time[line]):
                self._rank[line], self._time[line] = rank, when
                self._shard[line], self._offset[line], self._length[line] = place, offset, length
        if last:
            self.spans.append((first, last))

    def _ask(self, header: Header, retry: Retry | None) -> None:
        """Add what the job of a shard asked for, once for all its shards."""
        request = (header.prompts, header.block_size, id(retry))
        if request in self._requests:
            return
        try:
            asked = of_values(header.prompts, header.block_size)
            self._requests.add(request)
        except RangeError:
            asked = header.chunk()
        self.requested |= asked if retry is None else retry.translate(asked)

    @property
    def newest(self) -> Shard | None:
        """Return the shard that was begun last, of those whose results are merged."""
        return max(self.used, key=lambda shard: shard.header.created, default=None)

    @property
    def started(self) -> float:
        """Return when the first row was sent, in seconds since 1970; infinity where none was."""
        return min((first for first, _ in self.spans), default=float("inf"))

    @property
    def finished(self) -> float:
        """Return when the last row was answered, in seconds since 1970; 0 where none was."""
        return max((last for _, last in self.spans), default=0.0)

    def busy(self) -> float:
        """Return the seconds in which rows were being answered: not the time between two jobs, or two attempts."""
        seconds = until = 0.0
        for first, last in sorted(self.spans):
            seconds += max(0.0, last - max(first, until))
            until = max(until, last)
        return seconds

    def has_answer(self, line: int) -> bool:
        """Tell whether a line has an answer."""
        return self._rank[line] == _SUCCEEDED

    def record(self, line: int) -> tuple[Record, Shard] | None:
        """Return the result that counts for a line and the shard it comes from, or None where no shard has one."""
        if self._rank[line] == _NONE:
            return None
        place = self._shard[line]
        file = self._open_file(place)
        file.seek(self._offset[line])  # lines that follow each other lie in one buffer, so that this costs no call
        try:
            record = decode_record(file.read(self._length[line]))
        except (ValueError, RecursionError):  # no worker wrote it, for the shard is whole
            return None
        if self._translations[place] is not None and record.head.get("dialect") == "none":
            value: dict[str, Any] = {**json.loads(record.output), "line": line}
            record = Record(record.head, json.dumps(value, ensure_ascii=False).encode())
        return record, self.used[place]

    def _open_file(self, place: int) -> BinaryIO:
        if place not in self._files:
            if len(self._files) >= OPEN_FILES:
                self._files.pop(next(iter(self._files))).close()
            self._files[place] = shards.open_file(self.used[place].path, BUFFER)
        return self._files[place]

    def close(self) -> None:
        """Close the shards."""
        while self._files:
            self._files.popitem()[1].close()


def _is_hidden(path: Path) -> bool:
    """Tell whether a file is nobody's result: a temporary one, or one that the desktop or a file manager keeps."""
    return path.name.startswith(".") and not shards.PARTIAL.fullmatch(path.name)
