"""A session of six rows, which leaves no process behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.programs import Session, rows


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    one = Session(tmp_path / "job", rows(map(str, range(6))))
    yield one
    one.stop()
    assert one.processes() == []
