"""tools/check.py as a command: what it takes and refuses, its exit status, its memory, and a terminal's safety."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import check
from support.checking import FINE, ROOT, file_of, found_in


def test_the_first_problems_of_a_kind_are_shown_and_with_all_every_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, FINE, *[f'{{"n": {n}, "prompt": {n}}}' for n in range(20)])
    check.main([path])
    assert "and 15 more" in capsys.readouterr().out
    check.main([path, "--all"])
    every = capsys.readouterr().out
    assert all(f"prompts.jsonl:{line}: " in every for line in range(2, 22))
    assert len(found_in(capsys, path, "--all")[1]["examples"]) == 20


def test_parameters_may_be_given_as_a_submission_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of(tmp_path, FINE)
    command = "--max-tokens=64", "-p", "MaxTokens=9", "-p", "Temperature=0", "-p", "MaxConcurrency=4"
    status, found = found_in(capsys, path, *command)
    assert (status, found["estimate"]["answer_tokens"]) == (0, 64)
    assert "-p MaxTokens=64 -p Temperature=0" in found["trial"][1]
    assert "MaxConcurrency" not in found["trial"][1]
    with pytest.raises(SystemExit):
        check.main([path, "-p", "MaxToken=64"])
    assert "the template has no parameter 'MaxToken'" in capsys.readouterr().err


def test_a_row_cannot_colour_the_terminal_or_forge_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check.main([file_of(tmp_path, '{"prompt": "x", "temperature": "\\u001b[31m\\nnote: all is well"}')])
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\nnote: all is well" not in text


@pytest.mark.parametrize("tool", ["check.py", "make_rows.py", "hook.py", "submit.py"])
def test_the_tools_need_nothing_but_python(tool: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, FINE)
    arguments = {"check.py": [path], "make_rows.py": [path], "hook.py": [], "submit.py": ["--help"]}[tool]
    submission = json.dumps({"jobName": "", "jobBundleDir": str(ROOT), "parameters": {"InputFile": path}})
    command = [sys.executable, "-S", "-B", str(ROOT / "tools" / tool), *arguments]  # -S: no installed packages
    done = subprocess.run(command, input=submission, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["/nowhere.jsonl"], "does not exist"),
        (["FILE", "--sampling-params", "[]"], "SamplingParams"),
        (["FILE", "--prompts", "5-1"], "5-1"),
        (["FILE", "--max-tokens", "many"], "MaxTokens"),
        (["FILE", "--temperature", "-2"], "Temperature"),
        (["FILE", "--temperature", "nan"], "Temperature"),
        (["FILE", "--block-size", "0"], "BlockSize"),
        (["FILE", "--chunk-size", "151"], "ChunkSize must be at most 150"),
        (["FILE", "--endpoint", "/sleep"], "Endpoint must be one of"),
        (["FILE", "--server-url", "ftp://x"], "ServerUrl must begin with http"),
        (["CSV"], "no line that begins a JSON object"),
        (["FILE", "--prompts", "1-99999999999999999999"], "line numbers end at"),
        (["FILE", "--max-tokens", "9" * 5_000], "at most 9 digits"),
        (["FILE", "--summary", "FILE"], "prompts.jsonl is not JSON (Extra data"),
    ],
)
def test_what_cannot_be_used_at_all_ends_with_2(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("id,text\n1,a\n", encoding="utf-8")
    files = {"FILE": file_of(tmp_path, FINE, FINE), "CSV": str(table)}
    status, found = found_in(capsys, *[files.get(each, each) for each in arguments])
    assert status == 2
    assert told in found["error"]


def test_a_file_of_which_no_row_could_succeed_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found_in(capsys, file_of(tmp_path, "broken", "", "[]"))[0] == 2


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f'{{"id": {n}, "prompt": "{"x" * 400}"}}\n' for n in range(40_000))  # 17 MB
    program = "import sys, check; check.main(sys.argv[1:]); print(open('/proc/self/status').read(), file=sys.stderr)"
    command = [sys.executable, "-B", "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "tools")
    peak = int(done.stderr.partition("VmHWM:")[2].split()[0]) * 1024
    assert peak < 60e6  # a start of about 40 MB, and 16 bytes a line


@pytest.mark.parametrize("option", ["--tokens-per-second", "--price-per-hour", "--workers"])
@pytest.mark.parametrize("value", ["0", "-5", "nan", "inf", "x", "9" * 400], ids=lambda value: value[:9])
def test_a_rate_or_price_that_is_none_is_refused(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        check.main([file_of(tmp_path, FINE), f"{option}={value}"])
    kind = "whole number" if option == "--workers" else "number"
    assert f"{value!r} is no {kind} above 0" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-B", str(ROOT / "tools/check.py"), file_of(tmp_path, *["x"] * 9_000), "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as checking:
        assert checking.stdout is not None
        assert checking.stderr is not None
        checking.stdout.readline()
        checking.stdout.close()
        assert checking.stderr.read() == b""


def test_a_locale_that_lacks_a_row_s_letters_costs_no_word(tmp_path: Path) -> None:
    path = tmp_path / "Größe.jsonl"
    path.write_text('{"prompt": "x", "model": "模型"}\n', encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-B", str(ROOT / "tools" / "check.py"), str(path)]
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"1 looked at, 1 fine" in done.stdout
