"""Answering on the farm: the job through `deadline`, its download, the merge, and how to come back to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import bundle  # noqa: F401  (puts scripts/ on the path)
from host import runner
from setup_env import say, say_command
from submission import merging
from submission.arrivals import FIRST, Arrivals, FirstAnswers
from submission.ending import Ending
from submission.farm_job import FarmJob, FarmJobError, NoJob, Note, Progress
from submission.follow import Follower, Following
from submission.request import Request, RequestError
from submission.service_figure import ask_service
from terminal import shorten

STOPPED = 130


@dataclass(frozen=True, slots=True)
class OnFarm:
    """The farm as the place of a request's jobs; `options` name it where it is not deadline's default."""

    options: Sequence[str]
    name: str | None = None
    wait: bool = True
    following: Following | None = None
    ending: Ending = field(default_factory=Ending)

    def run(self, job: Mapping[str, str], request: Request, lines: int, *, is_trial: bool = False) -> int:
        """Submit a job of the request and, unless told otherwise, see it through. Raises RequestError, FarmJobError."""
        try:
            submitted = FarmJob.submit(job, self.options, name=self.name)
        except NoJob as error:
            raise RequestError(str(error)) from None
        note = Note.of(submitted.id, request.parameters)
        note.write()
        again = f"python3 tools/submit.py --resume {submitted.id}"
        try:
            say(f"submitted {submitted.id}: {lines:,} {'line' if lines == 1 else 'lines'}")
            if not self.wait:
                say_command("To fetch the results later:", again)
                return 0
            first = FirstAnswers(Arrivals(request.output), request.answers, 0 if is_trial else FIRST)
            return self.see_through(submitted.id, Request(note.parameters), first, is_trial=is_trial)
        except KeyboardInterrupt:
            say_command("\nThe job goes on. To come back to it:", again)
            return STOPPED

    def merge(self, request: Request) -> int:
        """Merge what is there, without a job; show the page and return the exit status."""
        is_merged = merging.merge(request.parameters)
        return 0 if self.ending.tell(request) and is_merged and merging.has_page(request.output) else 1

    def come_back(self, job_id: str, request: Request | None) -> int:
        """Go on with a job that was submitted earlier; return the exit status."""
        first = FirstAnswers(Arrivals(request.output, all_of_it=True), request.answers) if request else None
        return self.see_through(job_id, request, first)

    def see_through(
        self, job_id: str, request: Request | None, first: FirstAnswers | None, *, is_trial: bool = False
    ) -> int:
        """Wait for a job, download and merge; print the page's path and return the exit status."""
        submitted = FarmJob(job_id, self.options)
        follower = self.following.start(request, first) if self.following and request and first else None
        status = submitted.wait(_Watch(submitted, follower).look if follower else lambda _: None)
        say(f"the job ended: {status}")
        submitted.download()
        if request is None:
            say("Nothing is noted about this job here, so earlier results in its folder are not merged: name the file,")
            say(f"python3 tools/submit.py --resume {job_id} FILE --output-dir FOLDER")
            return 0 if status == "SUCCEEDED" else 1
        if first:
            first.show()
        if usage := ask_service(submitted):
            usage.write(request.output / "results")
        is_merged = merging.merge(request.parameters)
        has_answers = self.ending.tell(request, is_trial=is_trial)
        if not merging.has_page(request.output):
            why = f"deadline job logs --job-id {job_id} says why"
            say(f"There is no {shorten(request.output / 'results.html')}: the job left no results. {why}")
        return 0 if status == "SUCCEEDED" and is_merged and has_answers else 1


@dataclass
class _Watch:
    """Fetches what finished tasks left while a job runs, and cancels the job when its follower says so."""

    job: FarmJob
    follower: Follower
    _done: int = 0  # tasks whose shards are here
    _is_canceled: bool = False

    def look(self, progress: Progress) -> None:
        """Fetch and show what is new. A fetch that fails is tried again at the next look: the job goes on."""
        try:
            if progress.done > self._done:
                self.job.fetch()
                self._done = progress.done
            if self.follower.look(progress.text) and not self._is_canceled:
                self.job.cancel()
                self._is_canceled = True
        except FarmJobError as error:
            say(f"  not fetched, and tried again: {runner.printable(str(error).splitlines()[-1])}")
