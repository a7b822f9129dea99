"""The log of "openjd run", line by line, as a person wants to see it.

Takes lines of openjd's output and gives lines to show; prints and keeps nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from terminal import say_time

STAMPED = re.compile(r"((?:(\d+) days?, )?(\d+):(\d\d):(\d\d))(?:\.\d+)?\t(.*)")

_WITHIN = re.compile(r"(?<!\d)(?=\d+:\d\d:\d\d\.\d{6}\t)")  # two threads of openjd may write to one line

# What openjd prints around what the job's programs say, and what these say for the log: files' names and the merge's
# advice, which a farm's user needs. Here the page and the next command are told at the end.
FRAME = re.compile(
    r"={9,}|-{40,}|-{9} Running Task|Phase: |Running command |Command started as |Output:$"
    r"|Process pid \d+ exited with code: 0 |Parameter values:$|openjd_(progress|env|redacted_env|unset_env): "
    r"|Open Job Description CLI: (Session|Local|Ran|Adjusting) |Allocating embedded file paths |Mapping: \w+\.File\."
    r"|Writing embedded files |Wrote: |\| \d+ s, vllm: |$"  # vLLM while it loads: the status tells
    r"|\| lines-\d+-\d+\.in-|\| results: |\| to run the failed lines again "
)
# How openjd tells of a stop that a person asked for, and calls the task's end an error: the command has said that it
# stops, and the task says what it keeps.
_STOP = "Interruption signal "
_STOPPING = re.compile(
    r"Interruption signal |Open Job Description CLI: (Cancelling the session|ERROR executing action)"
    r"|Cancell?ing subprocess |Grace period ends at |INTERRUPT: |openjd_fail: |Process pid \d+ exited with code: "
)
HEADING = re.compile(r"-{9} (.*)|\w+\(CHUNK\[INT\]\) = (.*)|Open Job Description CLI: (.*)|openjd_status: (.*)")
ROWS = re.compile(r"(\d+)/(\d+) rows, (\d+) failed, (.*)")


@dataclass(frozen=True, slots=True)
class Said:
    """A line to show. `passes`: it tells how things stand, until the next such line does."""

    text: str
    passes: bool = False


@dataclass
class Course:
    """How far a job over `total` lines is, by what the programs of its chunks tell of theirs, one after another."""

    total: int
    done: int = 0
    _before: tuple[int, int] = (0, 0)  # lines done and failed of the chunks that ended
    _chunk: tuple[int, int] = (0, 0)  # of the one at work
    _begun: int | None = None  # seconds since the job's start

    def begin_chunk(self, seconds: int) -> None:
        """Note that another chunk begins."""
        self._before = (self._before[0] + self._chunk[0], self._before[1] + self._chunk[1])
        self._chunk = (0, 0)
        self._begun = seconds if self._begun is None else self._begun

    def read(self, status: str, seconds: int) -> str:
        """Return a status as it is the whole job's; one that tells of no rows as it is."""
        found = ROWS.fullmatch(status)
        if not found:
            return status
        self._chunk = (int(found[1]), int(found[3]))
        self.done, failed = (old + new for old, new in zip(self._before, self._chunk, strict=True))
        self.total = max(self.total, self.done)
        return f"{self.done}/{self.total} rows, {failed} failed, {found[4]}{self._left(seconds)}"

    def _left(self, seconds: int) -> str:
        took = seconds - (self._begun or 0)
        if not took or not 0 < self.done < self.total:
            return ""
        return f", about {say_time(took * (self.total - self.done) / self.done)} left"


def readable(lines: Iterable[str], course: Course) -> Iterator[Said]:
    """Yield of openjd's `lines` what the job's programs say, under headings with the time since the start."""
    started = refused = stopping = False
    for line in (part for whole in lines for part in _WITHIN.split(whole)):
        stamped = STAMPED.fullmatch(line)
        if stamped:
            started = True
            stopping = stopping or stamped[6].startswith(_STOP)
            if not FRAME.match(stamped[6]) and not (stopping and _STOPPING.match(stamped[6])):
                yield _dress(stamped, course)
        elif not started:  # a job that openjd refuses: its reason, and after that its whole usage
            refused = refused or line.startswith("usage:")
            if line and not refused:
                yield Said(line)


def _dress(stamped: re.Match[str], course: Course) -> Said:
    """Return one line to show: a heading with its time, or what a program said, set in under it."""
    heading = HEADING.fullmatch(stamped[6])
    if not heading:
        return Said(f"{'':10}{stamped[6].removeprefix('| ')}")
    days, *clock = (int(part or 0) for part in stamped.groups()[1:5])
    seconds = days * 86400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    title, chunk, note, status = heading.groups()
    if chunk:
        course.begin_chunk(seconds)
    text = title or note or (f"Chunk {chunk}" if chunk else course.read(status, seconds))
    return Said(f"{stamped[1]:>8}  {text}", passes=status is not None)


def printable(line: bytes) -> str:
    """Return `line` with its control characters escaped, so that no text of a row or a model acts on the terminal."""
    text = line.decode("utf-8", errors="replace").rstrip("\r\n")
    return "".join(c if c.isprintable() or c == "\t" else ascii(c)[1:-1] for c in text)
