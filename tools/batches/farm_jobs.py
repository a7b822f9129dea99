"""Batches' jobs on the farm, through the `deadline` command as submit.py has them.

A job carries its batch's id as its name. Where this program was killed while it submitted one, the job is looked for by
that name once no `deadline` that submits it runs any more, so that none is submitted twice.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from batches.backend import BackendError, Ended, Job, Watch
from submission import merging
from submission.arrivals import Arrivals
from submission.farm_job import FarmJob, FarmJobError, NoDeadline, NoJob, Progress, UsageError, deadline
from submission.request import Request

PAGE = 100  # jobs that one search names at most
LOOKS = 3  # at the list of jobs, which may show a new one late
LOOK_SECONDS = 2.0


@dataclass
class FarmJobs:
    """The farm as the place of batches' jobs; `options` name it where it is not deadline's default."""

    options: Sequence[str] = ()
    slots: int = 32
    engines: None = None  # they are on workers

    def run(self, job: Job, reference: str, note: Callable[[str], None], watch: Watch) -> Ended:
        """Submit a job, or find the one that was, see it through, fetch and merge its results."""
        try:
            submitted = FarmJob(self._find_or_submit(job, reference), self.options)
            note(submitted.id)
            request = Request(dict(job.parameters))
            status = submitted.wait(_Watching(submitted, watch, Arrivals(request.output, all_of_it=True)).look)
            submitted.download()
        except (NoJob, NoDeadline, UsageError) as error:
            raise BackendError(str(error)) from None
        except FarmJobError as error:
            raise BackendError(str(error), again=True) from None
        if merging.has_shards(request.output):
            merging.merge(request.parameters)
        return Ended(status == "SUCCEEDED", "" if status == "SUCCEEDED" else f"job {submitted.id} ended: {status}")

    def close(self) -> None:
        """Jobs on the farm go on without this program."""

    def _find_or_submit(self, job: Job, reference: str) -> str:
        if reference.startswith("job-"):
            return reference
        if reference and (found := self._find(job.name)):
            return found
        return FarmJob.submit(job.parameters, self.options, name=job.name).id

    def _find(self, name: str) -> str:
        """Return the job of a name, "" where there is none. Raises FarmJobError."""
        while _is_submitting(name):
            time.sleep(LOOK_SECONDS)
        for _ in range(LOOKS):
            if found := self._search(name):
                return found
            time.sleep(LOOK_SECONDS)
        return ""

    def _search(self, name: str) -> str:
        offset = 0
        while True:
            page = ("--page-size", str(PAGE), "--item-offset", str(offset))
            said = deadline("job", "list", *self.options, *page)
            for entry in re.split(r"^- ", said, flags=re.MULTILINE)[1:]:
                found = re.search(r"^ *jobId: (job-[0-9a-f]{32})$", entry, re.MULTILINE)
                if found and re.search(rf"^ *(?:displayName|name): {re.escape(name)}$", entry, re.MULTILINE):
                    return found[1]
            total = re.search(r"of (\d+) Jobs", said)
            offset += PAGE
            if not total or offset >= int(total[1]):
                return ""


def _is_submitting(name: str) -> bool:
    """Tell whether a program of this machine submits the job of a name."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and name.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                return True
        except OSError:
            continue  # it has ended, or is another user's
    return False


@dataclass
class _Watching:
    """Fetches what finished tasks left while a job runs, and cancels the job once that is wanted."""

    job: FarmJob
    watch: Watch
    arrivals: Arrivals
    _done: int = 0  # tasks whose shards are here
    _is_cancelled: bool = False

    def look(self, progress: Progress) -> None:
        """Fetch and count what is new."""
        if progress.done > self._done:
            self.job.fetch()
            self._done = progress.done
        if self.watch(self.arrivals.count()) and not self._is_cancelled:
            self.job.cancel()
            self._is_cancelled = True
