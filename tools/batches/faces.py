"""What a face, one API, does for the work on its batches: lines before a job, what its clients get after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from batches.batch import Batch, State

SEPARATORS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}  # at which clients split lines too


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch whose input is ready: which model answers it, how many lines there are, and how many a job is asked.

    lines: of `input.jsonl`, which the job answers; 0 runs no job. refused: lines that the face answers with an error
    itself. errors: what is wrong with lines, for the batch. fatal: why nothing is asked at all, "" where something is.
    parameters: of the job, besides its model's. A line that is refused is a blank one in `input.jsonl`, so that line
    numbers there are the client's own; where no line is left there is no such file.
    """

    model: str
    lines: int
    refused: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    fatal: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delivered:
    """What a face made of a batch's results: how many lines were answered and failed, and what it keeps of them.

    unasked: of those that failed, the lines that were not asked to their end.
    """

    succeeded: int
    failed: int
    unasked: int = 0
    results: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a batch's files lie; nothing a client sends is in a path."""

    folder: Path

    @property
    def input(self) -> Path:
        """Return the lines that the job answers."""
        return self.folder / "input.jsonl"

    @property
    def refused(self) -> Path:
        """Return the lines that are answered without a job, as the face writes them."""
        return self.folder / "refused.jsonl"

    @property
    def answers(self) -> Path:
        """Return the job's results, one for each line of the input; there is none where no job left any."""
        return self.folder / "results" / "output" / "output.jsonl"

    @property
    def page(self) -> Path:
        """Return the job's page."""
        return self.folder / "results" / "output" / "results.html"


class Face(Protocol):
    """One API. `name` is in the batches' rows; `fails_whole` ends a batch at once if no line could be answered."""

    name: str
    fails_whole: bool

    def prepare(self, batch: Batch, place: Place) -> Prepared:
        """Write the lines of a batch where its job finds them. May be called again after a restart."""

    def deliver(self, batch: Batch, place: Place, end: State) -> Delivered:
        """Make of a job's results what the API's clients get. May be called again after a restart.

        end: the state that the batch is about to have. Lines without an answer were not asked to their end for that.
        """

    def settle(self, batch: Batch) -> None:
        """Do what is to be done once a batch has ended, within the transaction that ends it."""


def escape_separators(line: str) -> str:
    """Return a line of JSON without the characters at which clients split lines besides the line feed."""
    if line.isascii():
        return line
    for character, escaped in SEPARATORS.items():
        line = line.replace(character, escaped)
    return line
