"""The log of "openjd run", line by line, as a person wants to see it.

Takes lines of openjd's output and gives lines to show; prints and keeps nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

STAMPED = re.compile(r"((?:\d+ days?, )?\d+:\d\d:\d\d)(?:\.\d+)?\t(.*)")

# What openjd prints around what the job's programs say.
FRAME = re.compile(
    r"={9,}|-{40,}|-{9} Running Task|Phase: |Running command |Command started as |Output:$"
    r"|Process pid \d+ exited with code: 0 |Parameter values:$|openjd_(progress|env|redacted_env|unset_env): "
    r"|Open Job Description CLI: (Session|Local|Ran|Adjusting) |Allocating embedded file paths |Mapping: \w+\.File\."
    r"|Writing embedded files |Wrote: |\| \d+ s, vllm: |$"  # vLLM while it loads: the status tells
)
HEADING = re.compile(r"-{9} (.*)|\w+\(CHUNK\[INT\]\) = (.*)|Open Job Description CLI: (.*)|openjd_status: (.*)")


def readable(lines: Iterable[str]) -> Iterator[str]:
    """Yield of openjd's `lines` what the job's programs say, under headings with the time since the start."""
    started = refused = False
    for line in lines:
        stamped = STAMPED.fullmatch(line)
        if stamped:
            started = True
            if not FRAME.match(stamped[2]):
                yield dressed(stamped[1], stamped[2])
        elif not started:  # a job that openjd refuses: its reason, and after that its whole usage
            refused = refused or line.startswith("usage:")
            if line and not refused:
                yield line


def dressed(time: str, text: str) -> str:
    """Return one line to show: a heading with its `time`, or what a program said, set in under it."""
    heading = HEADING.fullmatch(text)
    if not heading:
        return f"{'':10}{text}"
    title, chunk, note, status = heading.groups()
    return f"{time:>8}  " + (title or note or (f"Chunk {chunk}" if chunk else status))


def printable(line: bytes) -> str:
    """Return `line` with its control characters escaped, so that no text of a row or a model acts on the terminal."""
    text = line.decode("utf-8", errors="replace").rstrip("\r\n")
    return "".join(c if c.isprintable() or c == "\t" else ascii(c)[1:-1] for c in text)
