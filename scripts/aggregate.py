"""Merge the shards into the finished files: the onRun of step Aggregate, and the same on a user's own machine.

Reads OutputDir/output/results and the input; writes output.jsonl, errors.jsonl, retry.jsonl, summary.json and
results.html beside it, each whole. Proves that every requested line has exactly one result, and gives those without one
an error of their own. A result counts for a line where it was asked the line's own question: on the terms that the
command line gives, or else on those of the newest shard. Running it again over the same shards changes nothing.

By hand: python scripts/aggregate.py --input-file prompts.jsonl --output-dir results
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.dont_write_bytecode = True  # scripts/ travels with every job, and people run this program by hand

import argparse
import contextlib
import importlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from host import files, runner, transfer
from job import arguments, parameters
from job.defaults import Defaults, check_output_field
from job.parameters import JobError
from page.writer import Page, PageReport
from results import cost, shards, summary, terms
from results.delivery import deliver
from results.finished import write_rows
from results.in_order import Results
from results.late import wait_for_shards
from results.merge import Merge
from results.prompts import Prompts
from results.retry import DAMAGED, find_input
from results.terms import Terms
from results.usage import find_usages
from rows import ranges, reserve, source

_REPLACED = (
    "the finished files here were those of another input ({name!r}, {lines:,} lines) and are replaced; its answers are "
    "still in results/"
)
EXPECTED = (JobError, source.SourceError, transfer.TransferError, ranges.RangeError, OSError)


class Canceled(Exception):
    """The host asked the merge to end."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this program's arguments."""
    parser = argparse.ArgumentParser(description="Merge the shards of a job into output.jsonl and results.html.")
    parser.add_argument("--session-dir", type=Path, help="the session's own folder; a temporary one by default")
    parser.add_argument("--output-dir", type=Path, required=True, help="OutputDir of the job")
    parser.add_argument(
        "--unfinished", default="", metavar="TEXT", help="how far a job is that still runs, for the page"
    )
    told = ("Prompts", "BlockSize", "PricePerHour", *terms.NAMES)
    arguments.add_parameters(parser, ("InputFile", "InputUrl", "OutputUrl", *told))
    parser.set_defaults(**dict.fromkeys(told))  # the shards tell what was asked for
    return parser


def main(argv: list[str] | None = None) -> int:
    """Merge; return 0 whenever the files were written, also when rows failed, else 1 or 143 with the reason."""
    options = build_parser().parse_args(argv)
    with contextlib.ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, _canceled))
        session = options.session_dir or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            _check_packages()
            given = arguments.read_values(options)
            return aggregate(options.output_dir / "output", session, given, unfinished=options.unfinished)
        except Canceled as error:
            runner.fail(str(error))
            return 143
        except EXPECTED as error:
            runner.fail(f"{error}{'; free some space and run it again' if getattr(error, 'errno', 0) == 28 else ''}")
            return 1


def _check_packages() -> None:
    """Refuse a Python that could not write the page, before anything is read. Raises JobError."""
    try:
        importlib.import_module("jinja2")
    except ImportError:
        advice = f"install it and merge again: {sys.executable} -m pip install jinja2"
        raise JobError(f"results.html is made with jinja2, which this Python lacks; {advice}") from None


def _canceled(*_: object) -> NoReturn:
    """End by way of an exception, so that no temporary file stays behind among the job's output."""
    raise Canceled("canceled before the end; run it again, what the workers answered is in results/")


def aggregate(output: Path, session: Path, given: Mapping[str, Any], *, unfinished: str = "") -> int:
    """Write the finished files; `given` are the parameters of the command line, `unfinished` tells of a running job."""
    files.make_folder(output)
    if _is_done(given["InputFile"], output):
        runner.say("retry.jsonl is empty: no line is left to run again, and the finished files stay as they are")
        return 0
    found, notes = _find_source(given, output, session)
    if "DEADLINE_JOB_ID" in os.environ and given["Prompts"]:
        wait_for_shards(output / "results", found.sha256, given)
    merge = Merge(find_input(found, output / "results"), _find_terms(given), notes=notes)
    _request(merge, given)
    merge.take(output / "results")
    if not merge.requested:
        raise source.SourceError(
            f"there is no shard of {merge.input.name} in OutputDir/output/results, and no range was asked for; "
            "check the input file and the folder"
        )
    values = _job_values(merge, given, output)
    field = values.get("OutputField", parameters.BY_NAME["OutputField"].default)
    prompts = Prompts.of(merge.terms)
    with contextlib.closing(merge), Page(output, prompts.system) as page:
        results = Results(merge, Defaults(output_field=check_output_field(field)), is_unfinished=bool(unfinished))
        counts = write_rows(results, prompts, output, page)
        whole = summary.summarise(counts, merge, values, find_usages(output / "results"))
        if unfinished:
            summary.mark_unfinished(whole, unfinished)
        report = _write_reports(whole, output, page)
        refusal = deliver(given["OutputUrl"], output)
        if refusal:
            whole["notes"].append(refusal)
            _write_reports(whole, output, page)
    if report.held < report.rows:
        runner.say(f"results.html holds {report.held:,} of {report.rows:,} rows; output.jsonl can be opened in it")
    _report(whole, output)
    if refusal:
        runner.status(refusal)
    return 0


