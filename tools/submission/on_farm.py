"""Answering on the farm: the job through `deadline`, its download, the merge, and how to come back to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from setup_env import say
from submission import merging
from submission.farm_job import FarmJob, NoJob, Note
from submission.request import Request, RequestError
from submission.verdict import tell_if_nothing

STOPPED = 130


@dataclass(frozen=True, slots=True)
class OnFarm:
    """The farm as the place of a request's jobs; `options` name it where it is not deadline's default."""

    options: Sequence[str]
    name: str | None = None
    wait: bool = True

    def run(self, job: Mapping[str, str], request: Request) -> int:
        """Submit a job of the request and, unless told otherwise, see it through. Raises RequestError, FarmJobError."""
        try:
            submitted = FarmJob.submit(job, self.options, name=self.name)
        except NoJob as error:
            raise RequestError(str(error)) from None
        note = Note.of(submitted.id, request.parameters)
        note.write()
        again = f"python3 tools/submit.py --resume {submitted.id}"
        try:
            say(f"submitted {submitted.id}")
            if not self.wait:
                say(f"To fetch the results later: {again}")
                return 0
            return self.see_through(submitted.id, Request(note.parameters))
        except KeyboardInterrupt:
            say(f"\nThe job goes on. To come back to it: {again}")
            return STOPPED

    def merge(self, request: Request) -> int:
        """Merge what is there, without a job; show the page and return the exit status."""
        is_merged = merging.merge(request.parameters)
        return 0 if merging.show_page(request.output) and is_merged else 1

    def see_through(self, job_id: str, request: Request | None) -> int:
        """Wait for a job, download and merge; print the page's path and return the exit status."""
        submitted = FarmJob(job_id, self.options)
        status = submitted.wait()
        say(f"the job ended: {status}")
        submitted.download()
        if request is None:
            say("Nothing is noted about this job here, so earlier results in its folder are not merged: name the file,")
            say(f"python3 tools/submit.py --resume {job_id} FILE --output-dir FOLDER")
            return 0 if status == "SUCCEEDED" else 1
        is_merged = merging.merge(request.parameters)
        if not merging.show_page(request.output):
            why = f"deadline job logs --job-id {job_id} says why"
            say(f"There is no {request.output / 'results.html'}: the job left no results. {why}")
        is_empty = tell_if_nothing(request.output)
        return 0 if status == "SUCCEEDED" and is_merged and not is_empty else 1
