"""A job over the answers of an earlier one, such as a judge: which file it reads, and how it comes by it.

`--after` names a folder of results, or a job on the farm, which is waited for. Such a job's output.jsonl lies in the
queue's bucket: the second job's InputUrl names it there, and the workers read it by the queue's role, so that nothing
passes through this machine. Where that cannot be, why is told, and the output is downloaded and merged.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking import sizes
from job.parameters import BY_NAME
from rows import ranges
from rows.ranges import RangeError
from setup_env import say
from submission import farm_output, merging
from submission.farm_job import (
    ENDED,
    JOB_ID,
    FarmJob,
    FarmJobError,
    NoDeadline,
    Note,
    UsageError,
    deadline,
    read_progress,
)
from submission.farm_output import NotInBucket
from submission.on_farm import OnFarm
from submission.request import Request, RequestError, make_whole, read_request

VERDICT = "verdict"  # where the second answer goes unless told otherwise: the first keeps its own field


@dataclass(frozen=True, slots=True)
class Earlier:
    """Answers that a job reads: OutputDir of the job that gave them, the field that has them, and which file it is.

    url: where a worker reads them, and how many lines there are at most; "" where they are in the folder.
    """

    folder: str
    field: str
    url: str = ""
    lines: int = 0

    @property
    def file(self) -> Path:
        """Return where this machine has the answers."""
        return Path(self.folder) / "output" / "output.jsonl"


def read_chain(asked: argparse.Namespace, file: object, farm: OnFarm | None = None) -> Request:
    """Return the checked request of a job over earlier answers. Raises RequestError.

    file: an input that was named beside them. farm: where a job of that name is looked for.
    """
    given = dict(asked.parameters)
    if file or given.keys() & {"InputFile", "InputUrl"}:
        raise RequestError("--after names the input: leave out the file")
    earlier = _find(asked, farm)
    output = given.get("OutputDir") or str(asked.output_dir)
    if Path(output).resolve() == Path(earlier.folder).resolve():
        raise RequestError(f"{earlier.folder} has the answers that are read: name another folder with --output-dir")
    if given.get("OutputField", VERDICT) == earlier.field:
        raise RequestError(
            f"the answers that are read are in {earlier.field!r}: name another field, -p OutputField=..."
        )
    usual = {"OutputField": VERDICT}
    if not earlier.url:
        return read_request(asked, earlier.file, usual)
    say(f"{asked.after}: its output.jsonl is read on the farm by the queue's role, from {earlier.url}")
    if sizes.is_all(asked.prompts or given.get("Prompts", "all")):
        usual |= sizes.suggest(given, earlier.lines, sizes.Work.of(given, workers=asked.workers))
    return read_request(asked, None, {**usual, "InputUrl": earlier.url})


def _find(asked: argparse.Namespace, farm: OnFarm | None) -> Earlier:
    if not JOB_ID.fullmatch(asked.after):
        return _find_in_folder(make_whole(asked.after))
    if farm is None:
        raise RequestError("run_local.py reads a folder of results; submit.py --local --after JOB_ID reads a job's")
    try:
        return _find_on_farm(asked, farm)
    except FarmJobError as error:
        raise RequestError(str(error)) from None


def _find_in_folder(folder: str) -> Earlier:
    found = Earlier(folder, BY_NAME["OutputField"].default)
    if not found.file.is_file():
        raise RequestError(f"there is no {found.file}; --after takes a folder of results or a job's id")
    try:
        summary = json.loads((found.file.parent / "summary.json").read_text(encoding="utf-8"))
        return Earlier(folder, str(summary["parameters"]["OutputField"]))
    except (OSError, ValueError, KeyError, TypeError):
        return found


def _find_on_farm(asked: argparse.Namespace, farm: OnFarm) -> Earlier:
    """Return the answers of a job on the farm, once it has ended. Raises RequestError and FarmJobError."""
    job, note = FarmJob(asked.after, farm.options), Note.read(asked.after)
    try:
        details = deadline("job", "get", "--job-id", job.id, *farm.options)
    except (UsageError, NoDeadline):
        raise
    except FarmJobError as error:
        return _find_noted(job.id, note, error)
    status, told = read_progress(details).status, farm_output.read_parameters(details)
    if status not in ENDED:
        if not farm.wait:
            raise RequestError(f"{job.id} has not ended, and a job over its answers waits for it: leave out --no-wait")
        say(f"{job.id} has not ended and is waited for")
        status = job.wait()
    try:
        _refuse_bucket(asked, status, told, note)
        return _find_in_bucket(job, told)
    except NotInBucket as error:
        say(f"The output of {job.id} is downloaded: {error}")
    return _download(job, told, note)


def _find_noted(job_id: str, note: Note | None, error: FarmJobError) -> Earlier:
    """Return the answers of a job that this queue does not know, where an earlier download left them here."""
    if note and (found := Earlier(note.parameters["OutputDir"], "")).file.is_file():
        say(f"This queue does not know {job_id}: what is in {found.folder} is read")
        return _find_in_folder(found.folder)
    why = str(error).splitlines()[-1]
    raise RequestError(
        f"this queue does not know {job_id} ({why}); name its queue with --queue-id, or fetch it with --resume "
        f"{job_id} --queue-id ... and name its folder: --after FOLDER"
    )


def _refuse_bucket(asked: argparse.Namespace, status: str, told: Mapping[str, str], note: Note | None) -> None:
    """Raise NotInBucket where the second job is to read the answers here, or the bucket has only some of them."""
    folder = dict(asked.parameters).get("OutputDir") or asked.output_dir
    if asked.local:
        raise NotInBucket("the second job runs on this machine")
    if asked.trial or asked.follow or asked.stop_if_failed is not None:
        raise NotInBucket("a trial, and a job that is followed, are merged on this machine")
    if merging.has_shards(Path(folder) / "output"):
        raise NotInBucket(f"{folder} has answers already, and only lines without one are asked")
    if status != "SUCCEEDED":
        raise NotInBucket(f"it ended as {status}, perhaps without an output.jsonl of its own")
    asks = ("InputFile", "InputUrl", "Prompts", "BlockSize")
    if note and any(note.parameters.get(name, told.get(name)) != told.get(name) for name in asks):
        raise NotInBucket(f"it asked some of the lines, and {note.parameters['OutputDir']} has the other answers")


def _find_in_bucket(job: FarmJob, told: Mapping[str, str]) -> Earlier:
    """Return the answers as the queue's bucket has them. Raises NotInBucket."""
    try:
        lines = len(ranges.of_values(told["Prompts"], int(told["BlockSize"])))
        folder, field = told["OutputDir"], told["OutputField"]
    except (KeyError, ValueError, RangeError):
        raise NotInBucket("deadline does not tell how many lines it has") from None
    return Earlier(folder, field, farm_output.find_address(job.id, job.options), lines)


def _download(job: FarmJob, told: Mapping[str, str], note: Note | None) -> Earlier:
    """Download a job's output, merge it with what is beside it, and return the answers. Raises RequestError."""
    job.download()
    folder = note.parameters["OutputDir"] if note else told.get("OutputDir")
    if not folder:
        raise RequestError(f"deadline does not tell where {job.id} writes to; name the folder: --after FOLDER")
    if note and merging.has_shards(Path(folder) / "output"):
        merging.merge(note.parameters)
    return _find_in_folder(folder)
