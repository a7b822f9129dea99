"""The server's life: started, refused, restarted in mid-chunk and ended, with a stand-in for vLLM that has no model."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from engine.address import Address
from engine.inquiry import ask_own
from support.fake_server import ROUTES, FakeServer, Fault
from support.programs import Session, outcome, rows, wait_until


def test_a_session_starts_serves_and_ends_leaving_no_process(session: Session) -> None:
    assert "model load" in session.start().check().text
    assert len(session.engine_processes()) == 2  # the server and its engine
    session.chunk().check()
    assert "the server has ended" in session.stop().check().text
    assert session.processes() == []
    session.aggregate().check()
    assert [outcome(row) for row in session.written()] == [f"echo: {n}" for n in range(6)]
    assert session.summary()["model_loads"] == 1
    cost = session.summary()["cost"]
    assert min(cost["load_seconds"], cost["answering_seconds"]) > 0
    assert (cost["sessions"], cost["untold_sessions"], cost["in_vain_seconds"]) == (1, 0, 0)


def test_the_server_s_temporary_files_go_with_it(session: Session) -> None:
    session.start().check()
    engine = session.note().engines[0]
    assert engine.process
    scratch = Path(engine.scratch)
    server = Path(f"/proc/{engine.process.pid}/environ").read_bytes().split(b"\0")
    assert f"TMPDIR={scratch}".encode() in server
    (scratch / "left_behind").touch()
    session.stop().check()
    assert not scratch.exists()


REFUSED = {
    "it dies while loading": ("dies", "The vLLM server ended while it was starting"),
    "out of memory": ("out-of-memory", "lower MaxModelLen or GpuMemoryUtilization"),
    "a gated model": ("gated", "HfTokenSecretId"),
    "a wrong name": ("no-such-model", "check ModelName"),
    "a log with directives": ("hostile", "The vLLM server ended while it was starting"),
}


@pytest.mark.parametrize(("model", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_a_server_that_ends_while_it_loads_is_told_with_what_to_do(model: str, says: str, session: Session) -> None:
    session.model = model
    session.start().refused(says)
    assert session.processes() == []


def test_a_server_that_never_answers_is_ended_at_the_time_limit(session: Session) -> None:
    session.model = "mute"
    message = session.start(server_start_timeout_seconds="2").refused("not ready after 2 s (ServerStartTimeoutSeconds)")
    assert "ended" not in message
    assert session.processes() == []


def test_a_slow_model_is_waited_for(session: Session) -> None:
    session.model = "slow"
    session.start().check()


def test_a_taken_port_costs_a_second_start_and_nothing_else(session: Session) -> None:
    session.model = "port-taken"
    assert "another program took the port" in session.start().check().text
    session.chunk().check()


def test_a_server_that_ignores_sigterm_is_killed(session: Session) -> None:
    session.model = "stubborn"
    session.start().check()
    assert "the server had to be killed" in session.stop().check().text
    assert session.processes() == []


def test_a_canceled_start_leaves_no_process(session: Session) -> None:
    session.model = "mute"
    program = session.launch(session.start_argv(max_model_len="64", server_start_timeout_seconds="3600"))
    wait_until((session.folder / "session" / "starts").exists, program)
    program.send_signal(signal.SIGTERM)
    session.finish(program).refused("canceled while the server was starting")
    assert session.processes() == []


def test_two_sessions_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    both = [Session(tmp_path / name, rows(f"{name} {n}" for n in range(6))) for name in ("one", "two")]
    for session in both:
        session.start().check()
    chunks = [session.launch(session.chunk_argv()) for session in both]
    for session, chunk in zip(both, chunks, strict=True):
        session.finish(chunk).check()
    both[0].stop().check()
    assert len(both[1].engine_processes()) == 2
    both[1].stop().check()
    for session in both:
        session.aggregate().check()
        assert [outcome(row) for row in session.written()] == [f"echo: {session.folder.name} {n}" for n in range(6)]


def test_a_server_of_ones_own_is_asked_for_each_route_and_never_for_its_list(session: Session) -> None:
    """vLLM needs more than a second for its list."""
    session.start().check()
    assert session.note().served.routes == set(ROUTES)


def test_a_chunk_without_a_session_says_so(tmp_path: Path) -> None:
    session = Session(tmp_path, rows(["a"]))
    (tmp_path / "session").mkdir()
    session.chunk().refused("the session has no server")


def test_a_route_is_missing_only_where_the_server_says_so() -> None:
    """A server that is busy for a moment must not cost every row of a route."""
    with FakeServer() as server:
        server.pages = {"/v1/embeddings": Fault(503, b"{}"), "/v1/responses": Fault(wire="reset")}
        assert ask_own(Address(server.url, ""), server.model, "").routes == set(ROUTES)
