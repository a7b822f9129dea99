"""One job on the farm, as the `deadline` command sees it, and what this machine remembers of it.

Everything goes through the `deadline` command, with argument lists; parameters travel in a folder that only this user
can read and that is gone once they are submitted. A Note keeps the parameters of a submitted job, less its secrets, so
that another terminal can fetch the results.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import bundle
from host import files, runner
from job.parameters import FILES, SECRETS
from setup_env import cache, say
from submission import template
from terminal import Bar, open_bar, say_time

JOB_ID = re.compile(r"job-[0-9a-f]{32}")
JOB_MADE = re.compile(f"{JOB_ID.pattern}|Waiting for Job to be created")  # what `deadline bundle submit` says then
USAGE = 2  # exit status of `deadline` for a command that it does not understand, or that lacks a farm or a queue
ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELED", "SUSPENDED", "NOT_COMPATIBLE", "CREATE_FAILED", "UPLOAD_FAILED"})
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 20.0  # seconds between two looks at a job
PATIENCE = 10  # looks that may fail one after another while the network is away


class FarmJobError(Exception):
    """`deadline` did not do what was asked; the message ends with what it said, unless that was shown."""


class UsageError(FarmJobError):
    """`deadline` cannot take the command as it is set up here: asking again changes nothing."""


class NoJob(FarmJobError):
    """Nothing was submitted."""


class NoDeadline(NoJob):
    """The deadline command is not installed here."""


@dataclass(frozen=True, slots=True)
class Note:
    """What is kept of a submitted job."""

    job_id: str
    parameters: dict[str, str]

    @classmethod
    def of(cls, job_id: str, parameters: Mapping[str, str]) -> Note:
        """Make the note of a job, without its secrets."""
        return cls(job_id, {name: value for name, value in parameters.items() if name not in SECRETS})

    @staticmethod
    def _path(job_id: str) -> Path:
        return cache() / "jobs" / f"{job_id}.json"

    def write(self) -> None:
        """Keep it in the cache folder."""
        path = self._path(self.job_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(path, json.dumps(self.parameters).encode())

    @classmethod
    def read(cls, job_id: str) -> Note | None:
        """Return the note of a job, None when this machine has none."""
        if not JOB_ID.fullmatch(job_id):
            raise FarmJobError(f"{job_id!r} is no job's id: it is job- and 32 hexadecimal digits")
        path = cls._path(job_id)
        return cls(job_id, json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def options(*, farm_id: str | None, queue_id: str | None, profile: str | None) -> list[str]:
    """Return the options that every deadline command gets."""
    named = {"--farm-id": farm_id, "--queue-id": queue_id, "--profile": profile}
    return [part for name, value in named.items() if value for part in (name, value)]


def deadline(*command: str, show: bool = False) -> str:
    """Run a deadline command and return what it printed. Raises FarmJobError."""
    beside = Path(sys.executable).with_name("deadline")
    program = str(beside) if beside.is_file() else shutil.which("deadline")
    if not program:
        raise NoDeadline("the deadline command is not installed: pip install deadline")
    printed = []
    with subprocess.Popen(
        [program, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace",
    ) as running:  # fmt: skip
        for line in running.stdout or ():
            printed.append(line)
            if show:
                say(f"  {line.rstrip()}")
    text = "".join(printed)
    if running.returncode != 0:
        ending = ": see above" if show else ":\n" + text[-2000:].strip()
        raise _kind(command, running.returncode, text)(
            f"deadline {' '.join(command[:2])} ended with exit status {running.returncode}{ending}"
        )
    return text


def _kind(command: Sequence[str], status: int, said: str) -> type[FarmJobError]:
    """Return the error of a command that failed."""
    if tuple(command[:2]) == ("bundle", "submit") and not JOB_MADE.search(said):
        return NoJob
    return UsageError if status == USAGE else FarmJobError


@dataclass(frozen=True, slots=True)
class FarmJob:
    """A job that was submitted; `options` name its farm and queue where those are not deadline's defaults."""

    id: str
    options: Sequence[str]

    @classmethod
    def submit(cls, parameters: Mapping[str, str], options: Sequence[str], *, name: str | None = None) -> FarmJob:
        """Submit the bundle. Raises FarmJobError."""
        with tempfile.TemporaryDirectory(prefix="vllm-batch-") as scratch:  # of mode 0700
            folders = make_bundle(Path(scratch), parameters)
            known = [part for folder in folders for part in ("--known-asset-path", folder)]
            named = ["--name", name] if name else []
            found = JOB_ID.search(deadline("bundle", "submit", scratch, "--yes", *options, *named, *known, show=True))
        if not found:
            raise NoJob("deadline named no job: see above")
        return cls(found[0], options)

    def wait(self, watch: Callable[[Progress], None] = lambda _: None) -> str:
        """Show the job's progress until it has ended; return its status. Raises FarmJobError.

        watch: is told of the progress at each look.
        """
        with open_bar() as bar:
            return self._wait(watch, bar)

    def _wait(self, watch: Callable[[Progress], None], bar: Bar | None) -> str:
        shown, pause, failures, begun = "", FIRST_PAUSE, 0, time.monotonic()
        while True:
            try:
                details = deadline("job", "get", "--job-id", self.id, *self.options)
                failures = 0
            except (UsageError, NoDeadline):
                raise
            except FarmJobError as error:
                failures += 1
                if failures >= PATIENCE:
                    raise
                if failures == 1:
                    say(
                        f"  deadline gave no answer and is asked again: {runner.printable(str(error).splitlines()[-1])}"
                    )
                details = ""
            progress = read_progress(details)
            if bar and progress.text:
                bar.show(progress.text + progress.tell_left(time.monotonic() - begun), progress.done, progress.total)
            if progress.text and progress.text != shown:
                shown, pause = progress.text, FIRST_PAUSE
                if not bar:
                    say(f"  {progress.text}")
            if progress.status in ENDED:
                return progress.status
            watch(progress)
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 1.5)

    def download(self) -> None:
        """Download the job's output to where its parameters say, replacing what an earlier job left under one name."""
        self._download("OVERWRITE")

    def fetch(self) -> None:
        """Download what is new of a job that runs: a shard has a name of its own, so that what is there stays."""
        self._download("SKIP")

    def _download(self, conflicts: str) -> None:
        command = ("job", "download-output", "--job-id", self.id, *self.options)
        deadline(*command, "--conflict-resolution", conflicts, "--yes", "--output", "verbose")

    def cancel(self) -> None:
        """Cancel the job; what its finished tasks left stays."""
        deadline("job", "cancel", "--job-id", self.id, *self.options, "--yes")