def _write_reports(whole: dict[str, Any], output: Path, page: Page) -> PageReport:
    """Write the summary and the page."""
    text = json.dumps(whole, indent=2, ensure_ascii=False)
    files.write_whole(output / "summary.json", text.encode("utf-8", "replace") + b"\n")
    return page.write(output / "results.html", whole)


def _is_done(input_file: str, output: Path) -> bool:
    """Tell whether the input is this folder's own retry.jsonl, which a merge has emptied since."""
    retry = output / "retry.jsonl"
    return Path(input_file).resolve() == retry.resolve() and retry.is_file() and not retry.stat().st_size


def _find_source(given: Mapping[str, Any], output: Path, session: Path) -> tuple[source.Source, list[str]]:
    """Return the input, with a note where an InputUrl does not give it any more: then the shards say what it was."""
    try:
        return reserve.prepare(_aside(given["InputFile"], output, session), given["InputUrl"], session, runner.say), []
    except (transfer.TransferError, source.SourceError) as error:
        header = shards.find_newest(output / "results") if given["InputUrl"] and not given["InputFile"] else None
        if header is None:
            raise
        absent = source.Source.absent(header.input_name, header.input_sha256, header.input_lines)
        return absent, [f"the input cannot be read any more, the results do not need it: {error}"]


def _aside(input_file: str, output: Path, folder: Path) -> str:
    """Return a path of the input that no finished file takes: the input may be the retry.jsonl that is written anew."""
    path = Path(input_file)
    if not path.is_file() or path.resolve().parent != output.resolve():
        return input_file
    aside = folder / "aside"  # of its own: the session's files have names that an input may have, too
    aside.mkdir(parents=True, exist_ok=True)
    return str(shutil.copy2(path, aside / path.name))


def _request(merge: Merge, given: Mapping[str, Any]) -> None:
    """Add the job's own range to what the shards were asked for."""
    if given["Prompts"]:
        own = ranges.of_values(given["Prompts"], given["BlockSize"] or 1)
        merge.requested |= own if merge.input.retry is None else merge.input.retry.translate(own)


def _find_terms(given: Mapping[str, Any]) -> Terms | None:
    """Return the terms that the command line gives, or None where it gives none. Raises JobError."""
    told = _told(given, terms.NAMES)
    return Terms.of({**parameters.defaults(), **told}) if told else None


def _told(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: given[name] for name in names if given[name] is not None}


def _job_values(merge: Merge, given: Mapping[str, Any], output: Path) -> dict[str, Any]:
    """Return what is known of the job's parameters: as given, of the newest shard, or of this input's finished files.

    Who gives any that the questions are made of has given them all, as in `_find_terms`.

    Finished files of another input are replaced, which is said.
    """
    old = _old_summary(output)
    same = old["input"]["sha256"] == merge.input.sha256
    if old["input"]["sha256"] and not same:
        merge.notes.append(_REPLACED.format(**old["input"]))
    recorded = (merge.newest.header.parameters if merge.newest else {}) or (old["parameters"] if same else {})
    asked = _told(given, terms.NAMES)
    others = {name: parameters.BY_NAME[name].default for name in terms.NAMES if asked and name != "OutputField"}
    return {**recorded, **others, **asked, **_told(given, ("Prompts", "BlockSize", "PricePerHour"))}


def _old_summary(output: Path) -> dict[str, Any]:
    """Return what the finished files in a folder say of their input and parameters; no digest where there are none."""
    with contextlib.suppress(*DAMAGED):
        old = json.loads((output / "summary.json").read_text(encoding="utf-8"))
        known = old["input"]
        return {
            "input": {"sha256": str(known["sha256"]), "name": str(known["name"]), "lines": int(known["lines"])},
            "parameters": parameters.read_record(old["parameters"]),
        }
    return {"input": {"sha256": ""}, "parameters": {}}


def _report(whole: dict[str, Any], output: Path) -> None:
    """Say how it went, and what to run again."""
    for note in whole["notes"]:
        runner.say(f"note: {note}")
    runner.say(
        f"{whole['requested']:,} lines requested: {whole['succeeded']:,} succeeded, {whole['failed']:,} failed "
        f"({whole['missing']:,} of them missing), {whole['blank']:,} blank, {whole['past_end']:,} past the end"
    )
    for code, count in whole["errors"].items():
        runner.say(f"  {count:,} x {code}")
    for line in cost.tell(whole["cost"]):
        runner.say(line)
    if told := summary.tell_answers(whole):
        runner.say(f"of the answers {told}")
    if whole["failed"]:
        again = f"Prompts={whole['rerun']} (with BlockSize=1)" if whole["rerun"] else "InputFile=retry.jsonl"
        runner.say(f"to run the failed lines again into the same OutputDir: {again}")
    if whole["not_requested"]:
        runner.say(f"{whole['not_requested']:,} lines of {whole['input']['name']!r} were not asked for")
    runner.say(f"results: {output / 'results.html'}")
    runner.status(f"{whole['succeeded']}/{whole['requested']} lines succeeded, {whole['failed']} failed")
    runner.progress(100)


if __name__ == "__main__":
    sys.exit(runner.run(main))
