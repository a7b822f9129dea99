#!/usr/bin/env python3
"""Answer a file on the farm, in one command: check, submit, wait, download, merge, and say where the page is.

usage: submit.py FILE [--output-dir FOLDER] [--prompts RANGE] [-p NAME=VALUE ...] [--within TIME] [--local] [--no-wait]
                 [--again] [--trial N [--yes]] [--follow] [--stop-if-failed PERCENT] [--price-per-hour DOLLARS]
                 [--table answers.xlsx]
       submit.py --after JOB_OR_FOLDER --output-dir FOLDER [--prompt-template-file FILE] [the same options]
       submit.py --resume JOB_ID [FILE --output-dir FOLDER] [--follow] [--table answers.xlsx]

Every line of FILE that has no answer to the same question in FOLDER is asked, of the lines that --prompts (or -p
Prompts=...) names where it does; --again asks them all, --trial N asks N first and shows them. Task sizes are those
that check.py suggests unless -p sets them. It runs `deadline bundle submit`, `deadline job get` until the job has
ended, `deadline job download-output` with OVERWRITE, and scripts/aggregate.py over the shards that are then in FOLDER,
so that a second job into one folder completes the first; it asks the service, too, what it counted for the job.
`deadline` is asked for its farm and queue; --farm-id, --queue-id and --profile are passed on to it. --resume goes on
with a job after a lost terminal: what it needs is noted in the cache folder of setup_env.py, without secrets. --local
runs the same on this machine, as run_local.py does. --after answers the output of an earlier job, as a judge does.
--table makes a table of the results at the end, as to_table.py does.

Values go to `deadline` in files, so that none shows in a list of processes. Exit status: 0 the job succeeded (rows may
have failed: the summary says so), 1 it did not or no row was answered, 2 nothing was submitted, 130 Ctrl-C (a job on
the farm goes on).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import bundle  # noqa: F401  (puts scripts/ on the path)
from host import runner
from job.parameters import JobError
from local.local_job import LocalJobError, Machine
from setup_env import SetupError, say
from submission import farm_job
from submission.answering import answer, read_wishes
from submission.chain import read_chain
from submission.command import write_again
from submission.ending import Ending
from submission.farm_job import FarmJobError, Note
from submission.follow import Following
from submission.on_farm import OnFarm
from submission.on_machine import OnMachine
from submission.request import PRICE, Request, RequestError, add_options, make_whole, read_request
from table.writers import TableError
from to_table import check_form, make_table

PROGRAM = "tools/submit.py"


def resume(asked: argparse.Namespace, farm: OnFarm) -> int:
    """Go on with a job that was submitted earlier."""
    note = Note.read(asked.resume)
    if asked.file:  # on another machine than the one that submitted
        if not Path(asked.file).is_file():
            raise RequestError(f"there is no file {asked.file}; name the file that the job was submitted with")
        known = note.parameters if note else {}
        folders = {"InputFile": make_whole(asked.file), "OutputDir": make_whole(asked.output_dir)}
        note = Note(asked.resume, {**known, **folders})
    price = {name: value for name, value in asked.parameters if name == PRICE}
    request = Request({**note.parameters, **price}) if note else None
    status = farm.come_back(asked.resume, request)
    return add_table(asked, request.output, status) if request else status


def submit(asked: argparse.Namespace, typed: Sequence[str], farm: OnFarm) -> int:
    """Answer a file, on the farm or on this machine."""
    wishes = read_wishes(asked, PROGRAM, typed)
    if asked.no_wait and (asked.trial or farm.following):
        raise RequestError("a trial and a job that is followed are waited for: leave out --no-wait")
    request = read_chain(asked, asked.file, farm) if asked.after else read_request(asked, asked.file)
    check_table(asked)
    if not asked.local:
        return add_table(asked, request.output, answer(request, farm, wishes))
    machine = Machine.prepare()
    request = request.with_values(machine.choose_model(None, request.parameters))
    here = OnMachine(machine, farm.ending, asked.verbose, farm.following)
    return add_table(asked, request.output, answer(request, here, wishes))


def check_table(asked: argparse.Namespace) -> None:
    """Refuse a table that could not be made at the end. Raises RequestError."""
    if asked.table and asked.no_wait:
        raise RequestError("a table is made of the results: leave out --no-wait or --table")
    try:
        if asked.table:
            check_form(asked.table)
    except TableError as error:
        raise RequestError(str(error)) from None


def add_table(asked: argparse.Namespace, output: Path, status: int) -> int:
    """Make the table that was asked for of what there is; return the exit status."""
    return max(status, make_table(output, asked.table)) if asked.table else status


def build_parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser(description="Answer a file on the farm: check, submit, wait, download, merge.")
    parser.add_argument("file", nargs="?", metavar="FILE", help="JSONL with one request a line; .gz too")
    add_options(parser)
    parser.add_argument("--name", help="the job's name")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="make a table at the end: .xlsx, .csv, .parquet or .jsonl"
    )
    parser.add_argument("--no-wait", action="store_true", help="return once the job is submitted")
    parser.add_argument("--resume", metavar="JOB_ID", help="wait for a job that was submitted, and fetch its results")
    parser.add_argument("--local", action="store_true", help="run on this machine instead of the farm")
    for option in ("--farm-id", "--queue-id", "--profile"):
        parser.add_argument(option, help="passed on to deadline")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    typed = list(sys.argv[1:] if argv is None else argv)
    asked = build_parser().parse_args(typed)
    try:
        options = farm_job.options(farm_id=asked.farm_id, queue_id=asked.queue_id, profile=asked.profile)
        ending = Ending("" if asked.resume else write_again(PROGRAM, typed), has_table=bool(asked.table))
        farm = OnFarm(options, asked.name, not asked.no_wait, Following.read(asked), ending)
        if asked.resume:
            return resume(asked, farm)
        return submit(asked, typed, farm)
    except (RequestError, JobError) as error:
        say(f"NOT SUBMITTED: {runner.printable(str(error))}")
        return 2
    except (FarmJobError, LocalJobError, SetupError) as error:
        say(f"submit: {error}")
        return 1
    except KeyboardInterrupt:
        say("submit: interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
