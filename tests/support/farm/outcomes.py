"""What a job on the farm ended in, as tests check it and a table shows it: an outcome a line, requests, and loads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .farm import Farm
from .jobs import Job


@dataclass(frozen=True)
class Outcomes:
    """One job's: the codes of its lines ("" for an answer), how often each line's text was asked, and its loads."""

    codes: list[str]
    asked: Counter[str]
    loads: int
    sessions: int

    @property
    def counts(self) -> Counter[str]:
        """Return how many lines ended in each code."""
        return Counter(self.codes)

    @classmethod
    def of(cls, farm: Farm, job: Job, out: Path, asked: Path) -> Outcomes:
        """Read what a job left in its folder, in the agents' logs, and in the file that the fake engine writes."""
        lines = (out / "output" / "output.jsonl").read_text(encoding="utf-8").splitlines()
        codes = [str(json.loads(line).get("error", {}).get("code", "")) for line in lines]
        sessions = farm.sessions(job, "Infer")
        loads = sum(farm.log(session).count("| model load ") for session in sessions)
        texts = asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []
        return cls(codes, Counter(texts), loads, len(sessions))


@dataclass
class Table:
    """The table that the tests print at their end."""

    rows: dict[str, Outcomes] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the table, a scenario a line."""
        head = f"{'scenario':48}{'lines':>6}{'answers':>8}{'loads':>6}{'sessions':>9}{'requests a line':>17}  errors"
        return "\n".join([head, *(self._line(name, each) for name, each in self.rows.items())])

    @staticmethod
    def _line(name: str, each: Outcomes) -> str:
        most, total = max(each.asked.values(), default=0), each.asked.total()
        requests = f"{total / max(1, len(each.codes)):.2f}, most {most}"
        errors: Mapping[str, int] = {code: count for code, count in each.counts.items() if code}
        told = ", ".join(f"{count} {code}" for code, count in sorted(errors.items())) or "-"
        numbers = f"{len(each.codes):>6}{each.counts['']:>8}{each.loads:>6}{each.sessions:>9}"
        return f"{name:48}{numbers}{requests:>17}  {told}"
