"""The session's supervisor: whoever is killed, and however hard, no process of the session is left."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import pytest

from engine.note import State
from host.processes import Process
from support.fake_server import FakeServer
from support.programs import KEY, Session, outcome, read_until, rows, wait_until

# Runs programs one after the other as a runner does: each in a process session of its own, with the session's key.
RUNNER = """
import json, os, signal, subprocess, sys
key, *argvs = json.loads(sys.argv[1])
for argv in argvs:
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as program:
        for line in program.stdout:
            print(line, end="", flush=True)
            if line.startswith(key):
                os.environ["VLLM_API_KEY"] = line.removeprefix(key).strip()
print("| done", flush=True)
signal.pause()
"""
MODELS = ["fake", "strays", "stubborn-strays"]


def find_supervisor(session: Session) -> Process:
    """Return the process of the session's supervisor."""
    process = session.note().supervisor
    assert process
    return process


def wait_for_none(session: Session) -> None:
    """Return when no process of the session is left; the run's own limit ends a wait for ever."""
    while session.processes():
        time.sleep(0.1)


def as_runner(*argvs: list[str]) -> list[str]:
    """Return the command line of a runner of these programs."""
    return [sys.executable, "-c", RUNNER, json.dumps([KEY, *argvs])]


@pytest.mark.parametrize("model", ["mute", "mute-strays"])
def test_a_start_that_is_killed_hard_leaves_no_process(model: str, session: Session) -> None:
    session.model = model
    program = session.launch(session.start_argv())
    wait_until((session.folder / "session" / "starts").exists, program)
    os.killpg(program.pid, signal.SIGKILL)
    wait_for_none(session)
    session.finish(program)
    assert session.note().engines[0].state in (State.DOWN, State.FAILED)


@pytest.mark.parametrize("model", MODELS)
def test_a_runner_that_is_killed_hard_leaves_no_process(model: str, session: Session) -> None:
    session.model = model
    program = session.launch(as_runner(session.start_argv()))
    read_until("done", program)
    assert len(session.engine_processes()) == 2
    program.kill()
    wait_for_none(session)
    session.finish(program)
    assert "the runner of this session is gone" in (session.folder / "session" / "supervisor.log").read_text()


def test_a_runner_that_is_killed_hard_in_mid_chunk_leaves_no_process(session: Session) -> None:
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "stall", "b"])))
    session.prompts = "1-3"
    program = session.launch(as_runner(session.start_argv(), session.chunk_argv()))
    wait_until(lambda: any(b"succeeded" in path.read_bytes() for path in session.results.glob(".*partial")), program)
    program.kill()
    wait_for_none(session)
    session.finish(program)


@pytest.mark.parametrize("model", MODELS)
def test_what_a_killed_supervisor_leaves_is_ended_by_stop(model: str, session: Session) -> None:
    session.model = model
    session.start().check()
    find_supervisor(session).signal(signal.SIGKILL)
    session.stop().check()
    assert session.processes() == []


def test_an_engine_does_not_outlive_a_killed_supervisor_and_rows_are_told(session: Session) -> None:
    session.start().check()
    engine = session.note().engines[0].process
    assert engine
    find_supervisor(session).signal(signal.SIGKILL)
    while engine.runs():
        time.sleep(0.1)
    session.chunk().refused("supervisor has ended")


@pytest.mark.parametrize("model", MODELS)
def test_stop_ends_children_that_left_the_engine_s_process_session(model: str, session: Session) -> None:
    session.model = model
    session.start().check()
    assert len(session.engine_processes()) == 2
    session.stop().check()
    assert session.processes() == []


def test_a_supervisor_that_cannot_write_its_note_leaves_no_engine(session: Session) -> None:
    session.start().check()
    note = session.folder / "session" / "engine.json"
    engine = session.note().engines[0].process
    assert engine
    note.unlink()
    note.mkdir()  # which no file takes the place of
    engine.signal(signal.SIGKILL)
    wait_for_none(session)


def test_a_healthy_server_that_does_not_answer_health_costs_no_load(session: Session) -> None:
    session.model = "deaf"
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "lost-once", "b"])))
    session.prompts = "1-3"
    session.start().check()
    session.chunk().check()
    session.aggregate().check()
    assert [outcome(row) for row in session.written()] == ["echo: a", "echo: lost-once", "echo: b"]
    assert session.summary()["model_loads"] == 1


def test_a_server_that_says_that_it_is_dead_is_started_again(session: Session) -> None:
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "corpse-once", "b"])))
    session.prompts = "1-3"
    session.start().check()
    assert "starting the server again (load 2 of this session)" in session.chunk().check().text
    session.aggregate().check()
    assert [outcome(row) for row in session.written()] == ["echo: a", "echo: corpse-once", "echo: b"]
    assert session.summary()["model_loads"] == 2


def test_the_note_tells_when_an_idle_engine_ends_and_a_task_has_it_back(session: Session) -> None:
    session.start().check()
    before = session.note().engines[0]
    assert before.process
    killed = time.monotonic()
    before.process.signal(signal.SIGKILL)
    while (engine := session.note().engines[0]).state == State.READY:
        time.sleep(0.1)
    assert (engine.state, engine.generation, engine.status) == (State.DOWN, 1, -signal.SIGKILL)
    assert engine.died >= killed
    session.chunk().check()
    assert (session.note().engines[0].state, session.note().engines[0].generation) == (State.READY, 2)


def test_a_given_server_has_no_supervisor(session: Session) -> None:
    with FakeServer() as server:
        session.url = server.url
        session.start().check()
        assert session.processes() == []
        assert (session.note().external, session.note().supervisor) == (True, None)
        session.chunk().check()
        session.stop().check()
