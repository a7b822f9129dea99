"""Answering on this machine: the job through openjd, then the merge, the page, and how to go on after a stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from local.local_job import STOPPED, Machine
from setup_env import say, say_command
from submission import merging
from submission.arrivals import FIRST, Arrivals, FirstAnswers
from submission.ending import Ending
from submission.follow import Following
from submission.request import Request
from terminal import shorten


@dataclass(frozen=True, slots=True)
class OnMachine:
    """This machine as the place of a request's jobs."""

    machine: Machine
    ending: Ending
    verbose: bool = False
    following: Following | None = None

    def run(self, job: Mapping[str, str], request: Request, lines: int, *, is_trial: bool = False) -> int:
        """Run a job of the request; merge what is there however it ended, and return its exit status."""
        first = FirstAnswers(Arrivals(request.output), request.answers, 0 if is_trial else FIRST)
        follower = self.following.start(request, first, python=self.machine.python) if self.following else None

        def look() -> bool:
            first.show()
            return follower.look("on this machine") if follower else False

        status = self.machine.run(job, lines, verbose=self.verbose, watch=look)
        first.show()
        say("")
        if status == STOPPED:
            say("Stopped. What was answered is kept.")
        elif status:
            log = shorten(f"{request.parameters['OutputDir']}/openjd.log")
            say(f"The job did not finish (exit status {status}). All it said is in {log}")
        # The job's own step Aggregate merged, where it ended and no merge of a follower came after it.
        is_merged = status == 0 and job == request.parameters and not follower
        if not is_merged and merging.has_shards(request.output):
            told = merging.read_figures(request.parameters) if status == 0 else None
            merging.merge(request.parameters, python=self.machine.python, told=told)
        if status == 0:
            return 0 if self.ending.tell(request, is_trial=is_trial) else 1
        if merging.has_shards(request.output):
            merging.show_page(request.output)
        say_command("To go on:", self.ending.again)
        return status

    def merge(self, request: Request) -> int:
        """Merge what is there, without a job; show the page and return the exit status."""
        is_merged = merging.merge(request.parameters, python=self.machine.python)
        return 0 if self.ending.tell(request) and is_merged and merging.has_page(request.output) else 1
