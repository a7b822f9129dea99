"""The whole template through `openjd run` and tools/run_local.py, with real vLLM on the CPU and a real small model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import setup_env
from engine.note import load_note

pytestmark = pytest.mark.vllm
ROOT = Path(__file__).resolve().parents[2]
RUN_BIN = Path(os.environ["VLLM_BATCH_RUN_PYTHON"]).parent
MODEL = os.environ["VLLM_BATCH_MODEL"]
SAMPLE = (ROOT / "sample_prompts.jsonl").read_bytes().splitlines()
TOKEN = "hf_secretTokenOfTheTest0123456789"
ROWS = 24
FAST = "--dtype float32 --enforce-eager"  # loads without compiling, which takes minutes on a CPU


@dataclass
class Job:
    """One `openjd run` of the template, watched while it runs."""

    folder: Path
    parameters: dict[str, str]
    marker: str = field(default_factory=lambda: uuid.uuid4().hex)
    log: str = ""  # openjd's
    said: str = ""
    status: int = -1
    command_lines: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Run the job to its end, looking at its processes twice a second."""
        with (self.folder / "said").open("wb") as said:
            process = subprocess.Popen(
                self.command(), cwd=self.folder, env=self.environment(), stdout=said, stderr=subprocess.STDOUT
            )
            while process.poll() is None:
                self._look()
                time.sleep(0.5)
        self.status = process.returncode
        self.log = self.said = (self.folder / "said").read_text(encoding="utf-8", errors="replace")

    def command(self) -> list[str]:
        """Return what runs the job: openjd, as on a worker."""
        own = {"OutputDir": str(self.folder / "results"), "ModelName": MODEL, "MaxModelLen": "2048"}
        file = self.folder / "parameters.json"
        file.write_text(json.dumps(own | self.parameters), encoding="utf-8")
        return [str(RUN_BIN / "openjd"), "run", str(ROOT / "template.yaml"), "-p", f"file://{file}"]

    def environment(self) -> dict[str, str]:
        """Return the variables of a bare worker: the run environment first on PATH, a temporary folder of its own."""
        ours = {"PATH": f"{RUN_BIN}:{os.environ['PATH']}", "TMPDIR": str(self.folder / "t"), "TEST_MARKER": self.marker}
        (self.folder / "t").mkdir(exist_ok=True)
        vllm = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
        return {**os.environ, **vllm, **ours}

    def _look(self) -> None:
        for pid in self.processes():
            try:
                self.command_lines.add(Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace"))
                variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            found = [value for value in variables if value.startswith(b"VLLM_API_KEY=")]
            self.keys |= {value.decode().partition("=")[2] for value in found}

    def processes(self) -> list[int]:
        """Return the processes that carry this job's mark."""
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self._is_ours(entry)]

    def _is_ours(self, entry: Path) -> bool:
        try:
            return self.marker.encode() in (entry / "environ").read_bytes()
        except OSError:
            return False

    @property
    def output(self) -> Path:
        """The folder that the job wrote."""
        return self.folder / "results" / "output"

    def rows(self) -> list[dict[str, Any]]:
        """Return output.jsonl, parsed."""
        return [json.loads(line) for line in (self.output / "output.jsonl").read_bytes().splitlines()]

    def summary(self) -> dict[str, Any]:
        """Return summary.json."""
        value: dict[str, Any] = json.loads((self.output / "summary.json").read_bytes())
        return value


@dataclass
class LocalJob(Job):
    """The job as `python3 tools/run_local.py` runs it for somebody without a GPU."""

    def command(self) -> list[str]:
        given = [part for name, value in self.parameters.items() for part in ("-p", f"{name}={value}")]
        return [sys.executable, str(ROOT / "tools" / "run_local.py"), *given]

    def environment(self) -> dict[str, str]:
        no_gpu = self.folder / "no_gpu"
        no_gpu.mkdir()
        (no_gpu / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
        (no_gpu / "nvidia-smi").chmod(0o755)
        return {**super().environment(), "PATH": f"{no_gpu}:{os.environ['PATH']}"}

    def run(self) -> None:
        super().run()
        self.log = (self.folder / "results" / "openjd.log").read_text(encoding="utf-8", errors="replace")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Give a short path: vLLM keeps sockets below the temporary folder, whose paths have a limit of 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="vb", dir="/tmp"))
    yield path
    shutil.rmtree(path)


def make_job(folder: Path, name: str, **parameters: str) -> Job:
    (folder / name).mkdir()
    return Job(folder / name, {"VllmArgs": FAST, **parameters})


