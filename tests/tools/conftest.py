"""Fixtures of the tests of tools/submit.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.submitting import put_deadline


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return where a `deadline` that stands in for the real one notes what it was called with."""
    return put_deadline(monkeypatch, tmp_path)
