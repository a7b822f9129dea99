"""The host's protocol: what a program of this bundle says to the Open Job Description runner.

A line on stdout that begins with `openjd_` is a directive, and a malformed one can cancel the action. So every
line that a program prints goes through this module: directives are clamped and escaped here, and text that a user,
a model or a server wrote is printed by `say` only, which gives every line a harmless beginning.

Source: the Open Job Description wiki, "How Jobs Are Run", section "Stdout/Stderr Messages".
"""

from __future__ import annotations

import datetime as dt
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

STATUS_LIMIT = 1024  # characters; the host takes 4,096, a person reads far fewer
LINE_LIMIT = 8_000  # characters; the host cuts a line at 64,000
NOTICE_SECONDS = 100.0  # to finish in, when the host does not say how long
LONGEST_NOTICE = 600.0  # seconds that the specification allows; more is a clock that was set back
PREFIX = "| "  # before every line of ordinary text, so that none can begin with a directive's name


def printable(text: str, limit: int = STATUS_LIMIT) -> str:
    """Return `text` on one line, without control characters, cut to `limit` characters."""
    clean = "".join(char if char.isprintable() else " " for char in text)
    return clean if len(clean) <= limit else clean[: limit - 3] + "..."


def say(text: str) -> None:
    """Print ordinary text, each line behind a prefix that no directive begins with."""
    for line in text.splitlines() or [""]:
        _write(PREFIX + printable(line, LINE_LIMIT))


def progress(percent: float) -> None:
    """Tell how much of the action is done, in percent (clamped to 0..100)."""
    _write(f"openjd_progress: {min(100.0, max(0.0, percent)):.1f}")


def status(text: str) -> None:
    """Show a short message beside the action."""
    _write(f"openjd_status: {printable(text)}")


def fail(text: str) -> None:
    """Give the reason of a failure, the text's last line; the exit status is what makes the action fail."""
    say(text)
    _write(f"openjd_fail: {printable((text.splitlines() or [''])[-1])}")


def run(main: Callable[[], int]) -> int:
    """Return a program's exit status; what it did not foresee is told like any text, since it may quote a row."""
    try:
        return main()
    except Exception as error:  # noqa: BLE001 - the last resort
        say("".join(traceback.format_exception(error)))
        fail(f"internal error: {type(error).__name__}: {error}")
        return 1


def notice_seconds(folder: Path) -> float:
    """Return how long the host lets a canceled action live. Source: `cancel_info.json` in its folder, NotifyEnd."""
    try:
        text = json.loads((folder / "cancel_info.json").read_text(encoding="utf-8"))["NotifyEnd"]
        left = (dt.datetime.fromisoformat(text) - dt.datetime.now(dt.UTC)).total_seconds()
    except (OSError, ValueError, KeyError, TypeError):
        return NOTICE_SECONDS
    return min(left, LONGEST_NOTICE)


def set_secret(name: str, value: str) -> None:
    """Set an environment variable for the rest of the session, its value hidden in every log line from now on."""
    _write(f"openjd_redacted_env: {_assignment(name, value)}")


def _assignment(name: str, value: str) -> str:
    """Write NAME=value; a value with line breaks becomes a JSON string, as the specification asks."""
    plain = f"{name}={value}"
    return plain if value.isprintable() else json.dumps(plain)


def _write(line: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    print(line.encode(encoding, "replace").decode(encoding), flush=True)
