"""A session of the bundle without a scheduler: the template's programs, called as its steps call them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from figures import SCRIPTS, Cost, measured


@dataclass
class Session:
    """One job over `input_file`, its files below `folder`."""

    folder: Path
    input_file: Path
    model: str
    prompts: str
    block_size: int = 1
    max_tokens: int = 64
    concurrency: int = 256
    env: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def output_dir(self) -> Path:
        """Return OutputDir."""
        return self.folder / "out"

    def start(self, *, server_url: str = "", vllm_args: str = "", max_model_len: int = 2048) -> Cost:
        """Enter the step's environment. The key that it sets for the session is kept for the tasks."""
        cost = self._run(
            "serve.py", "start", *self._input(), f"--model-name={self.model}", f"--max-tokens={self.max_tokens}",
            "--temperature=0", f"--max-concurrency={self.concurrency}", f"--max-model-len={max_model_len}",
            f"--vllm-args={vllm_args}", f"--server-url={server_url}",
        )  # fmt: skip
        for line in cost.output.splitlines():
            if line.startswith("openjd_redacted_env: "):
                name, _, value = line.removeprefix("openjd_redacted_env: ").partition("=")
                self.env[name] = value
        return cost

    def chunk(self, values: str) -> Cost:
        """Run one task."""
        folder = f"--session-dir={self.folder / 'session'}"
        return self._run("run_chunk.py", folder, f"--values={values}", f"--output-dir={self.output_dir}")

    def aggregate(self) -> Cost:
        """Run step Aggregate."""
        return self._run("aggregate.py", *self._input(), f"--output-dir={self.output_dir}")

    def stop(self) -> Cost:
        """Leave the step's environment."""
        return self._run("serve.py", "stop", f"--session-dir={self.folder / 'session'}")

    def summary(self) -> dict[str, Any]:
        """Return what Aggregate counted."""
        value: dict[str, Any] = json.loads((self.output_dir / "output" / "summary.json").read_text(encoding="utf-8"))
        return value

    def _input(self) -> list[str]:
        return [
            f"--session-dir={self.folder / 'session'}", f"--input-file={self.input_file}", f"--prompts={self.prompts}",
            f"--block-size={self.block_size}",
        ]  # fmt: skip

    def _run(self, program: str, *arguments: str) -> Cost:
        """Run a program as the template does: from the job's own copy, whose first program compiles it for the rest."""
        copy = self.folder / "scripts"
        if not copy.exists():
            shutil.copytree(SCRIPTS, copy, ignore=shutil.ignore_patterns("__pycache__"))
        env = {name: value for name, value in self.env.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return measured([sys.executable, copy / program, *arguments], env=env)


@contextmanager
def stub(seconds: float) -> Iterator[str]:
    """Run the stub server and give its address."""
    command = [sys.executable, str(Path(__file__).with_name("stub.py")), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def stats(url: str) -> Mapping[str, float]:
    """Return what the stub counted since the last call."""
    with urllib.request.urlopen(f"{url}/stats", timeout=10) as reply:
        value: Mapping[str, float] = json.load(reply)
        return value
