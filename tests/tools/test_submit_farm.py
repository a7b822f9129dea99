"""tools/submit.py on a farm on loopback, with the real `deadline`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.fake_server import MODEL, FakeServer, Fault
from support.farm import Farm, Session
from support.submitting import rows_file

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    with Farm(tmp_path_factory.mktemp("farm")) as started:
        yield started


def run_submit(farm: Farm, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**farm.environment, "VLLM_BATCH_CACHE": str(folder / "cache")}
    command = [sys.executable, "-B", str(ROOT / "tools" / "submit.py"), *arguments]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=900
    )


@pytest.mark.farm
def test_a_second_job_into_one_folder_completes_the_first(farm: Farm, tmp_path: Path) -> None:
    rows_file(tmp_path, 20)
    farm.deadline("config", "set", "settings.allow_bundle_hooks", "true")
    with FakeServer() as server:
        common = ["prompts.jsonl", "--output-dir", "out", "-p", f"ServerUrl={server.url}", "-p", f"ModelName={MODEL}"]
        first = run_submit(farm, tmp_path, *common, "--prompts", "1-5")
        assert first.returncode == 0, first.stderr
        assert "[pre-submission hook 1] prompts.jsonl: 5 of 5 rows are fine" in first.stderr
        second = run_submit(farm, tmp_path, *common, "--prompts", "6-20", "--no-wait")
        again = run_submit(farm, tmp_path, "--resume", farm.job_in(second.stderr).id)
    assert again.returncode == 0, again.stderr
    output = tmp_path / "out" / "output"
    assert again.stdout.strip() == str(output / "results.html")
    found = [json.loads(line) for line in (output / "output.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in found] == list(range(1, 21))
    assert all(row["generated_text"] == f"echo: {row['prompt']}" for row in found)
    assert not [path.name for path in output.iterdir() if "(1)" in path.name]
    summary = json.loads((output / "summary.json").read_text(encoding="utf-8"))
    assert summary["requested"] == 20
    jobs = [farm.job_in(said) for said in (first.stderr, second.stderr)]
    assert sorted(summary["cost"]["service"]["jobs"]) == sorted(job.id for job in jobs)
    assert_cost_is_that_of(summary["cost"], [session for job in jobs for session in farm.sessions(job)])
    page = (output / "results.html").read_text(encoding="utf-8")
    assert f'"runtime_seconds": {summary["cost"]["service"]["runtime_seconds"]}' in page


def assert_cost_is_that_of(cost: dict[str, Any], sessions: Sequence[Session]) -> None:
    """Hold what the shards tell, and what the service told, to the sessions that there were."""
    paid, told = sum(session.seconds for session in sessions), cost["service"]
    assert told["runtime_seconds"] == pytest.approx(paid, abs=0.01)
    assert told["dollars"] == pytest.approx(paid / 3600, abs=1e-4)  # a dollar an hour, at this farm
    assert cost["price_per_hour"] == pytest.approx(1, abs=0.1)
    infer = [session for session in sessions if session.step.name == "Infer"]
    assert (cost["sessions"], cost["untold_sessions"]) == (len(infer), 0)
    assert 0 < cost["answering_seconds"] <= cost["worker_seconds"]
    assert cost["worker_seconds"] + cost["in_vain_seconds"] <= sum(session.seconds for session in infer)


@pytest.mark.farm
def test_ctrl_c_leaves_the_job_and_one_that_was_stopped_since_has_a_page(farm: Farm, tmp_path: Path) -> None:
    rows_file(tmp_path, 10)
    go = threading.Event()
    held = lambda asked: Fault(until=go.is_set) if asked.text == "Number 8?" else None  # noqa: E731
    environment = {**farm.environment, "VLLM_BATCH_CACHE": str(tmp_path / "cache")}
    with FakeServer(held) as server:
        command = [sys.executable, "-B", str(ROOT / "tools" / "submit.py"), "prompts.jsonl", "--output-dir", "out"]
        command += ["-p", f"ServerUrl={server.url}", "-p", f"ModelName={MODEL}", "-p", "ChunkSize=5"]
        with subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr
            lines = iter(running.stderr.readline, "")
            job = farm.job_in(next(line for line in lines if line.startswith("submitted ")))
            running.send_signal(signal.SIGINT)
            rest = "".join(lines)
        assert running.returncode == 130
        assert f"--resume {job.id}" in rest
        assert not job.canceled
        farm.wait_until(lambda: server.asked["Number 8?"] == 1 and job.counts["SUCCEEDED"] == 1, "one chunk is done")
        farm.cancel(job)
        told = "canceled: nothing more is sent"  # from then on the task cannot end whole
        farm.wait_until(lambda: told in farm.log(farm.sessions(job)[-1]), "the task knows that it is canceled")
        go.set()
        stopped = run_submit(farm, tmp_path, "--resume", job.id)
    output = tmp_path / "out" / "output"
    assert (stopped.returncode, stopped.stdout.strip()) == (1, str(output / "results.html")), stopped.stderr
    summary = json.loads((output / "summary.json").read_text(encoding="utf-8"))
    assert (summary["succeeded"], summary["missing"], summary["rerun"]) == (5, 5, "6-10")


@pytest.mark.farm
def test_a_job_that_is_followed_shows_its_first_task_while_the_second_is_held(farm: Farm, tmp_path: Path) -> None:
    rows_file(tmp_path, 10)
    go = threading.Event()
    held = lambda asked: Fault(until=go.is_set) if asked.text == "Number 8?" else None  # noqa: E731
    environment = {**farm.environment, "VLLM_BATCH_CACHE": str(tmp_path / "cache")}
    with FakeServer(held) as server:
        command = [sys.executable, "-B", str(ROOT / "tools" / "submit.py"), "prompts.jsonl", "--output-dir", "out"]
        command += ["--follow", "-p", f"ServerUrl={server.url}", "-p", f"ModelName={MODEL}", "-p", "ChunkSize=5"]
        running = subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert running.stderr
        said = ""
        for line in running.stderr:
            said += line
            if "so far" in line:
                break
        summary = json.loads((tmp_path / "out" / "output" / "summary.json").read_text(encoding="utf-8"))
        go.set()
        said += running.communicate()[1]
    assert running.returncode == 0, said
    assert "line 1: echo: Number 1?" in said
    assert (summary["succeeded"], summary["missing"]) == (5, 5)
    assert "1 of 3 tasks done" in summary["unfinished"]
    ended = json.loads((tmp_path / "out" / "output" / "summary.json").read_text(encoding="utf-8"))
    assert ended["succeeded"] == 10
    assert "unfinished" not in ended


@pytest.mark.farm
def test_a_trial_and_the_rest_end_in_one_folder_and_a_mended_line_is_asked_alone(farm: Farm, tmp_path: Path) -> None:
    file = rows_file(tmp_path, 8)
    with FakeServer() as server:
        common = ["prompts.jsonl", "--output-dir", "out", "-p", f"ServerUrl={server.url}", "-p", f"ModelName={MODEL}"]
        first = run_submit(farm, tmp_path, *common, "--trial", "2", "--yes")
        assert first.returncode == 0, first.stderr
        assert "line 5: echo: Number 5?" in first.stderr
        assert all(server.asked[f"Number {n}?"] == 1 for n in range(1, 9))
        file.write_text(file.read_text(encoding="utf-8").replace("Number 3?", "Mended?"), encoding="utf-8")
        second = run_submit(farm, tmp_path, *common)
    assert second.returncode == 0, second.stderr
    assert "7 of 8 lines have an answer to this same question; 1 is asked" in second.stderr
    assert all(server.asked[f"Number {n}?"] == 1 for n in range(1, 9))
    found = (tmp_path / "out" / "output" / "output.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["generated_text"] for line in found]
    assert texts == [f"echo: {'Mended' if n == 3 else f'Number {n}'}?" for n in range(1, 9)]
