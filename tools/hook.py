#!/usr/bin/env python3
"""The preSubmission hook of hooks.yaml: check the input before anything is uploaded.

Reads the submission as `deadline` gives it (JSON on stdin), the files that InputFile, PromptTemplateFile and
ResponseSchemaFile name, template.yaml, and the answers in OutputDir. Writes nothing and reaches no network. What it
finds goes to stderr; exit status 1 ends the submission, for an input of which no line could succeed or a parameter that
cannot be used. Rows that would fail, lines that would be left out, and lines that have an answer already are told and
let through. `Prompts=all` becomes the file's own range.

stdout stays empty or holds one JSON object for `deadline`: a template in which the range and the job's name are written
out. A value from the command line cannot be changed by a hook, and a name given by --name is lost when one runs.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if sys.version_info < (3, 11):  # noqa: UP036  (a submitter's python3 may be any)
    print("not checked: the checks need Python 3.11 or newer as python3", file=sys.stderr)
    sys.exit(0)

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking import advice, inspection
from checking.expiry import tell_expiry
from checking.inspection import DEFAULTS, Checked, is_all
from host import runner
from job.parameters import JobError
from submission import missing

CHECKED_LINES = 100_000  # of a larger file, so that a submission waits seconds and not minutes
MANY_TASKS = 1_000  # from here on larger blocks or chunks are suggested
_RANGE = re.compile(r"\{\{\s*Param\.Prompts\s*\}\}")
_NAME = re.compile(r"^name:.*$", re.MULTILINE)


class Refused(Exception):
    """A submission that should not go on; the message says why and what to do."""


def hook(submission: Mapping[str, Any]) -> dict[str, Any]:
    """Check a submission, say what was found, and return what `deadline` should change. Raises Refused."""
    values = submission.get("parameters") or {}
    given = {**DEFAULTS, **{name: str(value) for name, value in values.items() if value is not None}}
    inspection.read_values(given)  # what is out of its bounds is refused here, before anything is uploaded
    if not given["InputFile"]:
        return _without_file(given)
    checked = _checked(given)
    for line in _report(given, checked):
        say(line)
    if checked.census.hopeless:
        raise Refused(f"none of the {checked.asked:,} lines of {checked.source.name} could be answered; see above")
    prompts = advice.whole_range(checked.source.lines, int(given["BlockSize"])) if is_all(given["Prompts"]) else ""
    if prompts:
        say(f"Prompts=all is {prompts}")
    if advised := missing.advise({**given, "Prompts": prompts or given["Prompts"]}):
        say(advised)
    return _changes(submission, prompts)


def _without_file(given: Mapping[str, str]) -> dict[str, Any]:
    if not given["InputUrl"]:
        raise Refused("there is no input: set InputFile to a .jsonl file, or InputUrl to where one can be fetched")
    if is_all(given["Prompts"]):
        raise Refused("Prompts=all needs InputFile; with InputUrl name the lines, such as Prompts=1-1000")
    for line in ("InputUrl is not checked: it is fetched on the worker", *tell_expiry(given)):
        say(line)
    return {}


def _checked(given: Mapping[str, str]) -> Checked:
    try:
        return inspection.check(given, limit=CHECKED_LINES)
    except inspection.UNUSABLE as error:
        raise Refused(str(error)) from None


def _report(given: Mapping[str, str], checked: Checked) -> list[str]:
    """Return what a person should read before the upload."""
    name, lines, counted = checked.source.name, checked.source.lines, checked.census
    shown = [f"{name}: {counted.sound:,} of {counted.nonblank:,} rows are fine"]
    if checked.present < lines:
        shown.append(f"WARNING: {name} has {lines:,} lines, {_told(given)} will run (Prompts=all runs every line)")
    shown += inspection.problems(checked)
    left_out = "lines of the file are not asked for"  # said better above
    shown += [f"note: {note}" for note in inspection.notes(checked) if left_out not in note]
    tasks = -(-checked.present // (int(given["BlockSize"]) * int(given["ChunkSize"])))
    if tasks > MANY_TASKS:
        better = advice.sizes(lines)
        shown.append(
            f"note: this makes about {tasks:,} tasks; BlockSize={better.BlockSize} ChunkSize={better.ChunkSize} "
            f"Prompts={better.Prompts} would make fewer, larger ones"
        )
    return shown


def _told(given: Mapping[str, str]) -> str:
    block = int(given["BlockSize"])
    return given["Prompts"] if block == 1 else f"{given['Prompts']} in blocks of {block:,}"


def _changes(submission: Mapping[str, Any], prompts: str) -> dict[str, Any]:
    """Return the template with the range and the name written out, where they differ from what is there."""
    path = Path(submission["jobBundleDir"]) / "template.yaml"
    if not path.is_file():
        return {"parameters": {"Prompts": prompts}} if prompts else {}
    before = path.read_text(encoding="utf-8")
    template = _RANGE.sub(prompts, before) if prompts else before
    name = submission.get("jobName")
    found = _NAME.search(template)
    if name and found and found[0] not in (f"name: {name}", f"name: {json.dumps(name)}"):
        template = template[: found.start()] + f"name: {json.dumps(name)}" + template[found.end() :]
    changes: dict[str, Any] = {"template": template} if template != before else {}
    return {**changes, "parameters": {"Prompts": prompts}} if prompts else changes


def say(text: str) -> None:
    """Show a line to the person who submits."""
    print(runner.printable(text), file=sys.stderr, flush=True)


def main() -> int:
    """Check the submission on stdin; return 1, with the reason told, when it should not go on."""
    try:
        changes = hook(json.load(sys.stdin))
    except (Refused, JobError) as error:
        say(f"NOT SUBMITTED: {error}")
        return 1
    if changes:
        json.dump(changes, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
