"""Every requested line's result, in input order: from the merged shards, or an error where no worker left one."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dialects.exchange import Failure
from dialects.line import RawLine, read_line
from job.defaults import Defaults
from page.writer import PageRow
from results.merge import Merge
from results.outcome import record_blank, record_failure
from results.record import Record, find_kept_input
from results.retry import Input
from results.shards import Shard
from rows.errors import RowError
from rows.ranges import Lines
from rows.row import is_blank

BATCH = 4096  # lines that are looked up together
MISSING = Failure("missing", "no worker left a result for this line; run it again")


@dataclass
class Results:
    """Every requested line's result, in input order."""

    merge: Merge
    defaults: Defaults
    present: Lines = field(init=False)

    def __post_init__(self) -> None:
        self.present = self.merge.requested.up_to(self.merge.input.lines)

    def __iter__(self) -> Iterator[tuple[int, Record, Shard | None, bytes | None]]:
        """Yield (line, record, shard or None, raw input line where the line failed and the file has it)."""
        raws = Raws(self.merge.input, (n for n in self.present if not self.merge.has_answer(n)))
        retry = self.merge.input.retry
        for line in self.present:
            raw = None if self.merge.has_answer(line) else raws.find(line)
            if found := self.merge.record(line):
                record, shard = found
                yield line, record, shard, find_kept_input(record) if self.merge.input.is_absent else raw
                continue
            if retry and retry.is_blank(line):
                raw = b""
            yield line, _missing_record(line, raw, self.defaults), None, raw


def make_page_row(line: int, record: Record, shard: Shard | None, raw: bytes) -> PageRow:
    """Return a result as results.html takes it."""
    head = record.head
    return PageRow(
        line=line,
        status="missing" if shard is None else head["status"],
        dialect=head["dialect"],
        endpoint=head.get("endpoint", ""),
        output=record.output,
        input=raw,
        started=head.get("started"),
        seconds=head.get("seconds"),
        attempts=head.get("attempts", 0),
        worker=shard.header.worker if shard else "",
    )


class Raws:
    """Looks up lines of the input in ascending order."""

    def __init__(self, source: Input, lines: Iterator[int]) -> None:
        self._found = _read_raws(source, lines)
        self._ahead: tuple[int, bytes] | None = None

    def find(self, line: int) -> bytes | None:
        """Return a line's bytes, or None when the job's file does not hold it: a retry.jsonl holds some lines only."""
        while self._ahead is None or self._ahead[0] < line:
            self._ahead = next(self._found, (sys.maxsize, b""))
        return self._ahead[1] if self._ahead[0] == line else None


def _read_raws(source: Input, lines: Iterator[int]) -> Iterator[tuple[int, bytes]]:
    """Yield (line, bytes) of ascending lines, some thousands at a time: scattered ones take memory as ranges do."""
    while batch := list(itertools.islice(lines, BATCH)):
        yield from source.raw(Lines(_join_runs(batch)))


def _join_runs(numbers: Iterable[int]) -> Iterator[range]:
    """Join ascending numbers into ranges."""
    start = stop = 0
    for number in numbers:
        if number != stop:
            if stop > start:
                yield range(start, stop)
            start = number
        stop = number + 1
    if stop > start:
        yield range(start, stop)


def _missing_record(line: int, raw: bytes | None, defaults: Defaults) -> Record:
    """Return the result of a line for which there is no shard: blank, or an error in its row's dialect."""
    if raw is not None and is_blank(raw):
        return record_blank(line)
    found = RawLine(line, raw or b"")
    with contextlib.suppress(RowError):
        found = read_line(found)
    return record_failure(found, MISSING, defaults)
