"""On a terminal lines fit eighty columns, commands can still be copied, and a bar stands at the foot."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import terminal
from submission.ending import Ending
from submission.request import Request
from support.fake_server import MODEL, FakeServer
from support.local_machine import argv, variables
from support.submitting import rows_file

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_a_long_line_is_folded_between_words_and_set_in() -> None:
    line = "note: " + "word " * 30 + "/a/path/that/is/" + "very/" * 20 + "long"
    folded = terminal.fold(line).split("\n")
    assert " ".join(part.strip() for part in folded) == line
    assert all(len(part) <= terminal.WIDTH for part in folded[:-1])
    assert folded[1].startswith("  word")
    assert folded[-1].strip().startswith("/a/path")


@pytest.mark.parametrize("word", ["x", "it's", '{"a": 1}', "", "-p"])
def test_a_folded_command_is_still_the_same_command(word: str) -> None:
    words = ["python3", "tools/run_local.py", "--input", "a file.jsonl", "-v", "-p", word, *["-p", f"Name={word}"] * 9]
    folded = terminal.fold_command(shlex.join(words))
    assert shlex.split(folded.replace("\\\n", "")) == words  # as a shell joins them
    assert all(len(line) <= terminal.WIDTH for line in folded.split("\n"))


def run_on_a_terminal(command: list[str]) -> str:
    """Return what a terminal of eighty columns receives of a command."""
    ours, theirs = pty.openpty()
    environment = {**variables(), "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    with subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert running.returncode == 0, said.decode()
    return said.decode()


def test_a_job_on_a_terminal_shows_a_bar_first_answers_and_what_is_next(tmp_path: Path) -> None:
    with FakeServer() as server:
        typed = ["--input", str(rows_file(tmp_path, 5)), "--output-dir", str(tmp_path / "out")]
        said = run_on_a_terminal(argv(*typed, "-p", f"ServerUrl={server.url}", "-p", f"ModelName={MODEL}"))
    assert "5/5 rows, 0 failed" in said
    assert "\x1b[" in said  # the bar moves the cursor
    shown = [part for line in CONTROL.sub("", said).split("\n") for part in line.split("\r")]
    assert [line for line in shown if len(line) > terminal.WIDTH and str(tmp_path) not in line] == []
    for line in (1, 2, 3):
        assert f"line {line}: echo: Number {line}?" in said
    assert "line 4" not in said
    assert "For a table of the answers:" in said
    assert "tools/to_table.py" in said
    assert said.split()[-1] == str(tmp_path / "out" / "output" / "results.html")


def test_failed_lines_end_with_the_command_that_asks_them_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "out" / "output"
    output.mkdir(parents=True)
    (output / "results.html").touch()
    counts = {"requested": 9, "succeeded": 7, "failed": 2, "errors": {"timeout": 2}}
    (output / "summary.json").write_text(json.dumps(counts))
    request = Request({"OutputDir": str(tmp_path / "out")})
    assert Ending("python3 tools/submit.py a.jsonl").tell(request)
    told = capsys.readouterr()
    assert "2 of 9 lines failed; the page says why. To ask them again: python3 tools/submit.py a.jsonl" in told.err
    assert "python3 tools/to_table.py out -o answers." in told.err
    assert told.out.strip() == str(output / "results.html")
    assert Ending(has_table=True).tell(request)
    assert "tools/" not in capsys.readouterr().err


def test_failed_lines_that_would_fail_again_are_to_be_mended_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out" / "output"
    output.mkdir(parents=True)
    counts = {"requested": 9, "succeeded": 7, "failed": 2, "errors": {"invalid_request": 1, "too_long": 1}}
    (output / "summary.json").write_text(json.dumps(counts))
    assert Ending("python3 tools/submit.py a.jsonl").tell(Request({"OutputDir": str(tmp_path / "out")}))
    assert "the page says why. Mend them, then ask them again: python3 tools/submit.py" in capsys.readouterr().err
