"""Which lines of a file have an answer already, before anything is asked: by what the shards in a folder hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.merge import Merge
from results.retry import Input
from results.terms import Terms
from rows.ranges import Lines
from rows.row import is_blank
from rows.source import Source


@dataclass(frozen=True, slots=True)
class Answered:
    """The lines of a file whose own question was answered."""

    merge: Merge

    def has_answer(self, line: int) -> bool:
        """Tell whether a line has an answer."""
        return self.merge.has_answer(line)

    def missing(self, wanted: Lines) -> Lines:
        """Return those of the wanted lines that hold something and have no answer."""
        found = self.merge.input
        lacking = Lines.of(n for n in wanted.up_to(found.lines) if not self.merge.has_answer(n))
        return Lines.of(n for n, raw in found.source.read(lacking) if not is_blank(raw))

    @property
    def others(self) -> int:
        """Return how many answers are to other questions than the file's."""
        return self.merge.others

    def close(self) -> None:
        """Close the shards."""
        self.merge.close()


def find_answered(source: Source, values: Mapping[str, Any], folder: Path) -> Answered:
    """Return what a job of these parameters would find answered in its folder of shards. Raises JobError."""
    whole = Input(source.sha256, source.name, source.lines, source)
    merge = Merge(whole, Terms.of(values), requested=Lines([range(1, source.lines + 1)]))
    merge.take(folder)
    return Answered(merge)
