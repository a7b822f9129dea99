"""Fixtures of the tests of tools/submit.py and tools/run_local.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import setup_env
from local.local_job import Machine
from support.local_machine import Ran
from support.submitting import put_deadline


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return where a `deadline` that stands in for the real one notes what it was called with."""
    return put_deadline(monkeypatch, tmp_path)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ran:
    """Return the jobs that are run on this machine; none of them really is."""
    ran = Ran()
    monkeypatch.setattr(setup_env, "environment", lambda _: Path(sys.executable))
    monkeypatch.setattr(setup_env, "model", lambda _: tmp_path / "model")
    monkeypatch.setattr(Machine, "run", lambda machine, job, lines, **_: ran.run(machine, job))
    monkeypatch.chdir(tmp_path)
    return ran
