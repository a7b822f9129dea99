#!/usr/bin/env python3
"""Run the bundle on this machine: set up what it needs, answer the rows of a file with vLLM, say where the results are.

usage: run_local.py [--input FILE] [--output-dir FOLDER] [--prompts RANGE] [--model MODEL] [-p NAME=VALUE ...]
                    [--within TIME] [--after FOLDER] [--prompt-template-file FILE] [--again] [--trial N [--yes]]
                    [--follow] [--stop-if-failed PERCENT] [--price-per-hour DOLLARS] [-v]

With no argument it answers the 24 rows of sample_prompts.jsonl and writes to ./results. It is "openjd run
template.yaml" with the environment that setup_env.py makes first on PATH: vLLM proper and the template's own model
where nvidia-smi finds a GPU, else vLLM's CPU build and a small real model. The file is checked first, and task sizes
are those that suit it, and only lines without an answer to the same question are asked, as submit.py does, whose
--local is the same; --after reads the answers of an earlier run. Progress goes to stderr, with a bar where that is a
terminal and this Python has rich, the path of results.html to stdout. FOLDER/openjd.log keeps everything openjd said.

Ctrl-C lets the job keep what arrives within two minutes, a second one ends it at once; either way what was answered is
merged, and the page and the command that goes on are named. Exit status: the job's, 1 for what cannot be run
or where no row was answered, 130 for Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import bundle
from host import runner
from job.parameters import JobError
from local.local_job import LocalJobError, Machine
from setup_env import SetupError, say
from submission.answering import answer, read_wishes
from submission.chain import read_chain
from submission.command import write_again
from submission.ending import Ending
from submission.follow import Following
from submission.on_machine import OnMachine
from submission.request import RequestError, add_options, read_request

PROGRAM = "tools/run_local.py"
SAMPLE = bundle.ROOT / "sample_prompts.jsonl"


def run(asked: argparse.Namespace, typed: Sequence[str]) -> int:
    """Answer what a command line asks for and return the job's exit status."""
    given = dict(asked.parameters)
    file = asked.input or (None if given.keys() & {"InputFile", "InputUrl"} else SAMPLE)
    request = read_chain(asked, asked.input) if asked.after else read_request(asked, file)
    machine = Machine.prepare()
    request = request.with_values(machine.choose_model(asked.model, request.parameters))
    here = OnMachine(machine, Ending(write_again(PROGRAM, typed)), asked.verbose, Following.read(asked))
    return answer(request, here, read_wishes(asked, PROGRAM, typed))


def build_parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser(description="Run the bundle on this machine with vLLM.")
    parser.add_argument("--input", type=Path, metavar="FILE", help="JSONL file to run (default: sample_prompts.jsonl)")
    add_options(parser)
    parser.add_argument("--model", help="a model folder or a Hugging Face id (default: what suits this machine)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job that the command line asks for."""
    typed = list(sys.argv[1:] if argv is None else argv)
    asked = build_parser().parse_args(typed)
    try:
        return run(asked, typed)
    except (RequestError, JobError, LocalJobError, SetupError) as error:
        say(f"run_local: {runner.printable(str(error))}")
        return 1
    except KeyboardInterrupt:
        say("run_local: interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
