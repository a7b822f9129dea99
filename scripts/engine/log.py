"""An engine's log, as people are shown it: its end, and what it says of the cause."""

from __future__ import annotations

from pathlib import Path

from engine import cause

_TAIL_LINES = 25
_TAIL_BYTES = 64_000


def read_tail(log: str) -> str:
    """Return the last lines of a log; "" when there is none."""
    path = Path(log)
    if not log or not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-_TAIL_LINES:])


def quote_tail(log: str) -> str:
    """Return the last lines of a log, each marked as vLLM's."""
    return "".join(f"vllm: {line}\n" for line in read_tail(log).splitlines())


def report(log: str, what: str, status: int | None = None) -> str:
    """Return the end of a log, then on one line what happened and what to do about it.

    `status` is the exit status of the engine's process, None while it runs.
    """
    why = cause.explain(cause.read_log(Path(log)), status) if log else ""
    return quote_tail(log) + what + (f": {why}" if why else "")
