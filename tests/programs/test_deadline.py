"""StopAt: nothing is asked after it, and the chunk ends in a whole shard all the same."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from job.moment import read_moment, write_moment
from support.fake_server import FakeServer, Fault
from support.programs import Session, outcome, read_until, rows

PAST = "2020-01-31T18:00:00+01:00"


def test_a_session_that_begins_after_it_loads_no_model_and_ends_in_results(tmp_path: Path) -> None:
    session = Session(tmp_path, [*rows(map(str, range(6))), b"", b"broken"])
    text = session.start(stop_at=PAST).check().text
    assert "no server is started, and no row is asked" in text
    assert session.processes() == []
    session.chunk().check()
    session.stop().check()
    session.aggregate().check()
    summary = session.summary()
    assert [row["error"]["code"] for row in session.written()] == ["deadline"] * 6 + ["invalid_json"]
    assert (summary["requested"], summary["failed"], summary["blank"], summary["model_loads"]) == (8, 7, 1, 0)
    assert summary["rerun"] == "1-6,8"
    assert summary["parameters"]["StopAt"] == PAST


def test_a_session_whose_model_still_loads_then_ends_the_load_and_ends_in_results(tmp_path: Path) -> None:
    session = Session(tmp_path, rows(map(str, range(6))))
    session.model = "mute"
    text = session.start(stop_at=write_moment(time.time() + 4)).check().text
    assert "passed while the model loaded: the load is ended" in text
    assert session.processes() == []
    session.chunk().check()
    session.stop().check()
    session.aggregate().check()
    assert [row["error"]["code"] for row in session.written()] == ["deadline"] * 6


def test_a_chunk_whose_model_is_loaded_again_does_not_wait_for_it(tmp_path: Path) -> None:
    session = Session(tmp_path, rows(["a", "crash-once", "b", "c"]))
    session.model = "mute-again"
    session.start().check()
    try:
        text = session.chunk(stop_at=write_moment(time.time() + 12), max_concurrency="1").check().text
    finally:
        session.stop().check()
    session.aggregate().check()
    assert "starting the server again" in text
    codes = [row.get("error", {}).get("code") for row in session.written()]
    assert codes[1] == "deadline"
    assert set(codes) <= {None, "deadline"}


def test_what_is_in_flight_may_end_and_the_rest_is_not_asked(tmp_path: Path) -> None:
    go: list[bool] = []
    with FakeServer(lambda asked: Fault(until=lambda: bool(go)) if asked.text.isdigit() else None) as server:
        session = Session(tmp_path, rows(map(str, range(30))), server.url)
        session.start(stop_at=write_moment(time.time() + 5)).check()
        chunk = session.launch(session.chunk_argv(max_concurrency="4"))
        read_until("has passed: no further row is asked", chunk)
        go.append(True)
        session.finish(chunk).check()
        session.aggregate().check()
    codes = Counter(map(outcome, session.written()))
    assert codes["deadline"] >= 26
    assert codes["deadline"] == 30 - (server.asked.total() - 1)
    assert session.summary()["failed"] == codes["deadline"]


@pytest.mark.parametrize("text", ["tomorrow", "2027-01-31T18:00:00", "18:00"])
def test_a_text_that_is_no_moment_with_a_zone_is_refused(text: str, tmp_path: Path) -> None:
    session = Session(tmp_path, rows(["a"]))
    session.start(stop_at=text).refused("StopAt must be a moment with its zone", text)


def test_a_moment_is_read_as_it_was_written() -> None:
    assert read_moment(write_moment(1_800_000_000.9)) == 1_800_000_000
    assert read_moment("2027-01-31T18:00:00+01:00") == read_moment("2027-01-31T17:00:00Z")
