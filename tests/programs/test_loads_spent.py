"""A chunk that had all the model loads that one may have ends in a whole shard all the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import run_chunk
from asking import link
from support.programs import Session, outcome, rows


def test_rows_that_no_load_is_left_for_are_recorded_and_the_chunk_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "CHUNK_LOADS", 2)
    session = Session(tmp_path, rows(map(str, range(12))))
    session.model = "third"  # each load answers two rows
    session.start().check()
    try:
        argv = session.chunk_argv(max_concurrency="1")
        for name, value in session.variables().items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(session.folder)
        assert run_chunk.main(argv[3:]) == 0
    finally:
        session.stop().check()
    session.aggregate().check()
    codes = Counter("" if "error" not in row else outcome(row) for row in session.written())
    assert set(codes) == {"", "server_gone"}
    assert codes[""] >= 2
    assert codes.total() == 12
    assert session.summary()["model_loads"] == 3
    assert session.summary()["rerun"]
