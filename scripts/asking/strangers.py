"""A row of another chunk, to see whether the engine answers anything where all rows of a chunk seem to kill it.

Nobody's result: its answer is dropped, and its own chunk asks it like any other row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from dialects.exchange import Ask
from dialects.line import RawLine, ask_row, read_line
from engine.facts import Served
from job.defaults import Defaults
from rows.ranges import Lines
from rows.row import is_blank
from rows.source import Source

SAMPLE = 16  # lines to choose from, all over the job's


@dataclass(frozen=True, slots=True)
class Strangers:
    """The lines that a job asks for, `requested`, but for those of a `chunk`."""

    source: Source
    requested: Lines
    chunk: Lines
    defaults: Defaults
    served: Served

    def find(self) -> Ask | None:
        """Return a short row's request, since short rows kill no engine by their size; None where there is none."""
        lines = Lines.of(number for number in self._spread() if number not in self.chunk)
        raws = [RawLine(*numbered) for numbered in self.source.read(lines)]
        for raw in sorted(raws, key=lambda each: len(each.raw)):
            with contextlib.suppress(Exception):  # what cannot be asked is its own chunk's to tell
                if not is_blank(raw.raw) and not (ask := self._read(raw)).file_url:
                    return ask
        return None

    def _read(self, raw: RawLine) -> Ask:
        line = read_line(raw)
        return ask_row(line.row, line.dialect, self.defaults, self.served)

    def _spread(self) -> Iterator[int]:
        """Yield some of the requested lines that the file has, at even distances."""
        present = self.requested.up_to(self.source.lines)
        step, skip = max(1, len(present) // SAMPLE), 0
        for numbers in present.ranges:
            yield from numbers[skip::step]
            skip = (skip - len(numbers)) % step
