"""A session that uses the engines of another: it loads nothing, has them restarted, and leaves them loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.programs import Session, rows


@pytest.fixture
def kept(tmp_path: Path) -> Session:
    return Session(tmp_path / "kept", rows(["never asked"]))


def joining(kept: Session, folder: Path, texts: list[str]) -> Session:
    own = {"VLLM_BATCH_KEPT_SESSION": str(kept.folder / "session"), "VLLM_API_KEY": kept.environment["VLLM_API_KEY"]}
    return Session(folder, rows(texts), environment=own)


def test_two_jobs_after_each_other_use_one_load(kept: Session, tmp_path: Path) -> None:
    kept.start().check()
    try:
        loads = kept.note().engines[0].loads
        for name in ("first", "second"):
            job = joining(kept, tmp_path / name, ["hello"])
            assert "model load" not in job.start().check().text
            job.chunk().check()
            assert "no server was started" in job.stop().check().text
            job.aggregate().check()
            assert job.written()[0]["generated_text"]
        assert kept.note().engines[0].loads == loads
        assert kept.engine_processes()
    finally:
        kept.stop().check()
    assert not kept.engine_processes()


def test_a_job_has_the_kept_engine_started_again(kept: Session, tmp_path: Path) -> None:
    kept.start().check()
    try:
        job = joining(kept, tmp_path / "job", ["hello"])
        job.start().check()
        process = kept.note().engines[0].process
        assert process
        process.signal(9)
        job.chunk().check()
        job.aggregate().check()
        assert job.written()[0]["generated_text"]
        assert len(kept.note().engines[0].loads) == 2
    finally:
        kept.stop()


def test_a_kept_session_that_is_gone_is_said(kept: Session, tmp_path: Path) -> None:
    kept.start().check()
    kept.stop().check()
    joining(kept, tmp_path / "job", ["hello"]).start().refused("has ended")
