"""The worker programs run as the host runs them: processes with argument lists, in a folder of their own."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.note import Note, load_note
from job import arguments
from job.parameters import BY_NAME, flag

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 600  # seconds until a program that hangs is ended, which fails the test; a busy machine needs far fewer
HOST_LINE = ("openjd_progress: ", "openjd_status: ", "openjd_fail: ", "openjd_redacted_env: ", "| ")
SUPPORT = ROOT / "tests" / "support"
PROGRAMS = re.compile(r"(serve|run_chunk|aggregate)\.py")
KEY = "openjd_redacted_env: VLLM_API_KEY="


@dataclass
class Result:
    """What a program left: its exit status and what it printed."""

    status: int
    text: str

    @property
    def failures(self) -> list[str]:
        """The messages that the host shows for a failure."""
        return [line.partition(": ")[2] for line in self.text.split("\n") if line.startswith("openjd_fail: ")]

    def check(self) -> Result:
        """Fail unless every line is one of the host's or marked as ordinary text, and the program succeeded."""
        self.check_lines()
        assert self.status == 0, self.text
        return self

    def check_lines(self) -> None:
        """Fail for a line that ordinary text could have begun."""
        strange = [line for line in self.text.split("\n") if line and not line.startswith(HOST_LINE)]
        assert not strange, strange

    def refused(self, *words: str) -> str:
        """Fail unless the program failed with one message that has these words; return it."""
        self.check_lines()
        assert self.status == 1, (self.status, self.text)
        (message,) = self.failures
        assert all(word in message for word in words), message
        return message


def strange(kind: str) -> dict[str, str]:
    """Return the variables that make a program's machine a strange one, by a word of strange_machine/sitecustomize."""
    return {"STRANGE": kind, "PYTHONPATH": os.pathsep.join(str(SUPPORT / x) for x in ("strange_machine", "fake_vllm"))}