@pytest.fixture(scope="module")
def two_jobs(folder: Path) -> list[Job]:
    """Run the main job twice at the same time, once as a worker does and once as run_local, which fills in the rest."""
    size = {"ChunkSize": "5", "TargetRuntimeSeconds": "0"}
    given = {"InputFile": str(ROOT / "sample_prompts.jsonl"), "Prompts": f"1-{ROWS}", "HfToken": TOKEN}
    (folder / "local").mkdir()
    jobs = [make_job(folder, "worker", **given, **size), LocalJob(folder / "local", size)]
    threads = [threading.Thread(target=job.run) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return jobs


@pytest.fixture(scope="module", params=[0, 1], ids=["worker", "run_local"])
def job(two_jobs: list[Job], request: pytest.FixtureRequest) -> Job:
    """Give each of the two jobs."""
    found: Job = two_jobs[request.param]
    assert found.status == 0, found.said[-4000:]
    return found


def test_five_chunks_share_one_model_load(job: Job) -> None:
    assert job.log.count("--------- Running Task") == 5 + 1
    assert job.log.count("is being loaded, its log is") == 1
    assert job.summary()["model_loads"] == 1
    assert len(list((job.output / "results").iterdir())) == 5


def test_rows_come_in_input_order_with_their_fields_byte_for_byte(job: Job) -> None:
    lines = (job.output / "output.jsonl").read_bytes().splitlines()
    assert len(lines) == len(SAMPLE) == ROWS
    assert all(line.startswith(row[:-1].rstrip()) for line, row in zip(lines, SAMPLE, strict=True))


def test_results_are_named_as_the_tutorial_shows(job: Job) -> None:
    for row in job.rows():
        assert isinstance(row["generated_text"], str)
        assert row["generated_text"]
        assert row["finish_reason"] in ("stop", "length")
        assert row["prompt_tokens"] > 0
        assert row["completion_tokens"] > 0


def test_the_model_answers_what_it_was_asked(job: Job) -> None:
    assert "Paris" in next(row for row in job.rows() if row.get("id") == "capital-of-france")["generated_text"]


def test_the_counts_add_up(job: Job) -> None:
    summary = job.summary()
    assert (summary["requested"], summary["succeeded"], summary["failed"]) == (ROWS, ROWS, 0)
    assert summary["completion_tokens"] == sum(row["completion_tokens"] for row in job.rows())


def test_nothing_is_left_behind(job: Job) -> None:
    assert job.processes() == []
    assert [path for path in (job.folder / "t").rglob("*") if path.is_file()] == []
    assert [path.name for path in job.output.rglob(".*")] == []
    assert list((ROOT / "scripts").rglob("__pycache__")) == []


def test_neither_key_nor_token_can_be_read_anywhere(job: Job) -> None:
    written = [path.read_text(encoding="utf-8", errors="replace") for path in job.output.rglob("*") if path.is_file()]
    public = "\n".join([job.log, job.said, *job.command_lines, *written])
    assert job.keys
    assert any("vllm.entrypoints" in line for line in job.command_lines)
    for secret in (*job.keys, TOKEN):
        assert secret not in public


def test_two_jobs_at_once_use_servers_of_their_own(two_jobs: list[Job]) -> None:
    assert len(two_jobs[0].keys | two_jobs[1].keys) == 2


def test_run_local_ends_with_where_the_results_are(two_jobs: list[Job]) -> None:
    last = two_jobs[1].said.splitlines()[-1]
    assert last == str(two_jobs[1].output / "results.html")
    assert Path(last).is_file()


def test_a_wrong_model_name_ends_with_what_to_do(folder: Path) -> None:
    job = make_job(folder, "w", InputFile=str(ROOT / "sample_prompts.jsonl"), ModelName="nobody/no-such-model")
    job.run()
    assert job.status != 0
    assert "its cache lacks the model: set ModelName to a folder that holds it" in job.log
    assert job.processes() == []


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    """Start a server as the session does, and give its address."""
    job = make_job(folder, "s")
    session = job.folder / "session"
    command = ["python", "-B", str(ROOT / "scripts/serve.py")]
    start = [f"--session-dir={session}", f"--input-file={ROOT / 'sample_prompts.jsonl'}", "--prompts=1-24"]
    start += [f"--model-name={MODEL}", "--max-model-len=2048", "--gpu-memory-utilization=0.9"]
    start += ["--tensor-parallel-size=0", f"--vllm-args={FAST}", "--server-start-timeout-seconds=900"]
    environment = job.environment()
    said = subprocess.run([*command, "start", *start], env=environment, capture_output=True, text=True, check=True)
    key = next(line for line in said.stdout.splitlines() if "VLLM_API_KEY=" in line).partition("=")[2]
    os.environ["OPENAI_API_KEY"] = key
    yield load_note(session).engines[0].url
    del os.environ["OPENAI_API_KEY"]
    subprocess.run([*command, "stop", f"--session-dir={session}"], env=environment, check=True)
    assert job.processes() == []


@pytest.mark.parametrize(
    ("prompts", "lines"),
    [("1-10", range(1, 11)), ("2,5,8-9", (2, 5, 8, 9)), ("4,7", (4, 7)), ("1-10:2", (1, 3, 5, 7, 9))],
)
def test_the_tutorial_s_ranges_answer_their_lines(
    server: str, folder: Path, prompts: str, lines: tuple[int, ...]
) -> None:
    name = "r" + str(len(list(folder.iterdir())))
    given = {"InputFile": str(ROOT / "sample_prompts.jsonl"), "Prompts": prompts, "ServerUrl": f"{server}/v1"}
    job = make_job(folder, name, **given, MaxTokens="8")
    job.run()
    assert job.status == 0, job.log[-4000:]
    output = (job.output / "output.jsonl").read_bytes().splitlines()
    assert [SAMPLE[line - 1][:-1] for line in lines] == [
        o[: len(SAMPLE[n - 1]) - 1] for o, n in zip(output, lines, strict=True)
    ]
    assert job.summary()["not_requested"] == ROWS - len(lines)
    assert job.summary()["model_loads"] == 0


def test_the_small_model_is_the_one_that_set_up_makes() -> None:
    assert Path(MODEL).name == setup_env.SMALL_MODEL
