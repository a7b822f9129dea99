"""tools/batch_api.py as a process of its own, with the tests' own Python as the environment of its jobs.

As a program it is batch_api.py on this machine, which finds openjd and the worker's libraries beside its own Python.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import batch_api
import setup_env
from support.local_machine import variables

KEY = "sk-test"  # clients refuse to start without one
READY = "listening on "
JOBS_PYTHON = "TEST_JOBS_PYTHON"  # the variable that names another Python for the jobs, such as one with real vLLM


@dataclass
class BatchServer:
    """The program on a data folder: `base` is its address once it is started. `options` are its command line's."""

    folder: Path
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    base: str = ""
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the program and wait until it is ready."""
        self.folder.mkdir(parents=True, exist_ok=True)
        data = self.folder / "data"
        with (self.folder / "said.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-B", "-m", "support.batch_server", "--port=0", f"--data-dir={data}", *self.options],
                env={**variables(), **self.environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                text=True, cwd=self.folder,
            )  # fmt: skip
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line.startswith(READY), self.said()
        self.base = line.removeprefix(READY).strip()

    def said(self) -> str:
        """Return what the program said."""
        return (self.folder / "said.log").read_text()

    def kill(self) -> None:
        """Kill the program as hard as can be."""
        assert self.process
        self.process.kill()
        self._forget()

    def stop(self) -> None:
        """End the program as a service manager does."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self._forget()

    def _forget(self) -> None:
        """Wait for the program's end."""
        assert self.process
        assert self.process.stdout
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def batch_server(folder: Path, *options: str, **environment: str) -> Iterator[BatchServer]:
    """Run the program while the block runs."""
    server = BatchServer(folder, options, environment)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def wait_for(read: Any, holds: Any) -> Any:
    """Return what `read` gives once it holds; the run's own limit ends a wait for ever."""
    while not holds(found := read()):
        time.sleep(0.1)
    return found


if __name__ == "__main__":
    setup_env.environment = lambda kind: Path(os.environ.get(JOBS_PYTHON, sys.executable))
    sys.exit(batch_api.main())
