"""Why an engine ended, and the one thing to do about it, read off its log, which is shown with it.

The cause often stands far above the log's end, in a line of another process, so the whole log is looked at. Only lines
that report a failure count: what an engine says of its settings, or warns of in passing, is no cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from engine.hints import HINTS, Hint
from host import runner

LOG_BYTES = 4_000_000  # of a log's end; a traceback of each of many ranks takes some hundred thousand
_TAIL_LINES, _TAIL_BYTES = 25, 64_000  # of what is shown
CAUSE_LIMIT = 400  # characters of a quoted line
_IN_PASSING = re.compile(r"^(\([^)]*\) )?(DEBUG|INFO|WARNING)\b")  # the levels of vLLM's log
_PREFIX = re.compile(
    r"^(\([^)]*\) )?((ERROR|CRITICAL)( [\d-]+ [\d:]+)?( \[[^\]]*\])? )?"
)  # process, level, time, place
_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]*(Error|Exception|Interrupt)\b.*: \S")
_SEE_ABOVE = re.compile(
    "see root cause above|died unexpectedly|worker failed with error|EngineDeadError", re.IGNORECASE
)
_KILLED = (
    r"Failed core proc\(s\): \{[^}]*: -(?P<number>\d+)\b",
    r"exit(ed with)? ?code:? -(?P<number>\d+)\b",
)
_SIGNALS = {
    9: "it was killed (signal 9), most likely for want of main memory: choose workers with more memory",
    7: "it was killed (signal 7), most likely for want of shared memory: give the container a larger /dev/shm",
}


def explain(log: str, status: int | None = None) -> str:
    """Return the cause of an engine's end, with what to do where that is known, or "".

    `status` is the exit status of its first process as Popen gives it (-9: killed by signal 9), None when unknown.
    """
    lines = list(_failures(log))
    if hinted := _find_hint(lines):
        hint, match = hinted
        return _join(hint.advice.format(**match.groupdict()), match.string)
    found = _find(lines, _KILLED)
    number = int(found["number"]) if found else _signal_of(status)
    if number:
        return _SIGNALS.get(number, f"it was ended by signal {number}")
    cause = next((line for line in reversed(lines) if _EXCEPTION.search(line) and not _SEE_ABOVE.search(line)), "")
    return _quote(cause)


def may_pass(log: str) -> bool:
    """Tell whether an engine that ended as its log says may start a while later."""
    hinted = _find_hint(list(_failures(log)))
    return hinted is not None and hinted[0].passes


def _find_hint(lines: list[str]) -> tuple[Hint, re.Match[str]] | None:
    """Return the first hint that a line matches, and where."""
    for hint in HINTS:
        if found := _find(lines, hint.signs):
            return hint, found
    return None


def read_log(path: Path) -> str:
    """Return the end of an engine's log, "" when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


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
    why = explain(read_log(Path(log)), status) if log else ""
    return quote_tail(log) + what + (f": {why}" if why else "")


def _failures(log: str) -> Iterator[str]:
    """Yield the lines that report a failure, without what stands before their text."""
    for line in re.split(r"[\r\n]+", log):
        if line.strip() and not _IN_PASSING.match(line):
            yield _PREFIX.sub("", line, count=1)


def _find(lines: list[str], signs: tuple[str, ...]) -> re.Match[str] | None:
    """Return the last match of any sign: what was tried before it was got over."""
    for sign in signs:
        pattern = re.compile(sign, re.IGNORECASE)
        for line in reversed(lines):
            if found := pattern.search(line):
                return found
    return None


def _signal_of(status: int | None) -> int:
    """Return the signal that ended a process, also one that a shell passed on, or 0."""
    if status is None:
        return 0
    return -status if status < 0 else max(0, status - 128)


def _join(advice: str, line: str) -> str:
    return f"{advice} ({_quote(line)})"


def _quote(line: str) -> str:
    return f"vLLM says: {runner.printable(line.strip(), CAUSE_LIMIT)}" if line else ""
