"""OpenAI's batches: lines of an uploaded file before the job, an output file and an error file after it.

A line that cannot be asked does not fail the others: it is in the error file, and named in the batch's `errors`. What
belongs to the hosted API alone is wider here: urls may be mixed, and any endpoint of the model's server may be asked.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batches.batch import Batch, State
from batches.faces import Delivered, Place, Prepared, escape_separators
from batches.kept_files import KeptFile, KeptFiles
from batches.models import Models
from batches.openai_lines import Reading, Usage
from batches.store import draw_id
from host import files as host_files

UNASKED = {"missing", "deadline"}  # the worker's codes of lines that were not asked to their end
_WHY = {
    State.CANCELLED: ("batch_cancelled", "This request was not executed before the batch was cancelled."),
    State.EXPIRED: ("batch_expired", "This request could not be executed before the completion window expired."),
}


@dataclass
class OpenAiFace:
    """The face of OpenAI's API."""

    files: KeptFiles
    models: Models
    name: str = "openai"
    fails_whole: bool = True

    def prepare(self, batch: Batch, place: Place) -> Prepared:
        """Write the lines that can be asked, each at its own line, and those that cannot as errors."""
        source = self.files.get(batch.spec["input_file_id"])
        if source is None or not self.files.path(source.id).exists():
            return Prepared("", 0, fatal="the input file was deleted before it was read")
        reading = Reading(self.models, batch.spec["endpoint"])
        place.input.unlink(missing_ok=True)
        with (
            self.files.path(source.id).open("rb") as lines,
            host_files.open_whole(place.refused) as refused,
            host_files.open_whole(place.input) as asked,
        ):
            for number, raw in enumerate(lines, 1):
                line, error = reading.read(number, raw)
                asked.write(line + b"\n")
                if error:
                    refused.write(json.dumps(error).encode() + b"\n")
        if not reading.asked:
            place.input.unlink()
        fatal = "" if reading.asked else "no line of the file can be asked" if reading.errors else "the file is empty"
        errors = reading.errors or (
            [{"code": "empty_file", "message": fatal, "param": None, "line": None}] if fatal else []
        )
        parameters = {"ModelInRows": "ignore"} if reading.is_alias else {}
        return Prepared(reading.model, reading.asked, reading.refused, errors, fatal, parameters)

    def deliver(self, batch: Batch, place: Place, end: State) -> Delivered:
        """Sort the results into an output file and an error file, which are there once the batch has ended."""
        counts, usage = {"output": 0, "error": 0}, Usage()
        names = {kind: _name_file(batch, kind) for kind in counts}
        unasked = 0
        paths = {kind: self.files.path(name) for kind, name in names.items()}
        with paths["output"].open("wb") as output, paths["error"].open("wb") as errors:
            for line in _read_results(place):
                found = json.loads(line)
                code = (found.get("error") or {}).get("code")
                if code in UNASKED:
                    unasked += 1
                    line = _write_unasked(found, end)  # noqa: PLW2901 - the same line, in other words
                response = found.get("response") or {}
                is_answer = not found.get("error") and response.get("status_code", 0) < 400
                if is_answer:
                    usage.add(response.get("body"))
                counts["output" if is_answer else "error"] += 1
                (output if is_answer else errors).write(escape_separators(line.rstrip("\n")).encode() + b"\n")
        kept: dict[str, Any] = {}
        for kind, count in counts.items():
            if count:
                kept[f"{kind}_file_id"] = names[kind]
                kept[f"{kind}_bytes"] = paths[kind].stat().st_size
            else:
                paths[kind].unlink()
        return Delivered(counts["output"], counts["error"], unasked, {**kept, "usage": usage.as_json()})

    def settle(self, batch: Batch) -> None:
        """Keep the files that a batch's results are in."""
        seconds = batch.spec.get("output_expires_after")
        now = int(time.time())
        for kind in ("output", "error"):
            if name := batch.results.get(f"{kind}_file_id"):
                size, filename = batch.results[f"{kind}_bytes"], f"{batch.id}_{kind}.jsonl"
                self.files.add(KeptFile(name, filename, "batch_output", size, now, now + seconds if seconds else None))


def _name_file(batch: Batch, kind: str) -> str:
    """Return the id of a result file: the same when it is written again, and as hard to guess as the batch's own."""
    return "file-" + hashlib.sha256(f"{batch.id} {kind}".encode()).hexdigest()[:32]


def _read_results(place: Place) -> Iterator[str]:
    """Yield the results of all lines: those refused, and the job's, or that no job asked them."""
    if place.refused.exists():
        yield from _read_lines(place.refused)
    if place.answers.exists():
        yield from _read_lines(place.answers)
    elif place.input.exists():
        for line in _read_lines(place.input):
            name = json.loads(line)["custom_id"]
            error = {"code": "missing", "message": ""}
            yield json.dumps({"id": draw_id("batch_req_"), "custom_id": name, "response": None, "error": error})


def _read_lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            if line.strip():
                yield line


def _write_unasked(found: dict[str, Any], end: State) -> str:
    """Return the line of a request that was not asked to its end, in the API's words for why."""
    code, message = _WHY.get(end, (found["error"]["code"], found["error"]["message"]))
    return json.dumps({**found, "error": {"code": code, "message": message}})
