"""One job on this machine: "openjd run template.yaml" in the environment that setup_env.py makes.

vLLM proper and the template's own model where nvidia-smi finds a GPU, else vLLM's CPU build and a small real model.
OutputDir/openjd.log keeps everything that openjd says; a person is shown what matters of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import bundle
import setup_env
from engine.vllm_args import has_flag
from local.interrupts import Interrupts
from local.openjd_log import Course, printable, readable
from setup_env import say
from terminal import Bar, fold, open_bar

# What vLLM's CPU build wants; whatever of it the caller has set already stays.
CPU_ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "2"}  # GiB; the default takes most of a small machine's memory
# float32 is faster than bfloat16 on processors with AVX2 alone. On a CPU vLLM 0.32 cannot load what it compiled before
# and would compile for minutes at every start, longer than a small job takes: --no-enforce-eager in VllmArgs compiles
# all the same, where a long job earns that back.
CPU_VLLM_ARGS = ("--dtype float32", "--enforce-eager")
PRIVACY = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
LOOK_SECONDS = 2.0  # between two looks at a job that is followed
Watch = Callable[[], bool]
STOPPED = 130  # exit status of a job that a person stopped
_TOLD = (
    "Cancelling: the job keeps what arrives within two minutes and ends its server. Ctrl-C again ends it at once ...",
    "Ending at once: what is in flight is dropped, what was answered is kept ...",
)


class LocalJobError(Exception):
    """No job can run here as asked; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine as jobs run on it: the kind of its environment, and the Python of that."""

    kind: str
    python: Path

    @classmethod
    def prepare(cls) -> Self:
        """Make the environment that suits this machine, once. Raises setup_env.SetupError."""
        setup_env.check_machine()
        kind = "run-gpu" if has_gpu() else "run-cpu"
        return cls(kind, setup_env.environment(kind))

    def choose_model(self, model: str | None, given: Mapping[str, str]) -> dict[str, str]:
        """Return ModelName, where none is given, and VllmArgs as they suit this machine."""
        if given.get("ServerUrl"):
            return {"ModelName": model} if model and "ModelName" not in given else {}
        on_cpu = self.kind == "run-cpu"
        chosen = {"VllmArgs": add_cpu_arguments(given.get("VllmArgs", ""))} if on_cpu else {}
        if "ModelName" in given:
            return chosen
        if model:
            chosen["ModelName"] = str(Path(model).absolute()) if Path(model).is_dir() else model
        elif on_cpu:
            chosen["ModelName"] = str(setup_env.model(setup_env.SMALL_MODEL))
        return chosen

    def run(self, parameters: Mapping[str, str], lines: int, *, verbose: bool, watch: Watch | None = None) -> int:
        """Run a job over so many lines and return its exit status, STOPPED where a person stopped it.

        watch: is called every few seconds while the job runs, and tells whether to cancel it. Raises LocalJobError.
        """
        output_dir = Path(parameters["OutputDir"])
        try:
            output_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LocalJobError(f"{output_dir} cannot be the folder of the results: {error.strerror}") from None
        with tempfile.TemporaryDirectory(prefix="vllm-batch-") as scratch:
            # In a file, not on the command line: values may hold line breaks, and secrets that ps would show.
            file = Path(scratch) / "parameters.json"
            file.write_text(json.dumps(dict(parameters)), encoding="utf-8")
            template = str(bundle.ROOT / "template.yaml")
            command = [str(self.python.parent / "openjd"), "run", template, "-p", f"file://{file}"]
            variables, log = self.environment(parameters), output_dir / "openjd.log"
            if verbose:
                return show(command, variables, log, show_all, watch=watch)
            with open_bar() as bar:
                course, model = Course(lines), parameters.get("ModelName", "")
                return show(command, variables, log, Display(course, model, bar), watch=watch)

    def environment(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return the job's environment variables: the template's "python" is this machine's."""
        defaults = {**PRIVACY, **(CPU_ENVIRONMENT if self.kind == "run-cpu" else {})}
        if Path(parameters.get("ModelName", "")).is_absolute():
            defaults["HF_HUB_OFFLINE"] = "1"  # the model is on disk: nothing is asked of a hub
        path = f"{self.python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        # scripts/ travels with submitted jobs, so no bytecode is left in it.
        ours = {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1"}
        return {**defaults, **os.environ, **ours}


def has_gpu() -> bool:
    """Return whether nvidia-smi finds a GPU here."""
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listing.returncode == 0 and "GPU 0" in listing.stdout


def add_cpu_arguments(given: str) -> str:
    """Return what vLLM's CPU build wants, with a person's own arguments behind it; what they say again is left out."""
    words = given.split()
    names = [(own, own.split()[0]) for own in CPU_VLLM_ARGS]
    wanted = [own for own, flag in names if not any(has_flag(words, said) for said in (flag, f"--no-{flag[2:]}"))]
    return " ".join([*wanted, *filter(None, [given.strip()])])


def show(
    command: Sequence[str],
    variables: Mapping[str, str],
    log: Path,
    display: Callable[[Iterable[str]], None],
    *,
    watch: Watch | None = None,
) -> int:
    """Run openjd, keep what it says in `log`, display it, and return its exit status.

    Ctrl-C and SIGTERM cancel the job, a second one drops what is in flight: openjd is told of these two, and what it
    does until it has ended is still shown.
    """
    openjd = subprocess.Popen(
        command,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # or a terminal's Ctrl-C would reach it twice
    )
    interrupts = Interrupts(openjd)
    with openjd, log.open("wb") as file, _cancelling(interrupts) as cancelled, _watching(interrupts, watch):
        display(printable(line) for line in _keep(openjd.stdout or (), file))
        status = openjd.wait()
    return STOPPED if cancelled else status


def show_all(lines: Iterable[str]) -> None:
    """Show every line of openjd's log."""
    for line in lines:
        say(line)


@dataclass(frozen=True, slots=True)
class Display:
    """Shows what a person wants of openjd's log; a model in a folder goes by the folder's name."""

    course: Course
    model: str
    bar: Bar | None

    def __call__(self, lines: Iterable[str]) -> None:
        """Show the lines, those that tell how things stand in the bar where there is one."""
        for said in readable(lines, self.course):
            text = said.text.replace(self.model, Path(self.model).name) if self.model.startswith("/") else said.text
            if said.passes and self.bar:
                self.bar.show(text.strip(), self.course.done, self.course.total if self.course.done else 0)
            else:
                say(fold(text))


@contextlib.contextmanager
def _watching(interrupts: Interrupts, watch: Watch | None) -> Iterator[None]:
    """Call `watch` every few seconds until the block ends; cancel the job when it says so."""
    ended = threading.Event()

    def look() -> None:
        while watch and not ended.wait(LOOK_SECONDS):
            if watch():
                interrupts.send()
                return

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _keep(lines: Iterable[bytes], log: BinaryIO) -> Iterator[bytes]:
    """Pass `lines` on, each written to `log` first."""
    for line in lines:
        log.write(line)
        log.flush()
        yield line


@contextlib.contextmanager
def _cancelling(interrupts: Interrupts) -> Iterator[list[str]]:
    """Pass the first two of Ctrl-C and SIGTERM on to openjd; yield a list that holds what was said of them."""
    cancelled: list[str] = []

    def cancel(*_: object) -> None:
        if len(cancelled) < len(_TOLD):
            cancelled.append(_TOLD[len(cancelled)])
            say(cancelled[-1])
            interrupts.send()

    before = {number: signal.signal(number, cancel) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield cancelled
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