@dataclass
class Session:
    """A job's input and output, and the session that works on them."""

    folder: Path
    lines: list[bytes] = field(default_factory=list)
    url: str = ""  # ServerUrl
    model: str = "fake"
    prompts: str = ""
    block_size: int = 1
    options: dict[str, str] = field(default_factory=dict)  # parameters, by the names of their flags
    start_options: dict[str, str] = field(default_factory=dict)  # of the server alone
    environment: dict[str, str] = field(default_factory=dict)
    python: str = sys.executable
    patience: float = PATIENCE
    scripts: Path = ROOT / "scripts"

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.input = self.folder / "input.jsonl"
        self.output = self.folder / "out"
        if self.lines:
            self.input.write_bytes(b"".join(line + b"\n" for line in self.lines))
        self.prompts = self.prompts or f"1-{max(1, len(self.lines))}"

    @property
    def results(self) -> Path:
        """The folder of the shards."""
        return self.output / "output" / "results"

    def argv(self, program: str, *action: str, **options: str) -> list[str]:
        """Return a program's argument list."""
        named = {"session-dir": str(self.folder / "session"), **options}
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in named.items()]
        return [self.python, "-B", str(self.scripts / program), *action, *flags]

    def _job(self, **more: str) -> dict[str, str]:
        """Return the job's parameters, under the names of their flags."""
        common = {"input_file": str(self.input), "prompts": self.prompts, "block_size": str(self.block_size)}
        limits = {"max_concurrency": "8", "row_timeout_seconds": "600", "max_attempts": "3"}
        return {**common, "model_name": self.model, **limits, **self.options, **more}

    def variables(self) -> dict[str, str]:
        """Return the environment: no real vLLM, and no key but the session's own."""
        own = {name: value for name, value in os.environ.items() if name not in ("OPENAI_API_KEY", "HF_TOKEN")}
        return {**own, "PYTHONPATH": str(SUPPORT / "fake_vllm"), **self.environment}

    def launch(self, argv: list[str]) -> subprocess.Popen[str]:
        """Start a program in the session's folder."""
        return subprocess.Popen(
            argv,
            cwd=self.folder,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, argv: list[str]) -> Result:
        """Run a program to its end."""
        return self.finish(self.launch(argv))

    def finish(self, process: subprocess.Popen[str]) -> Result:
        """Wait for a program's end and return what `read_until` left of its text; one that hangs is killed."""
        end = threading.Timer(self.patience, process.kill)
        end.start()
        try:
            text, _ = process.communicate()
        finally:
            end.cancel()
            process.kill()
        return Result(process.returncode, text)

    def start_argv(self, **more: str) -> list[str]:
        """Return the argument list of serve.py start."""
        server = {"server_start_timeout_seconds": "600", "server_url": self.url, **self.start_options}
        return self.argv("serve.py", "start", **self._job(**{**server, **more}))

    def start(self, **more: str) -> Result:
        """Run serve.py start, and keep the key that it gives the session."""
        result = self.run(self.start_argv(**more))
        for line in result.text.split("\n"):
            if line.startswith(KEY):
                self.environment["VLLM_API_KEY"] = line.removeprefix(KEY)
        return result

    def stop(self) -> Result:
        """Run serve.py stop."""
        program = str(ROOT / "scripts" / "serve.py")
        return self.run([self.python, "-B", program, "stop", f"--session-dir={self.folder / 'session'}"])

    def chunk_argv(self, values: str = "", **more: str) -> list[str]:
        """Return the argument list of run_chunk.py, in a session whose parameters are this job's and `more`."""
        note = self.folder / "session" / arguments.NOTE
        if note.exists():
            named = {flag(name).removeprefix("--").replace("-", "_"): each for name, each in BY_NAME.items()}
            job = {name: value for name, value in self._job(**more).items() if name in named}
            changed = {named[name].name: named[name].type(value) for name, value in job.items()}
            note.write_text(json.dumps({**json.loads(note.read_bytes()), **changed}))
        return self.argv("run_chunk.py", values=values or self.prompts, output_dir=str(self.output))

    def chunk(self, values: str = "", **more: str) -> Result:
        """Run run_chunk.py over range values."""
        return self.run(self.chunk_argv(values, **more))

    def aggregate_argv(self, **more: str) -> list[str]:
        """Return the argument list of aggregate.py."""
        lines = {"input_file": str(self.input), "prompts": self.prompts, "block_size": str(self.block_size)}
        return self.argv("aggregate.py", output_dir=str(self.output), **{**lines, **more})

    def aggregate(self, **more: str) -> Result:
        """Run aggregate.py."""
        return self.run(self.aggregate_argv(**more))

    def notice(self, seconds: float) -> None:
        """Write what the host writes before it cancels an action, which then has so many seconds."""
        end = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)
        (self.folder / "cancel_info.json").write_text(json.dumps({"NotifyEnd": end.strftime("%Y-%m-%dT%H:%M:%SZ")}))

    def written(self, name: str = "output.jsonl") -> list[dict[str, Any]]:
        """Return the objects of a finished file."""
        return [json.loads(line) for line in (self.output / "output" / name).read_bytes().splitlines()]

    def summary(self) -> dict[str, Any]:
        """Return summary.json."""
        found: dict[str, Any] = json.loads((self.output / "output" / "summary.json").read_bytes())
        return found

    def processes(self) -> list[str]:
        """Return the command lines of the live processes that work in the session's folder."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(self.folder):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue  # it has ended, or is another user's
        return [line for line in found if line]  # a zombie has no command line

    def engine_processes(self) -> list[str]:
        """Return the command lines of the engine's processes."""
        return [line for line in self.processes() if not PROGRAMS.search(line)]

    def note(self) -> Note:
        """Return the session's note of its engines."""
        return load_note(self.folder / "session")


def rows(texts: Iterable[str]) -> list[bytes]:
    """Return prompt rows, with ids from 1."""
    return [json.dumps({"id": number, "prompt": text}).encode() for number, text in enumerate(texts, 1)]


def outcome(row: dict[str, Any]) -> str:
    """Return what became of a prompt row: its answer, or its error's code."""
    return str(row["error"]["code"] if "error" in row else row["generated_text"])


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Return when it holds, or fail once the process has ended without; the run's own limit ends a wait for ever."""
    while not holds():
        if process.poll() is not None and not holds():
            raise AssertionError(f"ended with {process.returncode}:\n{process.communicate()[0]}")
        time.sleep(0.02)


def read_until(words: str, process: subprocess.Popen[str]) -> str:
    """Return what a process prints up to a line with these words, or fail once it has ended without."""
    assert process.stdout
    text = ""
    for line in process.stdout:
        text += line
        if words in line:
            return text
    raise AssertionError(f"ended without {words!r}:\n{text}")
