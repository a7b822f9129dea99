"""A job whose InputUrl has expired when it is merged loses nothing that its workers answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fake_server import FakeServer, Fault
from support.programs import Session, outcome, rows
from support.scripted_server import scripted, status

BAD = '{"prompt": "é", "max_tokens": "many"}'.encode()
REFUSED = b'{"id": 9, "prompt": "refuse"}'
AGAIN = {"expired": status(403), "a page to log in on": status(200, b"<!DOCTYPE html><html>")}


@pytest.fixture(params=AGAIN.values(), ids=AGAIN.keys())
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    """Give a job of six lines, of which the last is in no shard, whose input can be fetched once."""
    lines = [*rows("ab"), BAD, b"", REFUSED, *rows("z")]
    content = b"".join(line + b"\n" for line in lines)
    refuse = lambda asked: Fault(status=400) if asked.text == "refuse" else None  # noqa: E731
    with FakeServer(refuse) as server, scripted(status(200, content), request.param) as store:
        session = Session(tmp_path, url=server.url, prompts="1-6")
        url = tmp_path / "url"
        url.write_text(f"{store.base}/in.jsonl?sig=hush", encoding="utf-8")
        session.options.update(input_file="", input_url_file=str(url))
        session.start().check()
        session.chunk("1-5").check()
        told = session.run(
            session.argv(
                "aggregate.py",
                output_dir=str(session.output),
                input_url_file=str(url),
                prompts="1-6",
                **{"session-dir": str(tmp_path / "another")},
            )
        ).check()
        assert "hush" not in told.text
        yield session


def test_every_line_has_its_result(job: Session) -> None:
    assert [outcome(row) for row in job.written()] == [
        "echo: a",
        "echo: b",
        "invalid_value",
        "invalid_request",
        "missing",
    ]
    summary = job.summary()
    counts = {name: summary[name] for name in ("requested", "succeeded", "failed", "missing", "blank")}
    assert counts == {"requested": 6, "succeeded": 2, "failed": 3, "missing": 1, "blank": 1}
    assert summary["rerun"] == "3,5,6"
    assert summary["input"]["lines"] == 6
    (note,) = summary["notes"]
    assert "the input cannot be read any more" in note


def test_the_failed_lines_that_were_asked_are_there_to_be_submitted_again(job: Session) -> None:
    retry = (job.output / "output" / "retry.jsonl").read_bytes().splitlines()
    assert retry == [BAD, REFUSED]


def test_the_page_shows_what_the_shards_hold(job: Session) -> None:
    assert "the input cannot be read any more" in (job.output / "output" / "results.html").read_text(encoding="utf-8")
