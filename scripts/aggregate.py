"""Merge the shards into the finished files: the onRun of step Aggregate, and the same on a user's own machine.

Reads OutputDir/output/results and the input; writes output.jsonl, errors.jsonl, retry.jsonl, summary.json and
results.html beside it, each whole. Proves that every requested line has exactly one result, and gives those without one
an error of their own. Running it again over the same shards changes nothing.

By hand: python scripts/aggregate.py --input-file prompts.jsonl --output-dir results
"""

from __future__ import annotations

import argparse
import array
import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import arguments
import dialects
import host
import job
import ranges
import source
import summary
import transfer
from dialects.base import Failure
from merge import Input, Merge, Retry, input_of
from page import PageRow, write_page
from ranges import Lines
from records import failed_record
from rows import RowError, is_blank, parse
from shards import Record, Shard

MISSING = Failure("missing", "no worker left a result for this line; run it again")
NEEDS_INPUT = frozenset({"openai", "anthropic"})  # dialects whose output lines do not repeat what was asked
EXPECTED = (job.JobError, source.SourceError, transfer.TransferError, ranges.RangeError, OSError)


def parser() -> argparse.ArgumentParser:
    """Return the parser of this program's arguments."""
    whole = argparse.ArgumentParser(description="Merge the shards of a job into output.jsonl and results.html.")
    arguments.add_input(whole, by_hand=True)
    arguments.add_request(whole)
    whole.add_argument("--output-dir", type=Path, required=True, help="OutputDir of the job")
    whole.add_argument("--output-url-file", default="", help="file that holds OutputUrl")
    for name in summary.JOB_PARAMETERS:
        whole.add_argument(arguments.flag(name), default=None)
    return whole


def main(argv: list[str] | None = None) -> int:
    """Merge; return 0 whenever the files were written, also when rows failed, else 1 with the reason."""
    given = parser().parse_args(argv)
    with contextlib.ExitStack() as stack:
        if given.session_dir is None:
            given.session_dir = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            return aggregate(given)
        except EXPECTED as error:
            host.fail(f"{error}{'; free some space and run it again' if getattr(error, 'errno', 0) == 28 else ''}")
            return 1


