"""The command that goes on after a stop, as a person can type it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import bundle  # noqa: F401  (puts scripts/ on the path)
from job.parameters import SECRETS


def write_again(program: str, typed: Iterable[str]) -> str:
    """Return the command line as it was typed, its secrets left out: what is printed may end in a log."""
    return shlex.join(["python3", program, *map(_hide, typed)])


def drop_option(typed: Sequence[str], option: str) -> list[str]:
    """Return a command line without an option and its value."""
    kept, after = [], ""
    for argument in typed:
        if option not in (argument, after) and not argument.startswith(f"{option}="):
            kept.append(argument)
        after = argument
    return kept


def _hide(argument: str) -> str:
    name, equals, _ = argument.partition("=")
    return f"{name}=..." if equals and name.removeprefix("-p") in SECRETS else argument
