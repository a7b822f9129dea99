"""This machine as run_local.py finds it in tests: the tests' own Python, and jobs that are noted or really run.

As a program it is run_local.py, with openjd and the programs of the tests' environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import run_local
import setup_env
from local.local_job import Machine

ROOT = Path(__file__).resolve().parents[2]


def argv(*arguments: str) -> list[str]:
    """Return the command that is run_local.py on this machine."""
    return [sys.executable, "-B", "-m", "support.local_machine", *arguments]


def variables() -> dict[str, str]:
    """Return the environment for it."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "tests"), str(ROOT / "tools")))}


@dataclass
class Ran:
    """The jobs that were run, and the exit statuses that they end with; 0 where none is told."""

    jobs: list[dict[str, str]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def run(self, machine: Machine, parameters: Mapping[str, str]) -> int:
        """Stand in for Machine.run."""
        self.jobs.append(dict(parameters))
        return self.statuses.pop(0) if self.statuses else 0


if __name__ == "__main__":
    setup_env.environment = lambda kind: Path(sys.executable)
    sys.exit(run_local.main())
