"""Rows 1, 2, 3 and 10: the bundle with real vLLM, beside vLLM's own batch runner and beside one request at a time.

Both sides answer the same file of OpenAI Batch lines with the same model on the same machine, one after the other;
every answer has a fixed number of tokens (`ignore_eos`). The engine's start is on neither side: ours is timed from the
first task's start to the last one's end, the runner from its first "Running batch" to its output file.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from figures import SCRIPTS, Failed, Figure, emit, say
from session import Session

sys.path.insert(0, str(SCRIPTS))

from readiness import LOOK_SECONDS, Readiness

from engine.command import build_environment
from engine.note import load_note

ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "2", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
VLLM_ARGS = "--dtype float32 --enforce-eager"  # compiling takes minutes at each start of the CPU build, on both sides
MAX_MODEL_LEN = 2048
EVEN_TOKENS = 48  # an answer, where all are alike
SHORTEST, LONGEST = 4, 96  # tokens of answers of very different length
ALONE = 8  # rows that are sent one at a time
EVEN_GOAL, UNEVEN_GOAL, ALONE_GOAL, OWN_GOAL = 1.05, 0.90, 5.5, 2.0


@dataclass(frozen=True, slots=True)
class Workload:
    """Rows of a job: how many tokens each answer has, and how many rows a task takes."""

    tokens: tuple[int, ...]
    chunk: int

    def write(self, path: Path, model: str) -> None:
        """Write the file that both sides read; its prompts begin with its name, so that none is cached from another."""
        with path.open("w", encoding="utf-8") as file:
            for number, tokens in enumerate(self.tokens, 1):
                question = (
                    f"{path.stem}, question {number}: what should one know about the number {number * 7919 % 1000}?"
                )
                body = {"model": model, "messages": [{"role": "user", "content": question}], "max_tokens": tokens}
                body |= {"ignore_eos": True, "temperature": 0}
                line = {"custom_id": f"row-{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}
                file.write(json.dumps(line) + "\n")

    @property
    def tasks(self) -> list[str]:
        """Return each task's range."""
        count = len(self.tokens)
        return [f"{first}-{min(first + self.chunk - 1, count)}" for first in range(1, count + 1, self.chunk)]


