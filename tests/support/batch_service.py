"""The batch APIs on loopback for their tests: the real application, jobs by the worker's own programs and no openjd."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from batches.app import Core, create_app, make_core
from batches.backend import Ended, Job, Watch
from batches.models import Models, make_single
from batches.settings import Gathering, Settings
from job.parameters import flag
from submission.arrivals import Count
from support.programs import ROOT


@dataclass(frozen=True)
class Given:
    """The engine of a server that somebody else runs, and what keeps it."""

    folder: None = None
    address: None = None

    @contextlib.contextmanager
    def use(self, parameters: Mapping[str, str]) -> Iterator[Given]:
        yield self


@dataclass
class Programs:
    """A back-end that runs the worker's three programs, one after another, against the ServerUrl of the jobs."""

    slots: int = 2
    jobs: list[Job] = field(default_factory=list)
    before: Callable[[Job], None] = lambda _: None
    engines: Given | None = field(default_factory=Given)
    is_over: bool = False  # no job is run any more

    def run(self, job: Job, reference: str, note: Callable[[str], None], watch: Watch) -> Ended:
        self.jobs.append(job)
        note(job.name)
        self.before(job)
        if watch(Count()) or self.is_over:
            return Ended(is_whole=False, why="cancelled")
        session = job.folder / "session"
        flags = [f"{flag(name)}={value}" for name, value in job.parameters.items()]
        output = f"--output-dir={job.parameters['OutputDir']}"
        chunk = [f"--values={job.parameters['Prompts']}", f"--session-dir={session}", output]
        for program in (
            ["serve.py", "start", f"--session-dir={session}", *flags],
            ["run_chunk.py", *chunk],
            ["aggregate.py", output, f"--input-file={job.parameters['InputFile']}"],
        ):
            made = [sys.executable, "-B", str(ROOT / "scripts" / program[0]), *program[1:]]
            done = subprocess.run(made, cwd=job.folder, capture_output=True, text=True, check=False)
            if done.returncode:
                return Ended(is_whole=False, why=done.stdout[-400:])
        return Ended(is_whole=True)

    def close(self) -> None:
        """Nothing is kept."""


@dataclass
class Service:
    """The APIs that run: where, and what stands behind them."""

    url: str
    core: Core
    backend: Programs


@contextlib.contextmanager
def serve(
    folder: Path,
    server_url: str,
    *,
    models: Models | None = None,
    backend: Programs | None = None,
    key: str | None = None,
) -> Iterator[Service]:
    """Serve the APIs in front of a server until the block ends."""
    parameters = {"ServerUrl": server_url, "ModelName": "fake"}
    settings = Settings(folder, key=key, parameters=parameters, gathering=Gathering(seconds=0.3))
    backend = backend or Programs()
    core = make_core(settings, models or make_single(parameters), backend)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(2048)
        server = uvicorn.Server(uvicorn.Config(create_app(core), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Service(f"http://127.0.0.1:{listening.getsockname()[1]}", core, backend)
        finally:
            server.should_exit = True
            thread.join()