def make_bundle(folder: Path, parameters: Mapping[str, str]) -> list[str]:
    """Write the bundle with its parameters' values beside it, as the form does; return the folders they name.

    Values on deadline's command line would show in a list of processes, and end at their first line break.
    """
    values = {**parameters, "JobScriptDir": str(bundle.SCRIPTS)}
    shutil.copy(bundle.ROOT / "hooks.yaml", folder)
    job = (bundle.ROOT / "template.yaml").read_text(encoding="utf-8")
    if values.get("ServerUrl"):
        values.setdefault("CondaPackages", template.CLIENT_PACKAGES)
        job = template.drop_engine(job)
    (folder / "template.yaml").write_text(job, encoding="utf-8")
    (folder / ".hooks_origin").write_text(str(bundle.ROOT), encoding="utf-8")  # where the hook's program is
    listed = [{"name": name, "value": value} for name, value in values.items()]
    text = json.dumps({"parameterValues": listed}, indent=1)
    (folder / "parameter_values.json").write_text(text, encoding="utf-8")
    files = [str(Path(values[name]).parent) for name in FILES if values.get(name)]
    return sorted({*files, values["OutputDir"], values["JobScriptDir"]})


class Progress(NamedTuple):
    """How far a job is: its status, a line about its tasks, how many of them are done, and how many there are."""

    status: str
    text: str
    done: int
    total: int = 0

    def tell_left(self, seconds: float) -> str:
        """Say how long the rest may take, after so many seconds."""
        if not 0 < self.done < self.total:
            return ""
        return f", about {say_time(seconds * (self.total - self.done) / self.done)} left"


def read_progress(details: str) -> Progress:
    """Return a job's progress from what `deadline job get` prints."""
    status = re.search(r"^(?:taskRunStatus: |lifecycleStatus: (?=\w+_FAILED))(\w+)", details, re.MULTILINE)
    block = re.search(r"^taskRunStatusCounts:\n((?:[ \t]+\w+: \d+\n?)+)", details, re.MULTILINE)
    counts = {name: int(count) for name, count in re.findall(r"(\w+): (\d+)", block[1])} if block else {}
    told = [f"{counts.get('SUCCEEDED', 0)} of {sum(counts.values())} tasks done"]
    told += [f"{counts[name]} {name.lower()}" for name in ("RUNNING", "FAILED", "CANCELED") if counts.get(name)]
    done, total = counts.get("SUCCEEDED", 0), sum(counts.values())
    return Progress(status[1] if status else "", ", ".join(told) if counts else "", done, total)
