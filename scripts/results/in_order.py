"""Every requested line's result, in input order: from the merged shards, or an error where no worker left one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from dialects.exchange import Failure
from dialects.line import RawLine, read_line
from job.defaults import Defaults
from page.writer import PageRow
from results.merge import Merge
from results.outcome import carry_over, mark_shared, record_blank, record_failure
from results.record import Record, find_kept_input
from results.shards import Shard
from rows.errors import RowError
from rows.ranges import Lines
from rows.row import is_blank

NEEDS_INPUT = frozenset({"openai", "anthropic"})  # dialects whose output lines do not repeat what was asked
MISSING = Failure("missing", "no worker left a result for this line; run it again")
WAITING = Failure("missing", "no result yet: the job still runs")


@dataclass
class Results:
    """Every requested line's result, in input order. `defaults` has the field that receives answers now.

    `is_unfinished`: the job still runs.
    """

    merge: Merge
    defaults: Defaults
    is_unfinished: bool = False
    present: Lines = field(init=False)

    def __post_init__(self) -> None:
        self.present = self.merge.requested.up_to(self.merge.input.lines)

    def __iter__(self) -> Iterator[tuple[int, Record, Shard | None, bytes | None]]:
        """Yield (line, record, shard or None, raw input line where the line failed and the file has it)."""
        merge = self.merge
        raws = merge.input.find_raws(n for n in self.present if self._needs_raw(n))
        retry = merge.input.retry
        for line in self.present:
            raw = raws.find(line) if self._needs_raw(line) else None
            record, shard = merge.record(line) or (None, None)
            if record and raw is None and merge.input.is_absent:
                raw = find_kept_input(record)
            if record and (written := self._write(line, record, raw)):
                yield line, written, shard, None if merge.has_answer(line) else raw
                continue
            if retry and retry.is_blank(line):
                raw = b""
            yield line, self._missing_record(line, raw), None, raw

    def _needs_raw(self, line: int) -> bool:
        merge = self.merge
        return not merge.has_answer(line) or merge.is_another_rows(line) or self._is_renamed(line)

    def _is_renamed(self, line: int) -> bool:
        """Tell whether a line's answer was given under another OutputField."""
        return self.merge.find_field(line) != self.defaults.output_field

    def _write(self, line: int, record: Record, raw: bytes | None) -> Record | None:
        """Return a record as it is the line's: written anew where it was another row's, or has another field.

        Return None where that cannot be: another row's result is none of this line.
        """
        merge = self.merge
        is_another, is_renamed = merge.is_another_rows(line), merge.has_answer(line) and self._is_renamed(line)
        if raw is not None and (is_another or is_renamed):
            with contextlib.suppress(RowError, ValueError, KeyError):
                record = carry_over(record, read_line(RawLine(line, raw)), merge.find_field(line), self.defaults)
                return mark_shared(record) if merge.is_shared(line) else record
        return None if is_another else record

    def _missing_record(self, line: int, raw: bytes | None) -> Record:
        """Return the result of a line for which there is no shard: blank, or an error in its row's dialect."""
        if raw is not None and is_blank(raw):
            return record_blank(line)
        found = RawLine(line, raw or b"")
        with contextlib.suppress(RowError):
            found = read_line(found)
        return record_failure(found, WAITING if self.is_unfinished else MISSING, self.defaults)


def make_page_row(line: int, record: Record, shard: Shard | None, raw: bytes, sent: bytes) -> PageRow:
    """Return a result as results.html takes it; `raw` is its line of the input, `sent` what a template made of it."""
    head = record.head
    is_shown = head["dialect"] in NEEDS_INPUT or head["status"] == "failed"
    return PageRow(
        line=line,
        status="missing" if shard is None else head["status"],
        dialect=head["dialect"],
        endpoint=head.get("endpoint", ""),
        output=record.output,
        input=raw if is_shown else b"",
        started=head.get("started"),
        seconds=head.get("seconds"),
        attempts=head.get("attempts", 0),
        worker=shard.header.worker if shard else "",
        sent=sent,
    )