def workloads(*, quick: bool) -> dict[int, Workload]:
    """Return the workload of each row of the table that has one."""
    few = 8 if quick else 1
    uneven = tuple(SHORTEST + number * 37 % (LONGEST - SHORTEST + 1) for number in range(256 // few))
    return {1: Workload((EVEN_TOKENS,) * (256 // few), 128 // few), 2: Workload(uneven, 32 // few)}


def _url(session: Session) -> str:
    """Return the address of the session's server."""
    return load_note(session.folder / "session").engines[0].url


@dataclass
class Bench:
    """One vLLM server of the bundle's, and what is measured with it."""

    folder: Path
    model: str
    vllm_args: str
    work: dict[int, Workload]
    wanted: set[int]
    env: dict[str, str]
    rates: dict[int, float] = field(default_factory=dict)  # tokens a second, ours
    beside: float = 0.0  # the same of row 2, two tasks at a time

    def run(self) -> None:
        """Start the server, measure what is wanted of it, end it; then run the peer on the same files."""
        session = self._session(1, "row-1")
        watcher = Readiness(session.folder / "session")
        thread = threading.Thread(target=watcher.watch, daemon=True)
        thread.start()
        say("starting the server ...")
        try:
            started = session.start(vllm_args=self.vllm_args, max_model_len=MAX_MODEL_LEN)
            own_start = started.wall - (watcher.ready - watcher.started)
            try:
                if 1 in self.wanted:
                    self.rates[1] = self._rate(1, session)
                if 2 in self.wanted:
                    self.rates[2] = self._rate(2, self._on(session, 2, "row-2"))
                    self.beside = self._rate(2, self._on(session, 2, "row-2-beside"), at_once=2)
                if 3 in self.wanted:
                    self._alone(session)
            finally:
                own_stop = self._stop(session, watcher)
        finally:
            watcher.end()
        if 10 in self.wanted:
            figure = f"{own_start:.2f} s on top of {watcher.ready - watcher.started:.0f} s, and {own_stop:.2f} s"
            met = own_start <= OWN_GOAL and own_stop <= OWN_GOAL
            emit(Figure(10, "Our time on top of vLLM's own start, and of its stop", "2 s each", figure, met=met))
        for row in sorted(self.wanted & {1, 2}):
            self._compare(row)

    def _file(self, row: int) -> Path:
        return self.folder / f"row-{row}" / f"row-{row}.jsonl"

    def _session(self, row: int, name: str) -> Session:
        work = self.work[row]
        folder = self.folder / name
        folder.mkdir()
        path = folder / f"{name}.jsonl"
        work.write(path, self.model)
        return Session(folder, path, self.model, f"1-{len(work.tokens)}", env=dict(self.env))

    def _on(self, running: Session, row: int, name: str) -> Session:
        """Return a job of its own on the server of another session."""
        session = self._session(row, name)
        session.env |= {"OPENAI_API_KEY": running.env["VLLM_API_KEY"]}
        session.start(server_url=_url(running), max_model_len=MAX_MODEL_LEN)
        return session

    def _rate(self, row: int, session: Session, at_once: int = 1) -> float:
        """Run a workload's tasks one after another, as a session does, or more beside each other; return tokens/s."""
        work = self.work[row]
        say(f"row {row}: {len(work.tokens)} rows through run_chunk.py, {work.chunk} a task, {at_once} at a time ...")
        started = time.perf_counter()
        with ThreadPoolExecutor(at_once) as lanes:
            list(lanes.map(session.chunk, work.tasks))
        seconds = time.perf_counter() - started
        session.aggregate()
        summary = session.summary()
        if summary["completion_tokens"] != sum(work.tokens):
            raise Failed(f"{sum(work.tokens)} tokens were asked for, {summary['completion_tokens']} came")
        return sum(work.tokens) / seconds

    def _alone(self, session: Session) -> None:
        """Measure row 3: the first rows again, each sent when the one before has been answered."""
        say(f"row 3: {ALONE} rows, one at a time ...")
        host, _, port = _url(session).removeprefix("http://").partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=600)
        headers = {"Authorization": f"Bearer {session.env['VLLM_API_KEY']}", "Content-Type": "application/json"}
        tokens, started = 0, time.perf_counter()
        for line in self._file(1).read_text(encoding="utf-8").splitlines()[:ALONE]:
            connection.request("POST", "/v1/chat/completions", json.dumps(json.loads(line)["body"]), headers)
            tokens += json.load(connection.getresponse())["usage"]["completion_tokens"]
        alone = tokens / (time.perf_counter() - started)
        times = self.rates[1] / alone
        figure = f"{times:.2f} times ({self.rates[1]:.1f} and {alone:.1f} tokens/s)"
        measure = "Against one request at a time on the same server"
        emit(Figure(3, measure, f"{ALONE_GOAL} times or more", figure, met=times >= ALONE_GOAL))

    def _stop(self, session: Session, watcher: Readiness) -> float:
        """End the server; return the seconds that were ours: before the signal, and after vLLM's last process."""
        empty = Session(self.folder / "empty", self._file(1), self.model, "1")
        before = empty.stop().wall  # the same program with nothing to end
        moment: list[float] = []
        thread = threading.Thread(target=lambda: moment.append(watcher.gone()))
        thread.start()
        stopped = session.stop()
        thread.join()
        return before + max(0.0, stopped.began + stopped.wall - moment[0])

    def _compare(self, row: int) -> None:
        """Measure row 1 or 2: the peer on the same file."""
        work = self.work[row]
        say(f"row {row}: the same rows through vLLM's run_batch ...")
        theirs = sum(work.tokens) / self._run_batch(row, self.env)
        say(f"row {row}: the same, in the environment that the bundle gives its server ...")
        alike = sum(work.tokens) / self._run_batch(row, {**build_environment("", 1800), **self.env})
        ratio = self.rates[row] / theirs
        goal = EVEN_GOAL if row == 1 else UNEVEN_GOAL
        lengths = f"answers of {min(work.tokens)} to {max(work.tokens)} tokens" if row == 2 else "answers alike"
        measure = f"Tokens per second against run_batch, {len(work.tokens)} rows, ChunkSize {work.chunk}, {lengths}"
        figure = f"{ratio:.2f} ({self.rates[row]:.1f} and {theirs:.1f} tokens/s)"
        figure += f"; {self.rates[row] / alike:.2f} of run_batch given our server's environment ({alike:.1f})"
        if row == 2:
            figure += f"; with two tasks at a time {self.beside / theirs:.2f} and {self.beside / alike:.2f}"
        emit(Figure(row, measure, f"{goal:.2f} or more", figure, met=ratio >= goal))

    def _run_batch(self, row: int, env: dict[str, str]) -> float:
        """Return the seconds from the runner's first request to its output file."""
        output = self.folder / f"peer-{row}.jsonl"
        command = [
            sys.executable, "-m", "vllm.entrypoints.launchers.run_batch", "-i", str(self._file(row)), "-o", str(output),
            "--model", self.model, "--max-model-len", str(MAX_MODEL_LEN), *self.vllm_args.split(),
        ]  # fmt: skip
        log = self.folder / f"peer-{row}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, env=env, cwd=self.folder, start_new_session=True
            )
        try:
            while process.poll() is None and b"Running batch" not in log.read_bytes():
                time.sleep(LOOK_SECONDS)
            began = time.time()
            if process.wait() != 0:
                raise Failed(f"run_batch failed:\n{log.read_text(encoding='utf-8', errors='replace')[-3000:]}")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        answers = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
        came = sum(answer["response"]["body"]["usage"]["completion_tokens"] for answer in answers)
        if came != sum(self.work[row].tokens):
            raise Failed(f"run_batch made {came} tokens of {sum(self.work[row].tokens)}")
        return output.stat().st_mtime - began


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="an eighth of the rows")
    parser.add_argument("--rows", default="1,2,3,10", help="rows of the table, such as 1,10")
    parser.add_argument("--model", required=True, help="folder of a small instruct model")
    parser.add_argument("--vllm-args", default=VLLM_ARGS, help=f"of both sides ({VLLM_ARGS})")
    given = parser.parse_args()
    wanted = {int(row) for row in given.rows.split(",")}
    if 3 in wanted:
        wanted.add(1)  # what it is compared with
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vllm"  # of compiled graphs, for both
    caches = {"VLLM_CACHE_ROOT": str(cache), "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor")}
    env = {**caches, **os.environ, **ENVIRONMENT}
    with tempfile.TemporaryDirectory() as name:
        Bench(Path(name), given.model, given.vllm_args, workloads(quick=given.quick), wanted, env).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
