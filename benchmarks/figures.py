"""What the benchmarks share: a row of the table, and a process measured by the kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
MIB = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table: what was measured, what was to be reached, what came out, and whether it was reached."""

    row: int
    measure: str
    goal: str
    figure: str
    met: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a finished process took: seconds of wall and of CPU, bytes of memory at its peak; `began` is a time."""

    wall: float
    cpu: float
    peak: int
    began: float
    output: str


class Failed(Exception):
    """A measured program failed; the message holds the end of what it said."""


def measured(command: Sequence[str | os.PathLike[str]], env: Mapping[str, str] | None = None) -> Cost:
    """Run a program to its end and return what it took. Raises Failed when it does not end well."""
    began, started = time.time(), time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=env
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it a second time
    process.stdout.close()
    if process.returncode != 0:
        raise Failed(f"{command[1:3]} ended with {process.returncode}:\n{output[-3000:]}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, began, output)


def emit(figure: Figure) -> None:
    """Hand a row to run_all.py."""
    print(json.dumps(asdict(figure)), flush=True)


def say(text: str) -> None:
    """Show how far a measurement is."""
    print(text, file=sys.stderr, flush=True)


def table(figures: Iterable[Figure]) -> str:
    """Return the figures as a Markdown table, goal and figure side by side."""
    lines = ["| # | Measure | Goal | Figure | |", "|---|---|---|---|---|"]
    for each in sorted(figures, key=lambda each: each.row):
        mark = "met" if each.met else "short"
        note = f": {each.note}" if each.note else ""
        lines.append(f"| {each.row} | {each.measure} | {each.goal} | {each.figure} | {mark}{note} |")
    return "\n".join(lines)
