"""What OutputUrl received, and what is said where it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.fake_server import FakeServer
from support.programs import Result, Session, rows
from support.scripted_server import scripted, status


@pytest.fixture
def job(tmp_path: Path) -> Session:
    with FakeServer() as server:
        session = Session(tmp_path, rows("abc"), server.url)
        session.start().check()
        session.chunk().check()
    return session


def deliver(job: Session, server: Any) -> Result:
    """Merge a job whose OutputUrl is the server's."""
    address = job.folder / "output_url"
    address.write_text(server.base + "/out.jsonl?sig=hush", encoding="utf-8")
    return job.aggregate(output_url_file=str(address))


def test_the_finished_file_is_sent(job: Session) -> None:
    with scripted(status(200)) as server:
        deliver(job, server).check()
        method, path, _, body = server.seen[0]
    assert (method, path) == ("PUT", "/out.jsonl?sig=hush")
    assert body == (job.output / "output" / "output.jsonl").read_bytes()
    assert job.summary()["notes"] == []


def test_a_refused_delivery_is_in_the_summary_and_on_the_page_and_loses_nothing(job: Session) -> None:
    with scripted(status(403)) as server:
        told = deliver(job, server).check()
    (note,) = job.summary()["notes"]
    assert "output.jsonl was not sent, it is in OutputDir" in note
    assert "HTTP 403" in note
    assert note in told.text
    page = (job.output / "output" / "results.html").read_text(encoding="utf-8")
    assert "output.jsonl was not sent" in page
    assert "hush" not in note + told.text + page
    assert len(job.written()) == 3
