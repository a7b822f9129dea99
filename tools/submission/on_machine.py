"""Answering on this machine: the job through openjd, then the merge, the page, and how to go on after a stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from local.local_job import STOPPED, Machine
from setup_env import say
from submission import merging
from submission.follow import Following
from submission.request import Request
from submission.verdict import tell_if_nothing


@dataclass(frozen=True, slots=True)
class OnMachine:
    """This machine as the place of a request's jobs. `again` is the command that goes on after a stop."""

    machine: Machine
    again: str
    verbose: bool = False
    following: Following | None = None

    def run(self, job: Mapping[str, str], request: Request) -> int:
        """Run a job of the request; merge what is there however it ended, and return its exit status."""
        follower = self.following.start(request, python=self.machine.python) if self.following else None
        watch = (lambda: follower.look("on this machine")) if follower else None
        status = self.machine.run(job, verbose=self.verbose, watch=watch)
        say("")
        if status == STOPPED:
            say("Stopped. What was answered is kept.")
        elif status:
            log = f"{request.parameters['OutputDir']}/openjd.log"
            say(f"The job did not finish (exit status {status}). All it said is in {log}")
        # The job's own step Aggregate merged, where it ended and no merge of a follower came after it.
        is_merged = status == 0 and job == request.parameters and not follower
        if not is_merged and merging.has_shards(request.output):
            merging.merge(request.parameters, python=self.machine.python)
        if status == 0 or merging.has_shards(request.output):
            merging.show_page(request.output)
        if status:
            say(f"To go on: {self.again}")
        elif tell_if_nothing(request.output):
            return 1
        return status

    def merge(self, request: Request) -> int:
        """Merge what is there, without a job; show the page and return the exit status."""
        is_merged = merging.merge(request.parameters, python=self.machine.python)
        return 0 if merging.show_page(request.output) and is_merged else 1
