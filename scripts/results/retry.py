"""The input that results are merged for: the job's own file, or the one that its retry.jsonl was taken from.

A retry's answers fit the lines of the first file by their questions. But who merges with retry.jsonl alone, as a job
over it does, has not that file nor its order: the note `retry-....json` beside the shards says which lines it holds.
"""

from __future__ import annotations

import array
import bisect
import contextlib
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host import files
from rows.ranges import Lines, parse
from rows.source import Source

NOTE_NAME = re.compile(r"retry-[0-9a-f]{12}(-\d+)?\.json")
BATCH = 4096  # lines that are looked up together
# what reading a broken note raises
DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class Retry:
    """A file of lines taken from another: line k of the file with digest `sha256` is line `lines[k-1]` of `of`.

    `blank` are lines of `of` without a result that need none.
    """

    sha256: str
    of: str
    of_name: str
    of_lines: int
    lines: array.array[int]
    blank: array.array[int]

    @classmethod
    def read(cls, path: Path) -> Retry:
        """Read a note. Raises ValueError or KeyError for what is none."""
        value = json.loads(path.read_text(encoding="utf-8"))
        lines = Lines(parse(value["lines"]))
        if not 0 < len(lines) <= int(value["of_lines"]):
            raise ValueError("its lines are not those of its file")
        numbers = array.array("Q", lines)
        blank = array.array("Q", Lines(parse(value["blank"])) if value.get("blank") else ())
        return cls(
            str(value["sha256"]), str(value["of"]), str(value["of_name"]), int(value["of_lines"]), numbers, blank
        )

    def line(self, number: int) -> int:
        """Return the line of the first file, or 0 for a number that the retry does not have."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else 0

    def translate(self, numbers: Lines) -> Lines:
        """Return the lines of the first file that lines of the retry stand for."""
        own = numbers.up_to(len(self.lines))
        return Lines(range(line, line + 1) for line in map(self.line, own) if line)

    def place(self, line: int) -> int:
        """Return the number by which the retry has a line of the first file, or 0 when it has not."""
        return _place(self.lines, line) + 1

    def is_blank(self, line: int) -> bool:
        """Tell whether a line of the first file was found blank."""
        return _place(self.blank, line) >= 0

    @staticmethod
    def write(folder: Path, sha256: str, source: Input, lines: str, blank: str) -> None:
        """Note beside the shards what a new retry.jsonl holds, unless that is all of its input.

        Lines with equal text can make equal files of different lines: each such file has a note of its own.
        """
        if sha256 == source.sha256:
            return
        value = {
            "sha256": sha256,
            "of": source.sha256,
            "of_name": source.name,
            "of_lines": source.lines,
            "lines": lines,
            "blank": blank,
        }
        path, others = folder / f"retry-{sha256[:12]}.json", 1
        while path.exists() and not _tells_of_the_same(path, value):
            others += 1
            path = folder / f"retry-{sha256[:12]}-{others}.json"
        files.write_whole(path, json.dumps(value).encode())


def _place(ascending: array.array[int], number: int) -> int:
    place = bisect.bisect_left(ascending, number)
    return place if place < len(ascending) and ascending[place] == number else -1


def _tells_of_the_same(path: Path, value: dict[str, Any]) -> bool:
    """Tell whether a note is of the same lines; what else it says may have changed since."""
    with contextlib.suppress(*DAMAGED):
        known = json.loads(path.read_text(encoding="utf-8"))
        return all(known[name] == value[name] for name in ("sha256", "of", "lines"))
    return False


@dataclass(frozen=True, slots=True)
class Input:
    """The input that results are merged for: the job's own file, or the one that its retry.jsonl was taken from."""

    sha256: str
    name: str
    lines: int
    source: Source
    retry: Retry | None = None

    @property
    def is_absent(self) -> bool:
        """Tell whether the job's own file cannot be read any more."""
        return not self.source.path

    def raw(self, wanted: Lines) -> Iterator[tuple[int, bytes]]:
        """Yield (line, bytes) of those wanted lines that the job's own file holds, ascending."""
        if self.retry is None:
            yield from self.source.read(wanted)
            return
        places = filter(None, map(self.retry.place, wanted))
        for place, raw in self.source.read(Lines(range(place, place + 1) for place in places)):
            yield self.retry.line(place), raw

    def find_raws(self, lines: Iterable[int]) -> Raws:
        """Return a look-up of ascending lines."""
        return Raws(self._read_raws(iter(lines)))

    def _read_raws(self, lines: Iterator[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (line, bytes), some thousands at a time: scattered lines take memory as ranges do."""
        while batch := list(itertools.islice(lines, BATCH)):
            yield from self.raw(Lines.of(batch))


class Raws:
    """Looks up lines of the input in ascending order."""

    def __init__(self, found: Iterator[tuple[int, bytes]]) -> None:
        self._found = found
        self._ahead: tuple[int, bytes] | None = None

    def find(self, line: int) -> bytes | None:
        """Return a line's bytes, or None when the job's file does not hold it: a retry.jsonl holds some lines only."""
        while self._ahead is None or self._ahead[0] < line:
            self._ahead = next(self._found, (sys.maxsize, b""))
        return self._ahead[1] if self._ahead[0] == line else None


def find_input(source: Source, folder: Path) -> Input:
    """Return what the job's file stands for, by the notes beside the shards."""
    for path in sorted(folder.glob(f"retry-{source.sha256[:12]}*.json")):
        with contextlib.suppress(*DAMAGED):
            retry = Retry.read(path)
            if retry.sha256 == source.sha256 and len(retry.lines) == source.lines:
                return Input(retry.of, retry.of_name, retry.of_lines, source, retry)
    return Input(source.sha256, source.name, source.lines, source)
