"""The parameters of a job on the programs' command lines, and in the session.

onEnter is given every parameter and notes them in the session's folder, for its tasks to read. Secrets stand neither on
a command line nor in the note: the template writes each to a file of the session, whose path is given instead.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from host import files
from job.parameters import BY_NAME, SECRETS, TABLE, JobError, flag

NOTE = "parameters.json"


def add_parameters(parser: argparse.ArgumentParser, names: Iterable[str] = BY_NAME) -> None:
    """Add the named parameters; a secret by the path of its file. One that is not given has the table's default."""
    for name in names:
        each = BY_NAME[name]
        if each.secret:
            parser.add_argument(
                f"{flag(name)}-file", dest=name, metavar="FILE", default="", help=f"file that holds {name}"
            )
        else:
            parser.add_argument(
                flag(name), dest=name, metavar="VALUE", type=each.type, default=each.default, help=_escape(each.meaning)
            )


def _escape(text: str) -> str:
    return text.replace("%", "%%")  # argparse formats its help


def read_values(options: argparse.Namespace) -> dict[str, Any]:
    """Return the values of the parameters among parsed options, secrets out of their files. Raises OSError."""
    given = {name: value for name, value in vars(options).items() if name in BY_NAME}
    secrets = {name: _secret(given[name]) for name in given.keys() & SECRETS}
    return {**given, **secrets}


def _secret(path: str) -> str:
    return Path(path).read_text(encoding="utf-8").strip() if path else ""


def write_note(values: Mapping[str, Any], folder: Path) -> None:
    """Note a job's parameters in the session's folder, without secrets, for this user's eyes only."""
    note = {each.name: values[each.name] for each in TABLE if not each.secret}
    files.write_whole(folder / NOTE, json.dumps(note).encode(), mode=0o600)


def read_note(folder: Path) -> dict[str, Any]:
    """Return the parameters that onEnter noted. Raises JobError where it noted none."""
    try:
        values: dict[str, Any] = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise JobError("the session has no parameters: its environment was not entered") from None
    return values
