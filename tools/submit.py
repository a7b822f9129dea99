#!/usr/bin/env python3
"""Answer a file on the farm, in one command: check, submit, wait, download, merge, and say where the page is.

usage: submit.py FILE [--output-dir FOLDER] [--prompts RANGE] [-p NAME=VALUE ...] [--within TIME] [--local] [--no-wait]
       submit.py --resume JOB_ID [FILE --output-dir FOLDER]

Every line of FILE is asked for unless --prompts (or -p Prompts=...) says which; task sizes are those that check.py
suggests unless -p sets them. It runs `deadline bundle submit`, `deadline job get` until the job has ended, `deadline
job download-output` with OVERWRITE, and scripts/aggregate.py over the shards that are then in FOLDER, so that a second
job into one folder completes the first. `deadline` is asked for its farm and queue; --farm-id, --queue-id and --profile
are passed on to it. --resume goes on with a job after a lost terminal: what it needs is noted in the cache folder of
setup_env.py, without secrets. --local runs the same on this machine, through run_local.py.

Values go to `deadline` in files, so that none shows in a list of processes. Exit status: 0 the job succeeded (rows may
have failed: the summary says so), 1 it did not, 2 nothing was submitted, 130 Ctrl-C (the job goes on).
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import bundle  # noqa: F401  (puts scripts/ on the path)
import run_local
from checking import advice, inspection
from host import runner
from job.parameters import BY_NAME, FILES, JobError
from run_local import RunError
from setup_env import SetupError, say
from submission import farm_job
from submission.farm_job import FarmJob, FarmJobError, NoJob, Note


def _whole(path: str | Path) -> str:
    """Return an absolute path without "..", which leads nowhere in a worker's copy of a folder; links stay."""
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would put a link's target in the place of its name


class NotSubmitted(Exception):
    """The job was not submitted; the message says why and what to do."""


def parameters(asked: argparse.Namespace) -> dict[str, str]:
    """Return the job's parameters, the sizes chosen where nothing sets them. Raises NotSubmitted."""
    given = dict(asked.parameters)
    if asked.file:
        given["InputFile"] = _whole(asked.file)
    if asked.prompts:
        given["Prompts"] = asked.prompts
    chosen = {"OutputDir": str(asked.output_dir), **given}
    refuse_unusable(chosen)
    chosen["OutputDir"] = _whole(chosen["OutputDir"])
    for name in FILES:
        if chosen.get(name):
            chosen[name] = _whole(chosen[name])
    if not chosen.get("InputFile"):
        if not (chosen.get("InputUrl") and chosen.get("Prompts")):
            raise NotSubmitted("name the file to run, or give -p InputUrl=... with --prompts")
        say("InputUrl is not checked: it is fetched on the worker")
        return chosen
    if inspection.is_all(chosen.get("Prompts", "all")):
        chosen.pop("Prompts", None)
        chosen = {**checked_sizes(chosen), **chosen}
    else:
        show_check(chosen)
    return {**chosen, "InputFile": str(out_of_the_way(Path(chosen["InputFile"]), Path(chosen["OutputDir"])))}


def refuse_unusable(chosen: Mapping[str, str]) -> None:
    """Raise NotSubmitted for a name that no parameter has, and JobError for a value that its parameter cannot have."""
    for name in chosen.keys() - BY_NAME.keys():
        close = difflib.get_close_matches(name, BY_NAME, n=1)
        raise NotSubmitted(f"there is no parameter {name}" + (f"; did you mean {close[0]}?" if close else ""))
    inspection.read_values(chosen)


def out_of_the_way(file: Path, output_dir: Path) -> Path:
    """Return the input, or a copy where it is one of the files that the job's download will replace (retry.jsonl)."""
    if file.parent.resolve() != (output_dir / "output").resolve():
        return file
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    copy = output_dir / f"input-{digest[:12]}{''.join(file.suffixes)}"
    if not copy.exists():
        shutil.copy(file, copy)
    say(f"the input is copied to {copy}, since the download will replace {file.name}")
    return copy


def checked_sizes(chosen: Mapping[str, str]) -> dict[str, str]:
    """Show what check.py finds in the whole file; return the sizes that suit it. Raises NotSubmitted."""
    found = show_check({**chosen, "Prompts": "all"})
    sizes = advice.suggested(chosen, found.source.lines)
    say("sizes: " + " ".join(f"{name}={value}" for name, value in sizes.items()))
    return sizes


