"""run_local: what it asks openjd for, what it refuses, and what it shows."""

from __future__ import annotations

import argparse
import gzip
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import run_local
import setup_env
from job.moment import read_moment
from local.openjd_log import printable, readable


@pytest.mark.parametrize(
    ("content", "lines"),
    [(b"", 0), (b"{}", 1), (b"{}\n", 1), (b"{}\r\n{}", 2), (b"\n\n\n", 3), (b"a\xe2\x80\xa8b\n", 1)],
    ids=["empty", "no line break", "one", "crlf", "blank lines", "unicode separator"],
)
def test_lines_are_counted_as_physical_lines(tmp_path: Path, content: bytes, lines: int) -> None:
    plain, packed = tmp_path / "rows.jsonl", tmp_path / "rows.jsonl.gz"
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    assert run_local.count_lines(plain) == run_local.count_lines(packed) == lines


def test_by_default_every_row_of_the_sample_is_asked_for() -> None:
    assert run_local.input_parameters(None, None, {}) == {"InputFile": str(run_local.SAMPLE), "Prompts": "1-24"}


@pytest.mark.parametrize(
    ("prompts", "given", "chosen"),
    [
        ("2,5,8-9", {}, "2,5,8-9"),
        (None, {"Prompts": "1-10:2"}, None),
        (None, {"BlockSize": "10"}, "1-3"),
    ],
    ids=["argument", "parameter", "blocks"],
)
def test_the_range_is_what_was_asked_for(prompts: str | None, given: dict[str, str], chosen: str | None) -> None:
    assert run_local.input_parameters(None, prompts, given).get("Prompts") == chosen


def test_a_missing_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(run_local.RunError, match=r"There is no file .*/none\.jsonl.*--input"):
        run_local.input_parameters(tmp_path / "none.jsonl", None, {})


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(run_local.RunError, match=r"empty\.jsonl is empty"):
        run_local.input_parameters(tmp_path / "empty.jsonl", None, {})


def test_an_input_url_needs_its_range() -> None:
    with pytest.raises(run_local.RunError, match="--prompts"):
        run_local.input_parameters(None, None, {"InputUrl": "http://127.0.0.1/rows.jsonl"})


def test_the_job_s_python_is_the_environment_s() -> None:
    variables = run_local.environment(Path("/env/bin/python"), "run-cpu", {"ModelName": "/models/small"})
    assert variables["PATH"].startswith("/env/bin:")
    assert variables["HF_HUB_OFFLINE"] == "1"


def test_openjd_s_frame_is_left_out_and_what_programs_say_is_shown() -> None:
    log = [
        "0:00:00.000113\tOpen Job Description CLI: Session start 2026-11-29T17:26:07.472717+00:00",
        "0:00:00.000329\tOpen Job Description CLI: Running step 'Infer'",
        "0:00:00.000720\t==============================================",
        "0:00:00.118786\t--------- Running Task",
        "0:00:00.118967\tParameter values:",
        "0:00:00.119003\tValues(CHUNK[INT]) = 1-4",
        "0:00:00.123355\tRunning command /tmp/OpenJD/4oo3xh3b/tmp3uqg47pt.sh",
        "0:00:01.100310\t| 12 s, vllm: loading weights",
        "0:00:01.109997\ta program's line",
        "0:00:01.110168\topenjd_progress: 40",
        "0:00:01.110304\topenjd_status: 2/5 rows",
        "--- Results of local session ---",
    ]
    assert list(readable(log)) == [
        " 0:00:00  Running step 'Infer'",
        " 0:00:00  Chunk 1-4",
        "          a program's line",
        " 0:00:01  2/5 rows",
    ]


def test_a_refused_job_shows_its_reason_and_not_openjd_s_usage() -> None:
    log = ["ERROR generating Job: ChunkSize must be at most 150", "", "usage: openjd run TEMPLATE", "  --output FORMAT"]
    assert list(readable(log)) == log[:1]


def test_cancelling_tells_openjd_once_and_shows_how_it_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = (
        "import pathlib, signal, sys, time\n"
        "told = []\n"
        "signal.signal(signal.SIGINT, lambda *_: told.append(1))\n"
        "print('0:00:00.1\\tready', flush=True)\n"
        "while not told: time.sleep(0.01)\n"
        "print('0:00:00.2\\theard', flush=True)\n"
        "while not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)\n"
        "time.sleep(0.2)  # for a second signal, if it were passed on\n"
        "print('0:00:00.3\\ttold', len(told), 'time(s)', flush=True)\n"
    )
    log, sent = tmp_path / "openjd.log", tmp_path / "sent"

    def cancel_twice() -> None:
        for number, after in ((signal.SIGTERM, b"ready"), (signal.SIGINT, b"heard")):
            while after not in log.read_bytes():
                time.sleep(0.01)
            signal.pthread_kill(threading.main_thread().ident or 0, number)
        sent.touch()

    log.touch()
    thread = threading.Thread(target=cancel_twice)
    thread.start()
    status = run_local.show([sys.executable, "-c", program, str(sent)], os.environ, log, verbose=False)
    thread.join()
    assert status == 130
    assert "told 1 time(s)" in capsys.readouterr().err


def test_text_cannot_act_on_the_terminal() -> None:
    assert printable("a\x1b]0;title\x07b\u202ec\r\n".encode()) == r"a\x1b]0;title\x07b\u202ec"


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl.gz", b"{}\n{}\n{}"), ("a.jsonl", gzip.compress(b"{}\n{}\n{}\n"))]
)
def test_lines_are_counted_by_what_the_file_holds_and_not_by_its_name(
    name: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert run_local.count_lines(tmp_path / name) == 3


@pytest.mark.parametrize("argument", ["ChunkSize", "=5", "a b=5"])
def test_a_parameter_that_is_not_name_and_value_is_refused(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_local.main(["-p", argument])
    assert "NAME=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "more", "told"),
    [
        ("a.jsonl", b"{}", ["-p", "BlockSize=abc"], "BlockSize must be a whole number of at least 1, got 'abc'"),
        ("a.jsonl", b"{}", ["-p", "BlockSize=0"], "BlockSize must be a whole number of at least 1, got '0'"),
        ("a.jsonl.gz", gzip.compress(b"{}")[:-5], [], "a.jsonl.gz cannot be read: "),
    ],
)
def test_what_cannot_be_counted_is_told_in_a_sentence(
    name: str, content: bytes, more: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert run_local.main(["--input", str(tmp_path / name), "--output-dir", str(tmp_path / "out"), *more]) == 1
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("below", ["", "/folder"])
def test_a_file_in_the_place_of_the_results_is_told_in_a_sentence(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_env, "environment", lambda _: Path(sys.executable))
    monkeypatch.setattr(setup_env, "model", lambda _: tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(run_local.RunError, match=r"file.* cannot be the folder of the results: (File|Not a dir)"):
        run_local.run(output_dir=Path(f"{tmp_path}/file{below}"))


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 7200), ("90m", 5400), ("1h30m", 5400), ("1d", 86400), ("45s", 45)]
)
def test_a_job_may_be_given_so_much_time(text: str, seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_local, "time", SimpleNamespace(time=lambda: 1_800_000_000.5))
    name, moment = run_local.stop_within(text)
    assert (name, read_moment(moment)) == ("StopAt", 1_800_000_000 + seconds)


@pytest.mark.parametrize("text", ["", "0h", "soon", "2 hours", "-1h", "2"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="such as 2h"):
        run_local.stop_within(text)
