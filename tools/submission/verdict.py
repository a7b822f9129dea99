"""Whether finished files hold any answer at all: a job that answered nothing is no success on a person's machine.

On a farm the job's own tasks must end well all the same, since a farm keeps nothing of a task that failed.
"""

from __future__ import annotations

import json
from pathlib import Path

from rows.errors import CODES
from setup_env import say


def tell_if_nothing(output: Path) -> bool:
    """Say so, with the most frequent cause, where no row has an answer; return whether that is so."""
    try:
        whole = json.loads((output / "summary.json").read_text(encoding="utf-8"))
        succeeded, errors = int(whole["succeeded"]), dict(whole["errors"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if succeeded or not errors:
        return False
    code, count = next(iter(errors.items()))
    known = CODES.get(code)
    why = f": {known.meaning} To mend it: {known.mend}" if known else ""
    say(f"No row was answered. {count:,} x {code}{why}")
    return True
