#!/usr/bin/env python3
"""The preSubmission hook of hooks.yaml: check the input before anything is uploaded.

Reads the submission as `deadline` gives it (JSON on stdin), the files that InputFile, PromptTemplateFile and
ResponseSchemaFile name, template.yaml, and the answers in OutputDir. Writes nothing and reaches no network. What it
finds goes to stderr; exit status 1 ends the submission, for an input of which no line could succeed or a parameter that
cannot be used. Rows that would fail, lines that would be left out, and lines that have an answer already are told and
let through. `Prompts=all` becomes the file's own range, and BlockSize, ChunkSize and TargetRuntimeSeconds become what
suits the lines asked for, where nobody chose them.

stdout stays empty or holds one JSON object for `deadline`: a template in which the range, the sizes and the job's name
are written out, and which asks for no GPU where ServerUrl names a server. A value from the command line or the form
cannot be changed by a hook, and a name given by --name is lost when one runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if sys.version_info < (3, 11):  # noqa: UP036  (a submitter's python3 may be any)
    print("not checked: the checks need Python 3.11 or newer as python3", file=sys.stderr)
    sys.exit(0)

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking import inspection, sizes
from checking.expiry import tell_expiry
from checking.inspection import DEFAULTS, Checked
from host import runner
from job.parameters import BY_NAME, FILES, JobError
from rows import ranges
from submission import missing, template

CHECKED_LINES = 100_000  # of a larger file, so that a submission waits seconds and not minutes
MANY_TASKS = 1_000  # from here on sizes that were given are doubted


class Refused(Exception):
    """A submission that should not go on; the message says why and what to do."""


def hook(submission: Mapping[str, Any]) -> dict[str, Any]:
    """Check a submission, say what was found, and return what `deadline` should change. Raises Refused."""
    values = submission.get("parameters") or {}
    given = {**DEFAULTS, **{name: str(value) for name, value in values.items() if value is not None}}
    inspection.read_values(given)  # what is out of its bounds is refused here, before anything is uploaded
    chosen = _chosen(values)
    if not given["InputFile"]:
        return _changes(submission, given, _without_file(given, chosen))
    checked = _checked(given)
    for line in _report(given, checked):
        say(line)
    if checked.census.hopeless:
        raise Refused(f"none of the {checked.asked:,} lines of {checked.source.name} could be answered; see above")
    work = sizes.Work.of(given, checked.census)
    suited = sizes.suggest_for(chosen, checked.wanted, checked.source.lines, work)
    tasks = -(-checked.present // (int(suited["BlockSize"]) * int(suited["ChunkSize"])))
    if tasks > MANY_TASKS and chosen.keys() & set(sizes.NAMES):
        say(f"note: the sizes that were given make about {tasks:,} tasks; leave them out for fewer, larger ones")
    every = sizes.whole_range(checked.source.lines, int(given["BlockSize"]))
    if advised := missing.advise({**given, "Prompts": every if sizes.is_all(given["Prompts"]) else given["Prompts"]}):
        say(advised)
    return _changes(submission, given, suited)


def _chosen(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the Prompts, and the sizes that a person chose.

    A command line gives what a person typed. The form gives every parameter, those that nobody touched as well; of
    either `deadline` leaves out a path that is empty.
    """
    is_form = all(values.get(name) is not None for name in BY_NAME.keys() - set(FILES))
    said = {name: str(values[name]) for name in sizes.NAMES if values.get(name) is not None}
    touched = {name: value for name, value in said.items() if not is_form or value != str(BY_NAME[name].default)}
    return {"Prompts": str(values.get("Prompts") or BY_NAME["Prompts"].default), **touched}


def _without_file(given: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the sizes for an input that is fetched on the worker. Raises Refused."""
    if not given["InputUrl"]:
        raise Refused("there is no input: set InputFile to a .jsonl file, or InputUrl to where one can be fetched")
    if sizes.is_all(given["Prompts"]):
        raise Refused("Prompts=all needs InputFile; with InputUrl name the lines, such as Prompts=1-1000")
    for line in ("InputUrl is not checked: it is fetched on the worker", *tell_expiry(given)):
        say(line)
    try:
        wanted = ranges.of_values(given["Prompts"], int(given["BlockSize"]))
    except ranges.RangeError as error:
        raise Refused(str(error)) from None
    return sizes.suggest_for(chosen, wanted, None, sizes.Work.of(given))


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
    return shown


def _told(given: Mapping[str, str]) -> str:
    block = int(given["BlockSize"])
    return given["Prompts"] if block == 1 else f"{given['Prompts']} in blocks of {block:,}"


def _changes(submission: Mapping[str, Any], given: Mapping[str, str], suited: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters that become others, and the template with these and the job's name written out."""
    changed = {name: value for name, value in suited.items() if value != given.get(name, str(BY_NAME[name].default))}
    if changed:
        say("sizes: " + " ".join(f"{name}={value}" for name, value in suited.items()))
    if given.get("ServerUrl") and "CondaPackages" not in given:
        changed["CondaPackages"] = template.CLIENT_PACKAGES
    parameters: dict[str, Any] = {"parameters": changed} if changed else {}
    path = Path(submission["jobBundleDir"]) / "template.yaml"
    if not path.is_file():
        return parameters
    before = path.read_text(encoding="utf-8")
    after = template.write_values(before, changed)
    if given.get("ServerUrl"):
        after = _without_engine(after, {**given, **changed}["CondaPackages"])
    if name := submission.get("jobName"):
        after = template.write_name(after, name)
    return {**parameters, "template": after} if after != before else parameters


def _without_engine(text: str, packages: str) -> str:
    """Return the template of a job with ServerUrl, which runs on any worker where its packages can be installed."""
    if template.ENGINE not in packages:
        return template.drop_engine(text)
    say(f"note: with ServerUrl a worker without a GPU will do if CondaPackages is {template.CLIENT_PACKAGES}")
    return text


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
