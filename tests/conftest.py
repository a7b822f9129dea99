"""Fixtures that several modules of tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.merge_job import Job


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path / "job")
