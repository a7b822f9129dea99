"""tools/local/: how openjd is run on this machine, told of a stop, and shown."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from local import local_job
from local.local_job import Machine
from local.openjd_log import printable, readable


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
    status = local_job.show([sys.executable, "-c", program, str(sent)], os.environ, log, verbose=False)
    thread.join()
    assert status == 130
    assert "told 2 time(s)" in capsys.readouterr().err


def test_text_cannot_act_on_the_terminal() -> None:
    assert printable("a\x1b]0;title\x07b\u202ec\r\n".encode()) == r"a\x1b]0;title\x07b\u202ec"


@pytest.mark.parametrize("below", ["", "/folder"])
def test_a_file_in_the_place_of_the_results_is_told_in_a_sentence(below: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    machine = Machine("run-cpu", Path(sys.executable))
    with pytest.raises(local_job.LocalJobError, match=r"file.* cannot be the folder of the results: (File|Not a dir)"):
        machine.run({"OutputDir": f"{tmp_path}/file{below}"}, verbose=False)


@pytest.mark.parametrize(
    ("kind", "model", "given", "chosen"),
    [
        ("run-cpu", None, {}, {"VllmArgs": local_job.CPU_VLLM_ARGS, "ModelName": "small"}),
        ("run-cpu", "org/model", {"VllmArgs": "-q"}, {"ModelName": "org/model"}),
        ("run-gpu", None, {}, {}),
        ("run-cpu", None, {"ServerUrl": "http://127.0.0.1:1"}, {}),
    ],
    ids=["no GPU", "given", "GPU", "another server"],
)
def test_the_model_is_what_suits_the_machine(
    kind: str, model: str | None, given: dict[str, str], chosen: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_job.setup_env, "model", lambda _: Path("small"))
    assert Machine(kind, Path(sys.executable)).choose_model(model, given) == chosen
