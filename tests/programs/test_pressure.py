"""The real programs and a server under pressure: too many requests, lost connections, absence, many failures."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path

from support.fake_server import Asked, FakeServer, Fault
from support.programs import Session, outcome, read_until, rows, wait_until

TEXTS = ["one", "two", "three", "four", "five", "six"]


def storm(asked: Asked) -> Fault | None:
    """Refuse every row once, with a time to come back at."""
    later = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)
    after = "1" if asked.count % 2 else later.strftime("%a, %d %b %Y %H:%M:%S GMT")
    return Fault(429, b"", {"Retry-After": after}) if asked.nth == 1 and asked.text.isdigit() else None


def test_a_429_storm_costs_no_row(tmp_path: Path) -> None:
    with FakeServer(storm) as server:
        session = Session(tmp_path, rows(map(str, range(60))), server.url)
        session.start().check()
        session.chunk(max_concurrency="30", max_attempts="2").check()
        session.aggregate().check()
    assert Counter(map(outcome, session.written())) == Counter(f"echo: {n}" for n in range(60))
    assert all(server.asked[str(n)] == 2 for n in range(60))


def test_a_server_that_takes_a_few_at_once_is_asked_as_many_as_it_takes(tmp_path: Path) -> None:
    """Without Retry-After, and with fewer attempts a row than there are rows too many."""
    with FakeServer(delay=0.05) as server:
        server.script = lambda asked: Fault(429, b"{}") if server.in_flight > 4 and asked.text.isdigit() else None
        session = Session(tmp_path, rows(map(str, range(120))), server.url)
        session.start().check()
        session.chunk(max_concurrency="64", max_attempts="5").check()
        session.aggregate().check()
    assert Counter(map(outcome, session.written())) == Counter(f"echo: {n}" for n in range(120))


def test_a_server_that_closes_idle_connections_is_no_error(tmp_path: Path) -> None:
    with FakeServer(lambda _: Fault(wire="close")) as server:
        session = Session(tmp_path, rows(TEXTS), server.url)
        session.start().check()
        session.chunk(max_concurrency="1").check()
        session.aggregate().check()
    assert [outcome(row) for row in session.written()] == [f"echo: {text}" for text in TEXTS]


HALF = 1 + 20  # the session's own first request, and 20 of 40 rows


def half(asked: Asked) -> Fault | None:
    """Answer half of the rows; each of the eight that may then be in flight waits for ever."""
    return Fault(wire="hang") if asked.count > HALF else None


def test_a_server_that_goes_away_and_comes_back_costs_no_row(tmp_path: Path) -> None:
    with FakeServer(half) as server:
        session = Session(tmp_path, rows(map(str, range(40))), server.url)
        session.start().check()
        chunk = session.launch(session.chunk_argv())
        wait_until(lambda: len(server.asked) == HALF + 8 and server.in_flight == 8, chunk)
        server.leave()
        read_until("does not answer", chunk)
        server.script = lambda _: None
        server.come_back()
        session.finish(chunk).check()
        session.aggregate().check()
    assert Counter(map(outcome, session.written())) == Counter(f"echo: {n}" for n in range(40))


def test_a_server_that_goes_away_for_good_fails_the_chunk_and_keeps_what_was_answered(tmp_path: Path) -> None:
    with FakeServer(half) as server:
        session = Session(tmp_path, rows(map(str, range(40))), server.url)
        session.start(server_start_timeout_seconds="1").check()
        chunk = session.launch(session.chunk_argv())
        wait_until(lambda: len(server.asked) == HALF + 8 and server.in_flight == 8, chunk)
        server.leave()
        session.finish(chunk).refused("does not answer any more; start it and submit again")
        server.script = lambda _: None
        server.come_back()
        session.aggregate().check()
        kept = [outcome(row) for row in session.written() if "error" not in row]
        session.chunk().check()
        session.aggregate().check()
    assert len(kept) == 20
    assert all(server.asked[text.removeprefix("echo: ")] == 1 for text in kept)
    assert Counter(map(outcome, session.written())) == Counter(f"echo: {n}" for n in range(40))


def test_requests_in_flight_reach_max_concurrency_and_never_exceed_it(tmp_path: Path) -> None:
    with FakeServer(lambda asked: full if asked.text.isdigit() else None, delay=0.05) as server:
        full = Fault(until=lambda: server.most_in_flight >= 16)
        session = Session(tmp_path, rows(map(str, range(120))), server.url)
        session.start().check()
        session.chunk(max_concurrency="16").check()
    assert server.most_in_flight == 16
    assert server.asked.total() == 121  # and one to see whether the model chats


def test_a_proxy_of_the_environment_sees_nothing_of_it(tmp_path: Path) -> None:
    with FakeServer() as proxy, FakeServer() as server:
        own = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"), proxy.url)
        session = Session(tmp_path, rows(TEXTS), server.url, environment=own)
        session.start().check()
        session.chunk().check()
    assert not proxy.headers
    assert server.asked.total() == len(TEXTS) + 1


def test_more_failures_than_max_failed_percent_end_the_asking_and_not_the_chunk(tmp_path: Path) -> None:
    with FakeServer(lambda asked: Fault(400, b'{"error": "no"}') if asked.text.startswith("bad") else None) as server:
        session = Session(tmp_path, rows(f"bad {n}" for n in range(100)), server.url)
        session.start().check()
        result = session.chunk(max_failed_percent="5", max_concurrency="4")
        session.aggregate().check()
    text = result.check().text
    assert "6 of the chunk's 100 rows failed, more than MaxFailedPercent (5) allows: no further row is asked" in text
    assert "the last failure: " in text
    codes = Counter(map(outcome, session.written()))
    assert codes["invalid_request"] + codes["too_many_failures"] == 100
    asked = sum(count for text, count in server.asked.items() if text.startswith("bad"))
    assert codes["invalid_request"] == asked < 30
    assert session.summary()["rerun"] == "1-100"


def test_failures_up_to_max_failed_percent_do_not(tmp_path: Path) -> None:
    texts = ["bad"] * 5 + [f"good {n}" for n in range(5)]
    with FakeServer(lambda asked: Fault(400, b"no") if asked.text == "bad" else None) as server:
        session = Session(tmp_path, rows(texts), server.url)
        session.start().check()
        session.chunk(max_failed_percent="50").check()
