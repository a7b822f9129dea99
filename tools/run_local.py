#!/usr/bin/env python3
"""Run the bundle on this machine: set up what it needs, answer the rows of a file with vLLM, say where the results are.

usage: run_local.py [--input FILE] [--output-dir FOLDER] [--prompts RANGE] [--model MODEL] [-p NAME=VALUE ...]
                    [--within TIME] [-v]

With no argument it answers the 24 rows of sample_prompts.jsonl and writes to ./results. It is "openjd run
template.yaml" with the environment that setup_env.py makes first on PATH: vLLM proper and the template's own model
where nvidia-smi finds a GPU, else vLLM's CPU build and a small real model. Progress goes to stderr, the path of
results.html to stdout. FOLDER/openjd.log keeps everything openjd said. Exit status: the job's, 1 for what cannot be
run, 130 for Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import bundle  # noqa: F401  (puts scripts/ on the path)
import setup_env
from host import files
from job.moment import write_moment
from local.openjd_log import printable, readable
from setup_env import SetupError, say

BUNDLE = Path(__file__).resolve().parent.parent
SAMPLE = BUNDLE / "sample_prompts.jsonl"
READ_SIZE = 1 << 20  # bytes; large enough that counting lines runs at the disk's speed

# What vLLM's CPU build wants; whatever of it the caller has set already stays.
CPU_ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "2"}  # GiB; the default takes most of a small machine's memory
# float32 is faster than bfloat16 on processors with AVX2 alone. On a CPU vLLM 0.32 cannot load what it compiled before
# and would compile for minutes at every start, longer than a small job takes: ask for VllmArgs without --enforce-eager
# where a long job earns that back.
CPU_VLLM_ARGS = "--dtype float32 --enforce-eager"
PRIVACY = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


class RunError(Exception):
    """The job cannot be run as asked; the message says why and what to do."""


def run(
    *,
    input_file: Path | None = SAMPLE,
    output_dir: Path = Path("results"),
    prompts: str | None = None,
    model: str | None = None,
    parameters: Mapping[str, str] | None = None,
    verbose: bool = False,
) -> int:
    """Run the job and return its exit status.

    input_file: None when `parameters` has an InputUrl. prompts: None asks for every line of input_file.
    model: a folder or a Hugging Face id; None takes the machine's default. parameters: any of the template's
    by name; they win over the other arguments. verbose: show openjd's log as it is.
    Raises RunError and setup_env.SetupError before anything runs.
    """
    setup_env.check_machine()
    given = dict(parameters or {})
    chosen = {**input_parameters(input_file, prompts, given), "OutputDir": str(output_dir.absolute()), **given}
    output_dir = Path(chosen["OutputDir"]).absolute()
    kind = "run-gpu" if has_gpu() else "run-cpu"
    python = setup_env.environment(kind)
    chosen = {**model_parameters(kind, model, given), **chosen}
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{output_dir} cannot be the folder of the results: {error.strerror}") from None
    with tempfile.TemporaryDirectory(prefix="vllm-batch-") as scratch:
        # In a file, not on the command line: values may hold line breaks, and secrets that ps would show.
        file = Path(scratch) / "parameters.json"
        file.write_text(json.dumps(chosen), encoding="utf-8")
        command = [str(python.parent / "openjd"), "run", str(BUNDLE / "template.yaml"), "-p", f"file://{file}"]
        status = show(command, environment(python, kind, chosen), output_dir / "openjd.log", verbose=verbose)
    if status == 0:
        say("\nDone. Open this in any browser:")
        print(output_dir / "output" / "results.html", flush=True)
    else:
        say(f"\nThe job did not finish (exit status {status}). All it said is in {output_dir / 'openjd.log'}")
    return status


def input_parameters(input_file: Path | None, prompts: str | None, given: Mapping[str, str]) -> dict[str, str]:
    """Return InputFile and Prompts: every line of the file unless `prompts` or `given` says which."""
    if given.get("InputUrl"):
        if not (prompts or given.get("Prompts")):
            raise RunError("With InputUrl, say which lines to run: --prompts 1-100")
        return {"Prompts": prompts} if prompts else {}
    path = Path(given.get("InputFile") or input_file or SAMPLE).absolute()
    if not path.is_file():
        raise RunError(f"There is no file {path}. Name the JSONL file to run with --input FILE")
    chosen = {"InputFile": str(path)}
    if prompts:
        chosen["Prompts"] = prompts
    elif "Prompts" not in given:
        try:
            lines = count_lines(path)
        except (OSError, EOFError, zlib.error) as error:
            raise RunError(f"{path} cannot be read: {error}") from None
        if not lines:
            raise RunError(f"{path} is empty: it needs one JSON object a line. Name another file with --input FILE")
        block = int(text) if (text := given.get("BlockSize", "1")).isdecimal() else 0
        if not block:
            raise RunError(f"BlockSize must be a whole number of at least 1, got {text!r}")
        chosen["Prompts"] = f"1-{-(-lines // block)}"
    return chosen


def count_lines(path: Path) -> int:
    """Return how many physical lines `path` has, a last one without a line break included; gzip data is unpacked."""
    lines, last = 0, b"\n"
    with path.open("rb") as file:
        packed = file.read(len(files.GZIP_MAGIC)) == files.GZIP_MAGIC
    with gzip.open(path) if packed else path.open("rb") as file:
        for block in iter(partial(file.read, READ_SIZE), b""):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n")


def has_gpu() -> bool:
    """Return whether nvidia-smi finds a GPU here."""
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listing.returncode == 0 and "GPU 0" in listing.stdout


def model_parameters(kind: str, model: str | None, given: Mapping[str, str]) -> dict[str, str]:
    """Return ModelName and VllmArgs as they suit the environment `kind`."""
    if given.get("ServerUrl"):
        return {"ModelName": model} if model else {}
    chosen = {"VllmArgs": CPU_VLLM_ARGS} if kind == "run-cpu" else {}
    if model:
        chosen["ModelName"] = str(Path(model).absolute()) if Path(model).is_dir() else model
    elif kind == "run-cpu" and "ModelName" not in given:
        chosen["ModelName"] = str(setup_env.model(setup_env.SMALL_MODEL))
    return chosen


def environment(python: Path, kind: str, parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the job's environment variables: the template's "python" is the one in `python`'s folder."""
    defaults = {**PRIVACY, **(CPU_ENVIRONMENT if kind == "run-cpu" else {})}
    if Path(parameters.get("ModelName", "")).is_absolute():
        defaults["HF_HUB_OFFLINE"] = "1"  # the model is on disk: nothing is asked of a hub
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    # scripts/ travels with submitted jobs, so no bytecode is left in it.
    ours = {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1"}
    return {**defaults, **os.environ, **ours}


def show(command: Sequence[str], variables: Mapping[str, str], log: Path, *, verbose: bool) -> int:
    """Run openjd, keep what it says in `log`, show the part that a person wants, and return its exit status.

    Ctrl-C and SIGTERM cancel the job: openjd is told once, and what it does until it has ended is still shown.
    """
    openjd = subprocess.Popen(
        command,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # or a terminal's Ctrl-C would reach it twice
    )
    with openjd, log.open("wb") as file, cancelling(openjd) as cancelled:
        lines = (printable(line) for line in kept(openjd.stdout or (), file))
        width = shutil.get_terminal_size().columns if sys.stderr.isatty() and not verbose else None
        for line in lines if verbose else readable(lines):
            say(line[:width])  # a terminal gets one row a line; the log has the rest
        status = openjd.wait()
    return 130 if cancelled else status


def kept(lines: Iterable[bytes], log: BinaryIO) -> Iterator[bytes]:
    """Pass `lines` on, each written to `log` first."""
    for line in lines:
        log.write(line)
        log.flush()
        yield line


@contextlib.contextmanager
def cancelling(openjd: subprocess.Popen[bytes]) -> Iterator[list[float]]:
    """Pass the first Ctrl-C or SIGTERM on to openjd; yield a list that holds its time when there was one."""
    cancelled: list[float] = []

    def cancel(*_: object) -> None:
        if not cancelled:
            say("Cancelling: the job saves what it has and ends its server ...")
            openjd.send_signal(signal.SIGINT)
            cancelled.append(time.monotonic())

    before = {number: signal.signal(number, cancel) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield cancelled
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def parameter(text: str) -> tuple[str, str]:
    """Split NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def stop_within(text: str) -> tuple[str, str]:
    """Return the StopAt that is so far from now: `2h`, `90m`, `1h30m`, `1d`."""
    parts = re.fullmatch(r"(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?", text.strip())
    numbers = [int(part or 0) for part in parts.groups()] if parts else []
    seconds = sum(number * unit for number, unit in zip(numbers, (86400, 3600, 60, 1), strict=False))
    if not seconds:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2h, 90m or 1h30m")
    return "StopAt", write_moment(time.time() + seconds)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser(description="Run the bundle on this machine with vLLM.")
    parser.add_argument("--input", type=Path, metavar="FILE", help="JSONL file to run (default: sample_prompts.jsonl)")
    parser.add_argument(
        "--output-dir", type=Path, default=Path("results"), metavar="FOLDER", help="where the results go (./results)"
    )
    parser.add_argument("--prompts", metavar="RANGE", help="lines to run, for example 1-10 or 2,5,8-9 (default: all)")
    parser.add_argument("--model", help="a model folder or a Hugging Face id (default: what suits this machine)")
    parser.add_argument(
        "-p", dest="parameters", action="append", default=[], type=parameter, metavar="NAME=VALUE",
        help="set any parameter of the template; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--within", dest="parameters", action="append", type=stop_within, metavar="TIME",
        help="ask nothing after so long, such as 2h or 90m; the job still ends in results",
    )  # fmt: skip
    parser.add_argument("-v", "--verbose", action="store_true", help="show everything openjd says")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job that the command line asks for."""
    asked = build_parser().parse_args(argv)
    try:
        return run(
            input_file=asked.input,
            output_dir=asked.output_dir,
            prompts=asked.prompts,
            model=asked.model,
            parameters=dict(asked.parameters),
            verbose=asked.verbose,
        )
    except (RunError, SetupError) as error:
        say(f"run_local: {error}")
        return 1
    except KeyboardInterrupt:
        say("run_local: interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
