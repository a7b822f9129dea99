"""What a person reads when the finished files are there: the first answers, what to do next, and what to open."""

from __future__ import annotations

import importlib.util
import json
import shlex
from dataclasses import dataclass
from pathlib import Path

import bundle  # noqa: F401  (puts scripts/ on the path)
from rows.errors import CODES
from setup_env import say_command
from submission import merging
from submission.request import Request
from submission.verdict import tell_if_nothing
from terminal import shorten


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ends. `again`: the command that asks what has no answer. `has_table`: it makes a table, too."""

    again: str = ""
    has_table: bool = False

    def tell(self, request: Request, *, is_trial: bool = False) -> bool:
        """Say what to do next and print the page's path; return False where no row has an answer.

        After a trial, whoever asked for it says what is next.
        """
        if is_trial:
            merging.show_page(request.output)
            return True
        counts = _read_summary(request.output)
        is_empty = tell_if_nothing(request.output)
        failed, requested = counts.get("failed", 0), counts.get("requested", 0)
        if failed and self.again:
            why = "" if is_empty else "the page says why. "
            then = "To ask them again:" if _may_pass(request.output) else "Mend them, then ask them again:"
            say_command(f"{failed:,} of {requested:,} lines failed; {why}{then}", self.again)
        if counts.get("succeeded") and not self.has_table:
            say_command("For a table of the answers:", _table_command(Path(request.parameters["OutputDir"])))
        merging.show_page(request.output)
        return not is_empty


def _read_summary(output: Path) -> dict[str, int]:
    """Return the counts of finished files; none where they cannot be read."""
    try:
        whole = json.loads((output / "summary.json").read_text(encoding="utf-8"))
        return {name: int(whole[name]) for name in ("requested", "succeeded", "failed")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _may_pass(output: Path) -> bool:
    """Tell whether any failed line may have an answer when it is asked again as it is."""
    try:
        codes = json.loads((output / "summary.json").read_text(encoding="utf-8"))["errors"]
        return any(code not in CODES or CODES[code].may_pass for code in codes)
    except (OSError, ValueError, KeyError, TypeError):
        return True


def _table_command(folder: Path) -> str:
    """Return the command that makes a table, of the form that this Python can write."""
    form = "xlsx" if importlib.util.find_spec("openpyxl") else "csv"
    return shlex.join(["python3", "tools/to_table.py", shorten(folder), "-o", f"answers.{form}"])
