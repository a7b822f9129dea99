"""A chunk that is canceled, killed or out of disk keeps its answers, and the next attempt asks for the rest."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.fake_server import FakeServer, Fault
from support.programs import Session, outcome, read_until, rows, strange, wait_until


@dataclass
class Held:
    """A chunk in mid-flight: 30 rows, of which the first ten are answered and the others wait for `release`."""

    session: Session
    server: FakeServer
    chunk: subprocess.Popen[str]
    holding: list[bool] = field(default_factory=lambda: [True])

    def partials(self) -> list[Path]:
        """Return the unfinished shards."""
        return list(self.session.results.glob(".lines-*.partial"))


@pytest.fixture
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Held]:
    """Hold a chunk, on a machine that a parameter may make a strange one."""
    holding = [True]
    held_back = Fault(wire="hang")
    script = lambda asked: held_back if holding[0] and asked.text.isdigit() and int(asked.text) >= 10 else None  # noqa: E731
    with FakeServer(script) as server:
        session = Session(tmp_path, rows(map(str, range(30))), server.url)
        session.environment.update(strange(request.param) if hasattr(request, "param") else {})
        session.start().check()
        chunk = session.launch(session.chunk_argv(max_concurrency="40"))
        one = Held(session, server, chunk, holding)
        wait_until(lambda: server.in_flight == 20 and len(one.partials()) == 1, chunk)
        wait_until(lambda: one.partials()[0].read_bytes().count(b'"status":"succeeded"') == 10, chunk)
        yield one
        if chunk.poll() is None:
            chunk.kill()
            chunk.communicate()


def finish(held: Held) -> None:
    """Run the chunk again, and check that only what was missing is asked and every row has its answer."""
    held.holding[0] = False
    already = dict(held.server.asked)
    held.session.chunk().check()
    held.session.aggregate().check()
    assert all(held.server.asked[str(n)] == already[str(n)] == 1 for n in range(10))
    assert all(held.server.asked[str(n)] == 2 for n in range(10, 30))
    assert Counter(map(outcome, held.session.written())) == Counter(f"echo: {n}" for n in range(30))
    assert not held.partials()


def test_a_canceled_chunk_keeps_its_answers_and_the_next_attempt_asks_for_the_rest(held: Held) -> None:
    held.session.notice(12)
    held.chunk.send_signal(signal.SIGTERM)
    ended = held.session.finish(held.chunk)
    assert ended.status == 143
    assert "ended with 10 of 30 rows done; they are kept" in ended.text
    finish(held)


def test_what_a_stopped_job_with_another_prompt_left_is_neither_mixed_nor_lost(held: Held) -> None:
    held.chunk.kill()
    held.chunk.communicate()
    held.holding[0] = False
    session = held.session
    session.chunk(system_prompt="Be brief.").check()
    session.aggregate().check()
    assert [held.server.asked[str(n)] for n in range(30)] == [2] * 30
    assert session.summary()["succeeded"] == 30
    assert "10 answers in results/ are to other questions" in "\n".join(session.summary()["notes"])
    session.aggregate(model_name=session.model, server_url=session.url).check()
    assert [outcome(row) for row in session.written()] == [*(f"echo: {n}" for n in range(10)), *["missing"] * 20]


def test_a_canceled_chunk_takes_what_arrives_in_the_notice_period(tmp_path: Path) -> None:
    go = threading.Event()
    with FakeServer(lambda asked: Fault(until=go.is_set) if asked.text.isdigit() else None) as server:
        session = Session(tmp_path, rows(map(str, range(30))), server.url)
        session.start().check()
        chunk = session.launch(session.chunk_argv(max_concurrency="10"))
        wait_until(lambda: server.in_flight == 10, chunk)
        session.notice(3600)
        chunk.send_signal(signal.SIGTERM)
        read_until("canceled: nothing more is sent", chunk)
        go.set()
        ended = session.finish(chunk)
        assert (ended.status, server.asked.total()) == (143, 11)
        assert "ended with 10 of 30 rows done" in ended.text
        session.chunk().check()
    assert all(server.asked[str(n)] == 1 for n in range(30))


def test_a_second_cancel_drops_what_is_in_flight_at_once(held: Held) -> None:
    held.session.notice(3600)
    held.chunk.send_signal(signal.SIGTERM)
    read_until("canceled: nothing more is sent", held.chunk)
    held.chunk.send_signal(signal.SIGTERM)
    ended = held.session.finish(held.chunk)
    assert ended.status == 143
    assert "ended with 10 of 30 rows done; they are kept" in ended.text
    finish(held)


def test_a_killed_chunk_loses_nothing_that_was_answered(held: Held) -> None:
    held.chunk.kill()
    held.chunk.communicate()
    finish(held)


@pytest.mark.parametrize("held", ["nfs", "smb"], indirect=True)
def test_neither_does_one_on_a_network_file_system(held: Held) -> None:
    held.chunk.kill()
    held.chunk.communicate()
    finish(held)


@pytest.mark.parametrize("held", ["nfs", "smb"], indirect=True)
def test_a_running_attempt_is_told_from_a_dead_one_on_a_network_file_system(held: Held) -> None:
    (partial,) = held.partials()
    held.holding[0] = False
    held.session.chunk().check()
    assert partial.exists()
    assert all(held.server.asked[str(n)] == 2 for n in range(30))


@pytest.mark.parametrize("held", ["no-locks"], indirect=True)
def test_a_file_system_without_locks_fails_no_chunk_and_loses_no_answer(held: Held) -> None:
    held.chunk.kill()
    held.chunk.communicate()
    held.holding[0] = False
    held.session.chunk().check()
    held.session.aggregate().check()
    assert all(held.server.asked[str(n)] == (1 if n < 10 else 2) for n in range(30))
    assert Counter(map(outcome, held.session.written())) == Counter(f"echo: {n}" for n in range(30))


@pytest.mark.parametrize(("of_output", "of_files"), [(0o755, 0o644), (0o775, 0o664), (0o777, 0o666), (0o1777, 0o664)])
def test_whoever_may_change_the_output_folder_may_change_what_a_job_writes_there(
    of_output: int, of_files: int, tmp_path: Path
) -> None:
    with FakeServer() as server:
        session = Session(tmp_path, [*rows(["a"]), b"{"], server.url)
        session.output.mkdir()
        session.output.chmod(of_output)
        before = os.umask(0o022)
        try:
            for step in (session.start, session.chunk, session.aggregate):
                step().check()
        finally:
            os.umask(before)
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in session.output.rglob("*")}
    assert {mode for path, mode in found.items() if path.is_file()} == {of_files}
    assert {mode for path, mode in found.items() if path.is_dir()} == {of_files | 0o111}


def test_a_torn_last_line_is_dropped_and_not_believed(held: Held) -> None:
    held.chunk.kill()
    held.chunk.communicate()
    (partial,) = held.partials()
    last = partial.read_bytes().splitlines(keepends=True)[-1]
    with partial.open("ab") as file:
        file.write(last.replace(b"echo", b"ohce").replace(b'"line":', b'"line":2')[: len(last) // 2])
    finish(held)


def test_an_attempt_leaves_the_partial_file_of_one_that_still_runs_alone(held: Held) -> None:
    (partial,) = held.partials()
    held.holding[0] = False
    held.session.chunk().check()
    assert partial.exists()
    assert all(held.server.asked[str(n)] == 2 for n in range(30))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_fails_the_chunk_and_loses_no_answer(small_disk: Path, tmp_path: Path) -> None:
    with FakeServer() as server:
        session = Session(tmp_path / "job", rows(f"{n} " + "x" * 20_000 for n in range(40)), server.url)
        session.output = small_disk
        session.start().check()
        session.chunk(max_concurrency="4").refused("No space left on device", "what was answered is kept")
        first = set(server.asked)
        subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
        session.chunk().check()
        session.aggregate().check()
    assert len(first) < 40
    assert sum(count > 1 for count in server.asked.values()) <= 4 + 1  # those in flight when the disk was full
    assert Counter(map(outcome, session.written())) == Counter(
        f"echo: {json.loads(r)['prompt']}" for r in session.lines
    )


def test_a_disk_that_fills_while_merging_leaves_the_finished_files_as_they_were(
    small_disk: Path, tmp_path: Path
) -> None:
    with FakeServer() as server:
        session = Session(tmp_path / "job", rows(f"{n} " + "x" * 2000 for n in range(60)), server.url)
        session.output = small_disk
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
        before = {path.name: path.read_bytes() for path in (small_disk / "output").glob("*.*")}
        ballast = small_disk / "ballast"
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
        ballast.write_bytes(b"x" * (free - 8192))
        session.aggregate().refused("No space left on device", "free some space and run it again")
        after = {path.name: path.read_bytes() for path in (small_disk / "output").glob("*.*")}
    assert after == before


def test_answers_of_a_server_that_was_set_up_otherwise_are_not_kept(tmp_path: Path) -> None:
    """What an interrupted attempt was answered stands only for the same model, arguments and context."""
    kept = []
    session = Session(tmp_path, rows(map(str, range(3))))
    for arguments in ("", "", "--seed 1"):
        session.start(vllm_args=arguments).check()
        kept.append("are kept" in session.chunk().check().text)
        session.stop().check()
        (shard,) = session.results.glob("lines-*.jsonl")
        lines = shard.read_bytes().splitlines(keepends=True)
        header = json.loads(lines[0])
        (session.results / f".{shard.stem}.{header['job']}.partial").write_bytes(b"".join(lines[:-1]))
        shard.unlink()
    assert kept == [False, True, False]