def aggregate(given: argparse.Namespace) -> int:
    """Write the finished files."""
    defaults = arguments.defaults(given)
    url = arguments.secret(given.input_url_file)
    output = given.output_dir / "output"
    output.mkdir(parents=True, exist_ok=True)
    found = source.prepare(_aside(given.input_file, output, given.session_dir), url, given.session_dir, host.say)
    merge = Merge(input_of(found, output / "results"))
    merge.take(output / "results")
    _request(merge, given)
    with contextlib.closing(merge):
        results = Results(merge, defaults)
        tally = _write_rows(results, output)
        whole = summary.made(tally, merge, given)
        _write_whole(
            output / "summary.json", json.dumps(whole, indent=2, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        )
        report = write_page(output / "results.html", whole, results.page_rows())
    if report.held < report.rows:
        host.say(f"results.html holds {report.held:,} of {report.rows:,} rows; output.jsonl can be opened in it")
    _report(whole, output)
    _send(arguments.secret(given.output_url_file), output / "output.jsonl")
    return 0


def _aside(input_file: str, output: Path, folder: Path) -> str:
    """Return a path of the input that no finished file takes: the input may be the retry.jsonl that is written anew."""
    path = Path(input_file)
    if not path.is_file() or path.resolve().parent != output.resolve():
        return input_file
    folder.mkdir(parents=True, exist_ok=True)
    return str(shutil.copy2(path, folder / path.name))


def _request(merge: Merge, given: argparse.Namespace) -> None:
    """Add the job's own range to what the shards were asked for."""
    if given.prompts:
        own = ranges.of_values(given.prompts, given.block_size)
        merge.requested |= own if merge.input.retry is None else merge.translated(own, merge.input.retry)
    if not merge.requested:
        raise source.SourceError(
            f"there is no shard of {merge.input.name} in OutputDir/output/results, and no range was asked for; "
            "check the input file and the folder"
        )


@dataclass
class Results:
    """Every requested line's result, in input order."""

    merge: Merge
    defaults: job.Defaults
    present: Lines = field(init=False)

    def __post_init__(self) -> None:
        self.present = self.merge.requested.up_to(self.merge.input.lines)

    def __iter__(self) -> Iterator[tuple[int, Record, Shard | None, bytes | None]]:
        """Yield (line, record, shard or None, raw input line where the line failed and the file has it)."""
        raws = _Raws(self.merge.input, (n for n in self.present if not self.merge.succeeded(n)))
        for line in self.present:
            raw = None if self.merge.succeeded(line) else raws.of(line)
            if self.merge.is_missing(line):
                yield line, missing_record(line, raw, self.defaults), None, raw
            else:
                record, shard = self.merge.record(line)
                yield line, record, shard, raw

    def page_rows(self) -> Iterator[PageRow]:
        """Yield the rows of results.html."""
        raws = _Raws(self.merge.input, iter(self.present))
        for line, record, shard, raw in self:
            head = record.head
            if head["status"] == "blank":
                continue
            yield PageRow(
                line=line,
                status="missing" if head.get("code") == MISSING.code and shard is None else head["status"],
                dialect=head["dialect"],
                endpoint=head.get("endpoint", ""),
                output=record.output,
                input=raw or (raws.of(line) if head["dialect"] in NEEDS_INPUT else b"") or b"",
                started=head.get("started"),
                seconds=head.get("seconds"),
                attempts=head.get("attempts", 0),
                worker=shard.header.worker if shard else "",
            )


class _Raws:
    """Looks up lines of the input in ascending order."""

    def __init__(self, source: Input, lines: Iterator[int]) -> None:
        self._found = source.raw(Lines(_runs(lines)))
        self._ahead: tuple[int, bytes] | None = None

    def of(self, line: int) -> bytes | None:
        """Return a line's bytes, or None when the job's file does not hold it: a retry.jsonl holds some lines only."""
        while self._ahead is None or self._ahead[0] < line:
            self._ahead = next(self._found, (sys.maxsize, b""))
        return self._ahead[1] if self._ahead[0] == line else None


def _runs(numbers: Iterator[int]) -> Iterator[range]:
    """Join ascending numbers into ranges."""
    start = stop = 0
    for number in numbers:
        if number != stop:
            if stop > start:
                yield range(start, stop)
            start = number
        stop = number + 1
    if stop > start:
        yield range(start, stop)


def missing_record(line: int, raw: bytes | None, defaults: job.Defaults) -> Record:
    """Return the result of a line for which there is no shard: blank, or an error in its row's dialect."""
    if raw is not None and is_blank(raw):
        return Record({"line": line, "status": "blank"}, b"")
    dialect = row = None
    with contextlib.suppress(RowError, RecursionError):
        row = parse(line, raw or b"")
        dialect = dialects.recognise(row.fields)
    return failed_record(line, raw or b"", dialect, row, MISSING, defaults)


def _write_rows(results: Results, output: Path) -> summary.Tally:
    """Write output.jsonl, errors.jsonl and retry.jsonl in one pass, and count."""
    tally = summary.Tally()
    digest = hashlib.sha256()
    retried = array.array("Q")
    with contextlib.ExitStack() as stack:
        files = {
            name: stack.enter_context(_whole_file(output / f"{name}.jsonl")) for name in ("output", "errors", "retry")
        }
        for line, record, shard, raw in results:
            tally.add(line, record.head, is_missing=shard is None)
            if record.head["status"] == "blank":
                continue
            files["output"].write(record.output + b"\n")
            if record.head["status"] == "failed":
                files["errors"].write(record.output + b"\n")
                if raw is not None:  # a retry's own file may not hold the line
                    retried.append(line)
                    files["retry"].write(raw + b"\n")
                    digest.update(raw + b"\n")
        for file in files.values():
            file.flush()  # a full disk shows before the first of them takes its name
    if retried:
        results_folder = output / "results"
        results_folder.mkdir(exist_ok=True)
        Retry.write(results_folder, digest.hexdigest(), results.merge.input, ranges.write(retried))
    return tally


@contextlib.contextmanager
def _whole_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file that appears under its name only when the block ends well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb", buffering=1 << 20) as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _write_whole(path: Path, content: bytes) -> None:
    with _whole_file(path) as file:
        file.write(content)


def _report(whole: dict[str, Any], output: Path) -> None:
    """Say how it went, and what to run again."""
    for note in whole["notes"]:
        host.say(f"note: {note}")
    host.say(
        f"{whole['requested']:,} lines requested: {whole['succeeded']:,} succeeded, {whole['failed']:,} failed "
        f"({whole['missing']:,} of them missing), {whole['blank']:,} blank, {whole['past_end']:,} past the end"
    )
    for code, count in whole["errors"].items():
        host.say(f"  {count:,} x {code}")
    if whole["failed"]:
        again = f"Prompts={whole['rerun']} (with BlockSize=1)" if whole["rerun"] else "InputFile=retry.jsonl"
        host.say(f"to run the failed lines again into the same OutputDir: {again}")
    if whole["not_requested"]:
        host.say(f"{whole['not_requested']:,} lines of {whole['input']['name']!r} were not asked for")
    host.say(f"results: {output / 'results.html'}")
    host.status(f"{whole['succeeded']}/{whole['requested']} lines succeeded, {whole['failed']} failed")
    host.progress(100)


def _send(url: str, path: Path) -> None:
    """PUT output.jsonl to OutputUrl. A failure is told and loses nothing: the file is here."""
    if not url:
        return
    try:
        transfer.upload(path, url, host.say)
        host.say(f"output.jsonl was sent to {transfer.shown(url)}")
    except transfer.TransferError as error:
        host.say(f"WARNING: output.jsonl was not sent, it is in OutputDir: {error}")
        host.status(f"output.jsonl was not sent: {error}")


if __name__ == "__main__":
    sys.exit(host.run(main))
