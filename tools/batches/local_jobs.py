"""Batches' jobs on this machine: `openjd run template.yaml`, with an engine that stays loaded between jobs.

A job is a process of its own that ends with this program, however that ends. What it answered until then stays in its
folder, and the next run asks only the lines that have no answer.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import bundle
from batches.backend import BackendError, Ended, Job, Watch
from batches.engines import Engines
from checking import sizes
from host import files, processes
from local.interrupts import Interrupts
from local.local_job import Machine
from submission import merging
from submission.arrivals import Arrivals
from submission.missing import find_standing, make_job
from submission.request import Request

LOOK_SECONDS = 1.0  # between two looks at a job
DROP_LOOKS = 10  # after which a cancelled job's answers in flight are no longer waited for
END_SECONDS = 20.0  # for a job of a program that was killed to keep what it has
MARK = "VLLM_BATCH_API_JOB"  # the variable by which a job's processes are found again
_FAILED = re.compile(r"openjd_fail: (.+)")
_LOG_END = 1 << 16  # bytes in which the reason of a failure stands


@dataclass
class LocalJobs:
    """This machine as the place of batches' jobs."""

    machine: Machine
    engines: Engines
    slots: int = 4
    _running: set[Interrupts] = field(default_factory=set)
    _closed: threading.Event = field(default_factory=threading.Event)

    def run(self, job: Job, reference: str, note: Callable[[str], None], watch: Watch) -> Ended:
        """Run a job to its end: the lines of it that have no answer yet."""
        if reference:
            processes.end_all(lambda: processes.find_marked(f"{MARK}={job.name}"), END_SECONDS)
        given = frozenset(sizes.NAMES) & job.parameters.keys()
        request = Request(dict(job.parameters), given)
        Path(job.parameters["OutputDir"]).mkdir(parents=True, exist_ok=True)
        standing = find_standing(request)
        asked, status = request.parameters, 0
        if standing.missing:
            asked = make_job(request, standing, standing.missing)
            with self.engines.use(asked) as engine:
                note(job.name)
                status = self._run(job, asked, engine.variables, watch)
        if self._closed.is_set():
            raise BackendError("the program ends", again=True)
        is_merged = status == 0 and bool(standing.missing) and asked == request.parameters
        if not is_merged and merging.has_shards(request.output):
            merging.merge(request.parameters, python=self.machine.python)
        return Ended(status == 0, "" if status == 0 else _find_cause(request.output.parent / "openjd.log", status))

    def close(self) -> None:
        """End the jobs that run, and the engine."""
        self._closed.set()
        for interrupts in list(self._running):
            for _ in range(2):  # the second lets nothing in flight end
                interrupts.send()
        self.engines.close()

    def _run(self, job: Job, asked: Mapping[str, str], variables: Mapping[str, str], watch: Watch) -> int:
        """Run openjd and return its exit status."""
        values = job.folder / "parameters.json"
        files.write_whole(values, json.dumps(dict(asked)).encode(), mode=0o600)  # secrets are not for a command line
        command = [str(self.machine.python.parent / "openjd"), "run", str(bundle.ROOT / "template.yaml")]
        environment = {**self.machine.environment(asked), **variables, MARK: job.name}
        output = Path(asked["OutputDir"])
        with (output / "openjd.log").open("ab") as log:
            process = subprocess.Popen(
                processes.tie_to_parent([*command, "-p", f"file://{values}"]),
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        interrupts = Interrupts(process)
        self._running.add(interrupts)
        try:
            self._follow(process, interrupts, Arrivals(output / "output", all_of_it=True), watch)
            return process.wait()
        finally:
            self._running.discard(interrupts)
            values.unlink(missing_ok=True)

    def _follow(
        self, process: subprocess.Popen[bytes], interrupts: Interrupts, arrivals: Arrivals, watch: Watch
    ) -> None:
        """Tell how far a job is until it has ended; cancel it where that is wanted."""
        cancelled = 0  # looks since the job was cancelled
        while True:
            try:
                process.wait(LOOK_SECONDS)
                return
            except subprocess.TimeoutExpired:
                pass
            if watch(arrivals.count()) or cancelled:
                if cancelled in (0, DROP_LOOKS):
                    interrupts.send()
                cancelled += 1


def _find_cause(log: Path, status: int) -> str:
    """Return why a job did not finish, as its programs said it last."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _LOG_END))
            said = _FAILED.findall(file.read().decode("utf-8", "replace"))
    except OSError:
        said = []
    return said[-1].strip() if said else f"the job ended with exit status {status}"
