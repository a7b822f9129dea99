"""Writing the finished files of a merge, each whole: every result in input order, those that failed, and their lines.

One pass over the results fills output.jsonl, errors.jsonl and retry.jsonl, gives the page its rows, and counts.
"""

from __future__ import annotations

import array
import contextlib
import hashlib
from pathlib import Path

from host import files
from page.writer import Page
from results.in_order import NEEDS_INPUT, Results, make_page_row
from results.prompts import Prompts
from results.retry import Retry
from results.summary import Counts
from rows import ranges


def write_rows(results: Results, prompts: Prompts, output: Path, page: Page) -> Counts:
    """Write output.jsonl, errors.jsonl and retry.jsonl, give the page its rows, and count, all in one pass."""
    counts = Counts()
    inputs = results.merge.input.find_raws(results.present)
    digest = hashlib.sha256()
    retried, blank = array.array("Q"), array.array("Q")
    with contextlib.ExitStack() as stack:
        results_file, errors_file, retry_file = (
            stack.enter_context(files.open_whole(output / f"{name}.jsonl")) for name in ("output", "errors", "retry")
        )
        for line, record, shard, raw in results:
            counts.add(line, record.head, is_missing=shard is None)
            if shard:
                results.merge.show(record.head, shard)
            if record.head["status"] == "blank":
                if shard is None:
                    blank.append(line)
                continue
            results_file.write(record.output + b"\n")
            if record.head["status"] == "failed":
                errors_file.write(record.output + b"\n")
                if raw is not None:  # a retry's own file may not hold the line
                    retried.append(line)
                    retry_file.write(raw + b"\n")
                    digest.update(raw + b"\n")
            is_needed = record.head["dialect"] in NEEDS_INPUT or prompts.is_template_for(record.head)
            asked = raw or (inputs.find(line) if is_needed and page.has_room() else None) or b""
            page.add(make_page_row(line, record, shard, asked, prompts.remake_for(record.head, asked)))
        for file in (results_file, errors_file, retry_file):
            file.flush()  # a full disk shows before the first of them takes its name
        if retried:  # the note first: retry.jsonl without it would be taken for an input of its own
            results_folder = output / "results"
            files.make_folder(results_folder)
            Retry.write(
                results_folder, digest.hexdigest(), results.merge.input, ranges.write(retried), ranges.write(blank)
            )
    return counts
