"""tools/local/: how openjd is run on this machine, told of a stop, and shown."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import batch_api
from batches import starting
from local import local_job
from local.interrupts import Interrupts
from local.local_job import Machine
from local.openjd_log import Course, Said, printable, readable

CPU = " ".join(local_job.CPU_VLLM_ARGS)


def test_the_job_s_python_is_the_environment_s() -> None:
    machine = Machine("run-cpu", Path("/env/bin/python"))
    variables = machine.environment({"ModelName": "/models/small"})
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
        "0:00:01.109997\t| a program's line",
        "0:00:01.110168\topenjd_progress: 40",
        "0:00:01.110304\topenjd_status: m is ready",
        "--- Results of local session ---",
    ]
    assert list(readable(log, Course(9))) == [
        Said(" 0:00:00  Running step 'Infer'"),
        Said(" 0:00:00  Chunk 1-4"),
        Said("          a program's line"),
        Said(" 0:00:01  m is ready", passes=True),
    ]


def test_two_lines_that_openjd_wrote_as_one_are_both_read() -> None:
    ours, frame = "0:00:10.869349\t| canceled: kept", "10:00:07.869505\tOpen Job Description CLI: Session ended"
    for log in ([ours + frame, ""], [frame + ours, ""]):
        assert Said("          canceled: kept") in readable(log, Course(1))


def test_progress_is_that_of_the_whole_job_with_the_time_that_is_left() -> None:
    log = [
        "0:01:40.0\tValues(CHUNK[INT]) = 1-5",
        "0:01:50.0\topenjd_status: 2/5 rows, 1 failed, 30 tokens/s",
        "0:02:00.0\topenjd_status: 5/5 rows, 1 failed, 31 tokens/s",
        "0:02:00.1\tValues(CHUNK[INT]) = 6-8",
        "0:02:08.0\topenjd_status: 2/3 rows, 1 failed, 32 tokens/s",
        "0:02:10.0\topenjd_status: 3/3 rows, 1 failed, 32 tokens/s",
    ]
    course = Course(8)
    told = [said.text.partition("  ")[2] for said in readable(log, course) if said.passes]
    assert told == [
        "2/8 rows, 1 failed, 30 tokens/s, about 30 s left",
        "5/8 rows, 1 failed, 31 tokens/s, about 12 s left",
        "7/8 rows, 2 failed, 32 tokens/s, about 4 s left",
        "8/8 rows, 2 failed, 32 tokens/s",
    ]
    assert course.done == 8


def test_names_of_files_and_advice_for_a_farm_are_left_to_the_log() -> None:
    log = [
        "0:00:01.0\t| lines-000000001-000000005.in-2b13670b72b7.20261202T195357Z-13c9a2a5.jsonl: 5 rows, 0 failed",
        "0:00:01.0\t| to run the failed lines again into the same OutputDir: Prompts=3 (with BlockSize=1)",
        "0:00:01.0\t| results: /tmp/out/results.html",
    ]
    assert list(readable(log, Course(5))) == []


def test_a_stop_shows_what_is_kept_and_nothing_of_openjd_s_own_way() -> None:
    log = [
        "0:00:52.9\tInterruption signal recieved.",
        "0:00:53.0\tOpen Job Description CLI: Cancelling the session...",
        "0:00:53.0\tCanceling subprocess 16334 via notify then terminate method at 2026-12-03T13:43:16Z.",
        "0:00:53.0\tGrace period ends at 2026-12-03T13:45:16Z",
        '0:00:53.0\tINTERRUPT: Sending signal "term" to process 16334',
        "0:00:53.1\t| canceled: nothing more is sent, what arrives within 110 s is kept",
        "0:00:56.0\t| ended with 26 of 60 rows done; they are kept",
        "0:00:56.0\topenjd_fail: ended with 26 of 60 rows done; they are kept",
        "0:00:56.0\tProcess pid 16334 exited with code: 143 (unsigned) / 0x8f (hex)",
        "0:00:58.0\tOpen Job Description CLI: ERROR executing action: 'Run Step 'Infer'' (see Task logs for details)",
    ]
    assert [said.text.strip() for said in readable(log, Course(60))] == [
        "canceled: nothing more is sent, what arrives within 110 s is kept",
        "ended with 26 of 60 rows done; they are kept",
    ]
    assert len(list(readable(log[-4:], Course(60)))) == 4  # of a job that failed by itself they are shown


def test_a_refused_job_shows_its_reason_and_not_openjd_s_usage() -> None:
    log = ["ERROR generating Job: ChunkSize must be at most 150", "", "usage: openjd run TEMPLATE", "  --output FORMAT"]
    assert [said.text for said in readable(log, Course(1))] == log[:1]


def test_two_of_three_signals_reach_openjd_and_how_it_ends_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (
        "import pathlib, signal, sys, time\n"
        "told = []\n"
        "signal.signal(signal.SIGINT, lambda *_: told.append(1))\n"
        "print('0:00:00.1\\tready', flush=True)\n"
        "while not told: time.sleep(0.01)\n"
        "print('0:00:00.2\\theard', flush=True)\n"
        "while len(told) < 2: time.sleep(0.01)\n"
        "print('0:00:00.2\\tagain', flush=True)\n"
        "while not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)\n"
        "time.sleep(0.2)  # for a third signal, if it were passed on\n"
        "print('0:00:00.3\\ttold', len(told), 'time(s)', flush=True)\n"
    )
    log, sent = tmp_path / "openjd.log", tmp_path / "sent"

    def cancel_thrice() -> None:
        for number, after in ((signal.SIGTERM, b"ready"), (signal.SIGINT, b"heard"), (signal.SIGINT, b"again")):
            while after not in log.read_bytes():
                time.sleep(0.01)
            signal.pthread_kill(threading.main_thread().ident or 0, number)
        sent.touch()

    log.touch()
    thread = threading.Thread(target=cancel_thrice)
    thread.start()
    display = local_job.Display(Course(1), "", None)
    status = local_job.show([sys.executable, "-c", program, str(sent)], os.environ, log, display)
    thread.join()
    assert status == 130
    assert "told 2 time(s)" in capsys.readouterr().err


def test_a_second_signal_waits_until_openjd_has_handled_the_first() -> None:
    """Its handler takes a lock, so that one that interrupts another would wait for ever."""
    program = (
        "import signal, time\n"
        "busy, heard = [], []\n"
        "def handle(*_):\n"
        "    print('within the first' if busy else 'alone', flush=True)\n"
        "    busy.append(1)\n"
        "    time.sleep(0.3)\n"
        "    busy.pop()\n"
        "    heard.append(1)\n"
        "signal.signal(signal.SIGINT, handle)\n"
        "print('ready', flush=True)\n"
        "while len(heard) < 2: time.sleep(0.01)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as openjd:
        assert openjd.stdout
        assert openjd.stdout.readline() == b"ready\n"
        interrupts = Interrupts(openjd)
        interrupts.send()
        interrupts.send()
        assert openjd.stdout.read() == b"alone\nalone\n"


def test_text_cannot_act_on_the_terminal() -> None:
    assert printable("a\x1b]0;title\x07b\u202ec\r\n".encode()) == r"a\x1b]0;title\x07b\u202ec"


@pytest.mark.parametrize("below", ["", "/folder"])
def test_a_file_in_the_place_of_the_results_is_told_in_a_sentence(below: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    machine = Machine("run-cpu", Path(sys.executable))
    with pytest.raises(local_job.LocalJobError, match=r"file.* cannot be the folder of the results: (File|Not a dir)"):
        machine.run({"OutputDir": f"{tmp_path}/file{below}"}, 1, verbose=False)


@pytest.mark.parametrize(
    ("kind", "model", "given", "chosen"),
    [
        ("run-cpu", None, {}, {"VllmArgs": CPU, "ModelName": "small"}),
        ("run-cpu", "org/model", {"VllmArgs": "-q"}, {"VllmArgs": f"{CPU} -q", "ModelName": "org/model"}),
        ("run-cpu", "org/model", {"ModelName": "own"}, {"VllmArgs": CPU}),
        ("run-gpu", None, {}, {}),
        ("run-cpu", None, {"ServerUrl": "http://127.0.0.1:1"}, {}),
    ],
    ids=["no GPU", "given", "both given", "GPU", "another server"],
)
def test_the_model_is_what_suits_the_machine(
    kind: str, model: str | None, given: dict[str, str], chosen: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_job.setup_env, "model", lambda _: Path("small"))
    assert Machine(kind, Path(sys.executable)).choose_model(model, given) == chosen


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        ("", CPU),
        ("--max-num-seqs 8", f"{CPU} --max-num-seqs 8"),
        ("--dtype=bfloat16", "--enforce-eager --dtype=bfloat16"),
        ("--no-enforce-eager", "--dtype float32 --no-enforce-eager"),
        (f"{CPU} --max-num-seqs 8", f"{CPU} --max-num-seqs 8"),
    ],
    ids=["none", "more", "another type", "compiled", "all, as a page's command says"],
)
def test_a_person_s_arguments_join_those_that_a_cpu_wants(given: str, whole: str) -> None:
    assert local_job.add_cpu_arguments(given) == whole


def test_the_batch_apis_of_this_machine_keep_what_a_cpu_wants_beside_their_own_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting.Machine, "prepare", lambda: Machine("run-cpu", Path(sys.executable)))
    typed = ["--data-dir", str(tmp_path / "data"), "-p", "VllmArgs=--max-num-seqs 8", "-p", "ModelName=m"]
    core = starting.make_core_for(batch_api.build_parser().parse_args(typed), None)
    assert core.settings.parameters["VllmArgs"] == f"{CPU} --max-num-seqs 8"
    assert core.settings.parameters["ModelName"] == "m"