def show_check(chosen: Mapping[str, str]) -> inspection.Checked:
    """Check the input and show what is found. Raises NotSubmitted when no row could succeed."""
    try:
        found = inspection.check(chosen)
    except inspection.UNUSABLE as error:
        raise NotSubmitted(str(error)) from None
    say(f"{found.source.name}: {found.census.sound:,} of {found.census.nonblank:,} rows are fine")
    for line in [*inspection.problems(found), *(f"note: {note}" for note in inspection.notes(found))]:
        say(runner.printable(line))
    if found.census.hopeless:
        raise NotSubmitted("no row could be answered; see above")
    return found


def submit(chosen: Mapping[str, str], asked: argparse.Namespace) -> int:
    """Submit to the farm and, unless told otherwise, see the job through."""
    options = farm_job.options(farm_id=asked.farm_id, queue_id=asked.queue_id, profile=asked.profile)
    try:
        submitted = FarmJob.submit(chosen, options, name=asked.name)
    except NoJob as error:
        raise NotSubmitted(str(error)) from None
    note = Note.of(submitted.id, chosen)
    note.write()
    again = f"python3 tools/submit.py --resume {submitted.id}"
    try:
        say(f"submitted {submitted.id}")
        if asked.no_wait:
            say(f"To fetch the results later: {again}")
            return 0
        return see_through(submitted, note)
    except KeyboardInterrupt:
        say(f"\nThe job goes on. To come back to it: {again}")
        return 130


def resume(asked: argparse.Namespace) -> int:
    """Go on with a job that was submitted earlier."""
    options = farm_job.options(farm_id=asked.farm_id, queue_id=asked.queue_id, profile=asked.profile)
    note = Note.read(asked.resume)
    if asked.file:  # on another machine than the one that submitted
        if not Path(asked.file).is_file():
            raise NotSubmitted(f"there is no file {asked.file}; name the file that the job was submitted with")
        known = note.parameters if note else {}
        folders = {"InputFile": _whole(asked.file), "OutputDir": _whole(asked.output_dir)}
        note = Note(asked.resume, {**known, **folders})
    return see_through(FarmJob(asked.resume, options), note)


def see_through(submitted: FarmJob, note: Note | None) -> int:
    """Wait, download and merge; print the page's path and return the exit status."""
    status = submitted.wait()
    say(f"the job ended: {status}")
    submitted.download()
    if note is None:
        say("Nothing is noted about this job here, so earlier results in its folder are not merged: name the file,")
        say(f"python3 tools/submit.py --resume {submitted.id} FILE --output-dir FOLDER")
        return 0 if status == "SUCCEEDED" else 1
    merged = farm_job.merge(note.parameters)
    page = Path(note.parameters["OutputDir"]) / "output" / "results.html"
    if page.is_file():
        say("\nOpen this in any browser:")
        print(page, flush=True)
    else:
        say(f"There is no {page}: the job left no results. deadline job logs --job-id {submitted.id} says why")
    return 0 if status == "SUCCEEDED" and merged else 1


def build_parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser(description="Answer a file on the farm: check, submit, wait, download, merge.")
    parser.add_argument("file", nargs="?", metavar="FILE", help="JSONL with one request a line; .gz too")
    parser.add_argument("--output-dir", type=Path, default=Path("results"), metavar="FOLDER", help="default: ./results")
    parser.add_argument("--prompts", metavar="RANGE", help="lines to run, such as 1-10 (default: every line)")
    parser.add_argument(
        "-p", dest="parameters", action="append", default=[], type=run_local.parameter, metavar="NAME=VALUE",
        help="set any parameter of the template; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--within", dest="parameters", action="append", type=run_local.stop_within, metavar="TIME",
        help="ask nothing after so long, such as 2h or 90m; the job still ends in results",
    )  # fmt: skip
    parser.add_argument("--name", help="the job's name")
    parser.add_argument("--no-wait", action="store_true", help="return once the job is submitted")
    parser.add_argument("--resume", metavar="JOB_ID", help="wait for a job that was submitted, and fetch its results")
    parser.add_argument("--local", action="store_true", help="run on this machine instead of the farm")
    parser.add_argument("-v", "--verbose", action="store_true", help="with --local: show everything openjd says")
    for option in ("--farm-id", "--queue-id", "--profile"):
        parser.add_argument(option, help="passed on to deadline")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    asked = build_parser().parse_args(argv)
    try:
        if asked.resume:
            return resume(asked)
        chosen = parameters(asked)
        if asked.local:  # the job's own Aggregate sees every shard of the folder
            return run_local.run(input_file=None, parameters=chosen, verbose=asked.verbose)
        return submit(chosen, asked)
    except (NotSubmitted, JobError) as error:
        say(f"NOT SUBMITTED: {runner.printable(str(error))}")
        return 2
    except (FarmJobError, RunError, SetupError) as error:
        say(f"submit: {error}")
        return 1
    except KeyboardInterrupt:
        say("submit: interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
