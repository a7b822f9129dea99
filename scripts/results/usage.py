"""The service's own figure for a job, noted beside the shards so that every later merge has it.

`usage-JOB.json` says how long the job's sessions ran and what that cost, where the service knows it. It is written by
who may ask the service, which a worker may not.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from host import files
from results.record import COUNT_LIMIT
from results.retry import DAMAGED

NAME = re.compile(r"usage-(job-[0-9a-f]{32})\.json")


@dataclass(frozen=True, slots=True)
class Usage:
    """What the service counted for a job; `dollars` is None where it knows no price."""

    job: str
    runtime_seconds: float
    dollars: float | None = None

    def write(self, folder: Path) -> None:
        """Note it beside the shards."""
        files.make_folder(folder)
        files.write_whole(folder / f"usage-{self.job}.json", json.dumps(asdict(self)).encode())


def find_usages(folder: Path) -> list[Usage]:
    """Return what is noted in a folder of shards; a note that cannot be read is none."""
    found = []
    for path in sorted(folder.glob("usage-*.json")):
        with contextlib.suppress(*DAMAGED):
            value = json.loads(path.read_text(encoding="utf-8"))
            seconds, dollars = float(value["runtime_seconds"]), value["dollars"]
            if NAME.fullmatch(path.name) and 0 <= seconds < COUNT_LIMIT:
                found.append(Usage(str(value["job"]), seconds, _read_dollars(dollars)))
    return found


def _read_dollars(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < COUNT_LIMIT:
        return float(value)
    return None


def add_usages(usages: Iterable[Usage]) -> Usage | None:
    """Return the sum of several jobs' figures, None where there is none."""
    found = list(usages)
    dollars = [each.dollars for each in found if each.dollars is not None]
    seconds = sum(each.runtime_seconds for each in found)
    return Usage("", seconds, sum(dollars) if dollars else None) if found else None
