"""How lines reach a person: folded to eighty columns on a terminal, with a bar at its foot while a job runs.

The bar needs rich. Without it, or where stderr is no terminal, there is no bar, and every change is a line of its own.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

WIDTH = 80  # columns of a line; a word that is longer stays whole, so that paths can be copied
BAR = 16  # columns of the bar, so that what it says fits beside it


class Bar:
    """The last line of a terminal: how far a job is."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        told = TextColumn("{task.description}", markup=False)
        self.progress = Progress(BarColumn(BAR), told, console=Console(stderr=True), transient=True)
        self._task = self.progress.add_task("", total=None)

    def show(self, text: str, done: int, total: int) -> None:
        """Show that so many of all are done; with a total of 0 only that something goes on."""
        self.progress.update(self._task, description=text, completed=done, total=total or None)


@contextlib.contextmanager
def open_bar() -> Iterator[Bar | None]:
    """Yield a bar at the foot of the terminal until the block ends, or None where none can be."""
    if not (sys.stderr.isatty() and importlib.util.find_spec("rich")):
        yield None
        return
    bar = Bar()
    with bar.progress:
        yield bar


def fold(line: str) -> str:
    """Return a line over several, the further ones set in, where it is wider than WIDTH."""
    if len(line) <= WIDTH:
        return line
    within = line[: len(line) - len(line.lstrip())] + "  "
    return "\n".join(
        textwrap.wrap(line, WIDTH, subsequent_indent=within, break_long_words=False, break_on_hyphens=False)
    )


def fold_command(command: str) -> str:
    """Return a command over several lines that a shell still reads as one, each set in."""
    lines, line = [], " "
    for word in _arguments(shlex.split(command)):
        if len(line) + len(word) > WIDTH - len("  \\") and line.strip():
            lines.append(line)
            line = "     "
        line += f" {word}"
    return " \\\n".join([*lines, line])


def _arguments(words: Iterable[str]) -> Iterator[str]:
    """Yield the words of a command for a shell, each option with its value."""
    option = ""
    for word in map(shlex.quote, words):
        if option:
            yield option if word.startswith("-") else f"{option} {word}"
        option, alone = (word, "") if word.startswith("-") else ("", "" if option else word)
        if alone:
            yield alone
    if option:
        yield option


def shorten(path: Path | str) -> str:
    """Return a path as it is shortest from here."""
    below = os.path.relpath(path)
    return str(path) if below.startswith(os.pardir) else below


def say_time(seconds: float) -> str:
    """Return a time as people say it, roughly."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
