"""Fixtures that several modules of tests use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from support.merge_job import Job

settings.register_profile("unhurried", deadline=None)  # a busy machine is no fault of what is tested
settings.load_profile("unhurried")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path / "job")
