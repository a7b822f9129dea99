"""The server dies or hangs in mid-chunk, with a stand-in for vLLM that has no model."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

from support.programs import Session, outcome, rows, wait_until


def test_rows_that_kill_the_server_are_set_aside_and_the_others_are_answered(session: Session) -> None:
    texts = [*map(str, range(8)), "poison", "more poison", *map(str, range(8, 14))]  # as many as are tried together
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(texts)))
    session.prompts = "1-16"
    session.start().check()
    text = session.chunk(max_concurrency="16").check().text
    session.aggregate().check()
    written = session.written()
    assert Counter(map(outcome, written)) == Counter(["server_crash"] * 2 + [f"echo: {n}" for n in range(14)])
    assert "while this row was in flight" in written[8]["error"]["message"]
    assert session.summary()["model_loads"] - 1 <= text.count("the server died; the end of its log follows") <= 4


def test_a_lone_row_that_kills_the_server_is_set_aside_after_two_crashes(session: Session) -> None:
    session.input.write_bytes(rows(["poison"])[0])
    session.prompts = "1"
    session.start().check()
    assert session.chunk().check().text.count("the server died") == 2
    session.aggregate().check()
    (row,) = session.written()
    assert (outcome(row), row["error"]["attempts"]) == ("server_crash", 2)
    assert session.summary()["model_loads"] == 2, "no server is started for no row"


def test_nine_rows_that_kill_the_server_are_found_in_one_attempt_and_the_chunk_ends_well(session: Session) -> None:
    texts = [*map(str, range(20)), *(f"poison {n}" for n in range(9)), *map(str, range(20, 30))]
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(texts)))
    session.prompts = "1-39"
    session.start().check()
    session.chunk(max_concurrency="40").check()
    session.aggregate().check()
    assert Counter(map(outcome, session.written())) == Counter(["server_crash"] * 9 + [f"echo: {n}" for n in range(30)])
    assert session.summary()["rerun"] == "21-29"
    assert session.summary()["model_loads"] <= 1 + 4 * 9


def test_a_server_that_kills_every_row_fails_the_task_so_that_another_worker_takes_the_chunk(session: Session) -> None:
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(f"poison {n}" for n in range(20))))
    session.prompts = "1-20"
    session.start().check()
    session.chunk().refused("rows in a row ended the server, and it never answered any other row")
    assert not list(session.results.glob("lines-*.jsonl"))
    session.chunk("1").refused("never answered")  # the session's next chunk costs no load


def test_a_crash_that_no_row_is_to_blame_for_costs_no_row(session: Session) -> None:
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "b", "crash-once", "c", "d", "e"])))
    session.start().check()
    assert "model load" in session.chunk().check().text
    session.aggregate().check()
    assert Counter(map(outcome, session.written())) == Counter(
        f"echo: {text}" for text in ("a", "b", "crash-once", "c", "d", "e")
    )
    assert len(session.engine_processes()) == 2


IMPATIENT = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import run_chunk
from asking import copies
copies.STALL_SECONDS /= 100
sys.exit(run_chunk.main())
"""  # the chunk's program, for which a server is stuck long before its rows time out


def test_a_server_that_hangs_is_noticed_by_its_own_signs_and_ended_whole(session: Session) -> None:
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "stall", "b"])))
    session.prompts = "1-3"
    session.start().check()
    python, _, program, *options = session.chunk_argv()
    text = session.run([python, "-Bc", IMPATIENT, str(Path(program).parent), *options]).check().text
    session.aggregate().check()
    assert [outcome(row) for row in session.written()] == ["echo: a", "server_crash", "echo: b"]
    assert text.count("it is stuck and is ended") == 2
    assert session.engine_processes() == []


def test_a_server_that_dies_for_good_fails_the_chunk_with_its_log(session: Session) -> None:
    session.model = "once"
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "poison"])))
    session.prompts = "1-2"
    session.start().check()
    result = session.chunk(max_concurrency="1")
    result.refused("The vLLM server ended while it was starting")
    assert "vllm: RuntimeError: the GPU is gone" in result.text
    assert session.engine_processes() == []
    session.aggregate().check()
    assert [outcome(row) for row in session.written()] == ["echo: a", "missing"]


def test_a_cancel_while_the_server_is_brought_back_ends_at_once(session: Session) -> None:
    session.model = "mute-again"
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "crash-once"])))
    session.prompts = "1-2"
    session.start(server_start_timeout_seconds="7200").check()
    session.notice(7200)
    chunk = session.launch(session.chunk_argv())
    wait_until(lambda: (session.folder / "session" / "starts").stat().st_size == 2, chunk)
    chunk.send_signal(signal.SIGTERM)
    assert session.finish(chunk).status == 143
