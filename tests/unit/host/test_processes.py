"""What a program started is found and ended, and what runs a program is told from mere wrappers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from host import processes
from host.processes import Process, find_process

SCRIPTS = Path(processes.__file__).parents[1]
FIND = "from host import processes; found = processes.find_runner(); print(found.pid if found else 0)"
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def wrapped(*outer: str) -> list[str]:
    return [*outer, sys.executable, "-c", FIND]


WRAPPERS = {
    "none": wrapped(),
    "a shell": ["sh", "-c", '"$@"; true', "sh", *wrapped()],
    "a process session of its own": ["sh", "-c", '"$@"; true', "sh", *wrapped("setsid", "-w")],
    "two": ["sh", "-c", '"$@"; true', "sh", *wrapped("setsid", "-w", "sh", "-c", '"$@"; true', "sh")],
}


@pytest.mark.parametrize("argv", WRAPPERS.values(), ids=WRAPPERS.keys())
def test_the_runner_is_found_behind_what_it_starts_actions_by(argv: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    told = subprocess.run(
        argv, capture_output=True, text=True, check=True, start_new_session=True, env=environment
    ).stdout
    assert int(told) == os.getpid()


def test_a_process_is_itself_only_as_long_as_it_runs() -> None:
    with subprocess.Popen(SLEEP) as program:
        process = find_process(program.pid)
        assert process.runs()
        assert not Process(program.pid, "0").runs()
        program.kill()
    assert not process.runs()


def test_a_family_is_whole_with_those_that_left_its_session_and_lost_their_parent(tmp_path: Path) -> None:
    program = f"import subprocess, sys; subprocess.Popen({SLEEP!r}, start_new_session=True); print(flush=True)"
    command = [sys.executable, "-c", program + "; sys.stdin.read()"]
    mark = f"TMPDIR={tmp_path}"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, start_new_session=True) as leader:
        assert leader.stdin
        assert leader.stdout
        leader.stdout.readline()
        process = find_process(leader.pid)
        assert len(processes.find_family(process, mark)) == 2
        leader.stdin.close()
    assert len(processes.find_family(process, mark)) == 1
    assert processes.find_family(Process(os.getpid(), "0"), "NO=MARK") == set(), "the id is somebody else's by now"
    assert processes.end_all(lambda: processes.find_family(process, mark), 60) is False
    assert processes.find_family(process, mark) == set()


def test_a_program_that_is_tied_ends_with_who_started_it() -> None:
    starter = f"""
import subprocess
from host import processes
program = subprocess.Popen(processes.tie_to_parent({SLEEP!r}))
print(program.pid, processes.find_process(program.pid).birth, flush=True)
input()
"""
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    command = [sys.executable, "-c", starter]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as program:
        assert program.stdout
        pid, birth = program.stdout.readline().split()
        tied = Process(int(pid), birth)
        while b"prctl" in Path(f"/proc/{pid}/cmdline").read_bytes():
            assert tied.runs()
        program.kill()
    while tied.runs():
        pass


def test_only_what_carries_a_mark_is_found_by_it_and_what_that_started() -> None:
    inner = f"import subprocess; subprocess.run([{sys.executable!r}, '-c', 'print(1, flush=True); input()'], env={{}})"
    with subprocess.Popen(
        [sys.executable, "-c", inner], env={"A_MARK": "7"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as marked:
        assert marked.stdout
        marked.stdout.readline()
        found = processes.find_marked("A_MARK=7")
        assert marked.pid in found
        assert len(found) == 2
        assert processes.find_marked("A_MARK=none") == set()
        assert marked.stdin
        marked.stdin.write(b"\n")
