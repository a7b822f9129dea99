#!/usr/bin/env python3
"""Check an input by the worker's own rules, on this machine, before a GPU is paid for.

usage: check.py FILE [--prompts RANGE] [--price-per-hour PRICE] [--summary EARLIER/summary.json] [--json] [...]

Reads FILE (JSONL, .gz too) and says what its rows are, what is wrong with which line and how to mend it, which ids
appear twice, what would not fit MaxModelLen, about how many tokens it holds, what Prompts, BlockSize and ChunkSize
suit it, what answering it may take, what the model needs and which fleets hold it, and the commands of a trial. The
job's own parameters are given under their names: --max-tokens 64, --prompt-template-file translate.jinja, ...

Exit status: 0 every row can be asked; 1 some rows would fail; 2 no row could succeed, or the input or a parameter
cannot be used at all. Memory stays below 150 MB for a million lines. Nothing is written, sent or started, but that
--ask-hub sends the model's name.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking import advice, fleets, inspection, sizes
from checking.census import EXAMPLES, Problem
from checking.inspection import DEFAULTS, Checked
from host import runner
from job.parameters import BY_NAME, flag
from rows.errors import CODES
from submission.request import split_parameter

TRIAL_LINES = 10
SIZED = ("Prompts", "BlockSize", "ChunkSize")


def findings(
    checked: Checked,
    estimate: Mapping[str, Any],
    suggested: Mapping[str, str],
    fit: fleets.Fit | None,
    trial: Sequence[str],
) -> dict[str, Any]:
    """Return everything as JSON values."""
    found, counted = checked.source, checked.census
    examples = sorted((each for kept in counted.examples.values() for each in kept), key=lambda each: each.line)
    return {
        "status": checked.status,
        "input": {"name": found.name, "sha256": found.sha256, "lines": found.lines, "bytes": found.size},
        "asked": checked.asked,
        "rows": counted.nonblank,
        "sound": counted.sound,
        "failing": counted.failing,
        "blank": counted.blank,
        "past_end": checked.past_end,
        "not_requested": found.lines - checked.present,
        "problems": dict(counted.codes.most_common()),
        "examples": [
            {"line": each.line, "code": each.code, "message": each.message, "mend": CODES[each.code].mend}
            for each in examples
        ],
        "dialects": dict(counted.by_dialect.most_common()),
        "endpoints": dict(counted.by_route.most_common()),
        "model_kinds": dict(counted.by_kind.most_common()),
        "duplicate_ids": {"count": checked.duplicates, "lines": checked.pairs},
        "longest_prompt": {"line": counted.longest[1], "tokens": counted.longest[0]},
        "suggested": dict(suggested),
        "estimate": dict(estimate),
        "model": fit.as_json() if fit else None,
        "not_checked": checked.not_checked,
        "trial": list(trial),
    }


def trial_commands(parameters: Mapping[str, str], lines: int) -> list[str]:
    """Return the commands that run the first lines: on the farm, and on this machine.

    `deadline` cuts a value of several lines at its first one; then the farm's command is submit.py, which does not.
    """
    count = min(TRIAL_LINES, max(1, lines))
    own = {name: value for name, value in parameters.items() if name not in SIZED and value != DEFAULTS[name]}
    sized = {"Prompts": f"1-{count}", "ChunkSize": str(count), "OutputDir": "trial"}
    farm = [part for name, value in {**own, **sized}.items() for part in ("--parameter", f"{name}={value}")]
    here = [part for name, value in own.items() if name != "InputFile" for part in ("-p", f"{name}={value}")]
    local = ["--input", parameters["InputFile"], "--prompts", f"1-{count}", "--output-dir", "trial", *here]
    submit = ["deadline", "bundle", "submit", ".", *farm]
    if any("\n" in value for value in own.values()):
        submit = ["python3", "tools/submit.py", local[1], *local[2:], "-p", f"ChunkSize={count}"]
    return [shlex.join(submit), shlex.join(["python3", "tools/run_local.py", *local])]


def readable(found: Mapping[str, Any], checked: Checked, model: Iterable[str]) -> list[str]:
    """Return the findings as lines for a person; `model` are those about the model."""
    size = f"{found['input']['bytes'] / 1e6:,.1f} MB"
    blank = f", {found['blank']:,} of them blank" if found["blank"] else ""
    shown = [runner.printable(f"{found['input']['name']}: {found['input']['lines']:,} lines, {size}{blank}")]
    shown.append(f"rows: {found['rows']:,} looked at, {found['sound']:,} fine, {found['failing']:,} with a problem")
    shown += [f"  {count:,} x {name}" for name, count in found["dialects"].items()]
    shown += [f"  {count:,} to {runner.printable(route)}" for route, count in found["endpoints"].items()]
    shown += ["", *inspection.problems(checked)] if found["failing"] else []
    notes = inspection.notes(checked)
    shown += ["", *(f"note: {note}" for note in notes)] if notes else []
    suggested = " ".join(f"{name}={value}" for name, value in found["suggested"].items())
    shown += ["", f"for the whole file: {suggested}"]
    longest = found["longest_prompt"]
    shown += [f"longest prompt: line {longest['line']}, about {longest['tokens']:,} tokens"] if longest["line"] else []
    return [
        *shown,
        *_estimated(found["estimate"]),
        *model,
        "to try the first lines:",
        *(f"  {line}" for line in found["trial"]),
    ]


def _estimated(estimate: Mapping[str, Any]) -> list[str]:
    shown = [
        f"tokens: about {estimate['prompt_tokens']:,} of prompts, {estimate['answer_tokens']:,} of answers",
        f"time: about {estimate['worker_hours']:,.2f} worker hours, {estimate['wall_hours']:,.2f} hours in all",
    ]
    price, cost = estimate["price_per_hour"], estimate["cost"]
    shown += [f"cost: about {cost:,.2f}, at {price:g} for a worker's hour"] if cost is not None else []
    return shown + [f"  assumed: {runner.printable(text)}" for text in estimate["assumptions"]]


def _positive(text: str) -> float:
    """Return a number above 0. Raises ArgumentTypeError."""
    with contextlib.suppress(ValueError):
        if 0 < (number := float(text)) < float("inf"):
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")


def _parameter(text: str) -> tuple[str, str]:
    """Split NAME=VALUE. Raises ArgumentTypeError, also for a name that the template has not."""
    name, value = split_parameter(text)
    if name not in BY_NAME:
        raise argparse.ArgumentTypeError(f"the template has no parameter {name!r}")
    return name, value


def _count(text: str) -> int:
    """Return a whole number above 0 and below a billion. Raises ArgumentTypeError."""
    if not (text.isdecimal() and len(text) < len("1000000000") and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0 and below a billion")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser(description="Check an input by the worker's own rules.")
    parser.add_argument("file", metavar="FILE", help="JSONL with one request a line; .gz too")
    parser.add_argument("--price-per-hour", type=_positive, help="of one worker, for an estimate of the cost")
    parser.add_argument("--summary", type=Path, help="summary.json of an earlier job, for measured rates")
    parser.add_argument("--tokens-per-second", type=_positive, help="of one worker, prompts and answers together")
    parser.add_argument("--workers", type=_count, help="that share the job at most (as many as are worth it)")
    parser.add_argument("--ask-hub", action="store_true", help="ask the Hugging Face hub how large the model is")
    parser.add_argument("--all", action="store_true", help=f"show every problem, not {EXAMPLES} of each kind")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    group = parser.add_argument_group("the job's parameters, as in the template")
    for name, default in DEFAULTS.items():
        if name not in ("InputFile", "InputUrl"):
            shown = "every line" if name == "Prompts" else repr(default)
            group.add_argument(flag(name), dest=name, metavar="VALUE", help=f"default: {shown}")
    group.add_argument(
        "-p", dest="parameters", action="append", default=[], type=_parameter, metavar="NAME=VALUE",
        help="any of the template's, as submit.py takes them; those that say nothing of rows are not looked at",
    )  # fmt: skip
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Check what the command line names, print what was found, return the exit status."""
    asked = build_parser().parse_args(argv)
    named = {name: value for name, value in asked.parameters if name in DEFAULTS}
    own = {name: value for name in DEFAULTS if (value := getattr(asked, name, None)) is not None}
    given = {"Prompts": "all", **named, **own, "InputFile": asked.file}
    show = _show(Path(asked.file).name) if asked.all and not asked.json else None
    try:
        checked = inspection.check(given, keep=None if asked.all and asked.json else EXAMPLES, report=show)
        estimate = advice.estimate(
            checked.census,
            workers=asked.workers or 1,
            price_per_hour=asked.price_per_hour,
            rate=asked.tokens_per_second,
            summary=asked.summary,
        )
        values = inspection.read_values({**dict(asked.parameters), **given})
        fit = fleets.find_fit(values, ask_hub=asked.ask_hub)
    except (*inspection.UNUSABLE, advice.AdviceError) as error:
        text = runner.printable(str(error))
        print(json.dumps({"status": 2, "error": text}) if asked.json else f"check: {text}")
        return 2
    lines = checked.source.lines
    suggested = sizes.suggest(given, lines, sizes.Work.of(given, checked.census, asked.workers))
    found = findings(checked, estimate, suggested, fit, trial_commands(given, lines))
    shown = readable(found, checked, fleets.describe(fit, values, hub_asked=asked.ask_hub))
    print(json.dumps(found, indent=2) if asked.json else "\n".join(shown))
    return checked.status


def _show(name: str) -> Callable[[Problem], None]:
    return lambda problem: print(f"{inspection.place(name, problem)} ({problem.code})")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
