"""A merge on a farm waits for shards that a network file system does not show yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from results import late
from support.fake_server import FakeServer
from support.programs import Session, read_until, rows


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Return a job of which all chunks have ended; the shard of the second is not in sight."""
    with FakeServer() as server:
        session = Session(tmp_path, rows(map(str, range(30))), server.url)
        session.environment["DEADLINE_JOB_ID"] = "job-1"
        session.start().check()
        for chunk in ("1-20", "21-30"):
            session.chunk(chunk).check()
    [hidden] = session.results.glob("lines-000000021-*")
    hidden.rename(tmp_path / hidden.name)
    return session


def test_a_shard_that_shows_late_is_merged(session: Session) -> None:
    merge = session.launch(session.aggregate_argv())
    read_until("the shards in sight have 20 of 30 lines", merge)
    [hidden] = session.folder.glob("lines-*")
    hidden.rename(session.results / hidden.name)
    session.finish(merge).check()
    assert session.summary()["succeeded"] == 30


def test_one_that_never_shows_is_missing_in_the_end(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late, "LATE_SECONDS", 0.0)
    late.wait_for_shards(session.results, "", {"Prompts": "1-30", "BlockSize": 1})
    del session.environment["DEADLINE_JOB_ID"]  # by hand nothing is waited for
    session.aggregate().check()
    assert session.summary()["missing"] == 10
