"""Having a request answered: only what is missing, a trial first where one is wanted, here or on the farm alike."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking import inspection
from rows.ranges import Lines
from setup_env import say, say_command
from submission import trial
from submission.arrivals import Arrivals
from submission.command import drop_option, write_again
from submission.missing import Standing, find_standing, make_job
from submission.request import PRICE, Request, RequestError


@dataclass(frozen=True, slots=True)
class Wishes:
    """How a person wants a request answered. `again`: every line. `trial`: so many lines first, 0 none.

    yes: nothing is asked of the person. rest: the command that asks what a trial left.
    """

    again: bool = False
    trial: int = 0
    yes: bool = False
    rest: str = ""


class Place(Protocol):
    """Where jobs run."""

    def run(self, job: Mapping[str, str], request: Request, lines: int, *, is_trial: bool = False) -> int:
        """Run a job of the request over so many lines, merge, show the page; return the exit status.

        Of a trial no answers are shown: whoever asked for it shows them all.
        """

    def merge(self, request: Request) -> int:
        """Merge what is there, without a job; show the page and return the exit status."""


def read_wishes(asked: argparse.Namespace, program: str, typed: Sequence[str]) -> Wishes:
    """Return the wishes of a command line."""
    rest = write_again(program, drop_option(typed, "--trial"))
    return Wishes(asked.again, asked.trial, asked.yes, rest)


def answer(request: Request, place: Place, wishes: Wishes) -> int:
    """Have a request answered and return the exit status. Raises RequestError and what the place raises."""
    try:
        standing = find_standing(request, again=wishes.again)
    except inspection.UNUSABLE as error:
        raise RequestError(str(error)) from None
    if told := standing.tell():
        say(told)
    lines = standing.missing
    if not lines:
        return place.merge(request)
    if 0 < wishes.trial < len(lines):
        chosen = trial.spread(lines, wishes.trial)
        lines = trial.without(lines, chosen)
        if (status := _try(chosen, len(lines), request, standing, place, wishes)) is not None:
            return status
    return place.run(make_job(request, standing, lines), request, len(lines))


def _try(chosen: Lines, rest: int, request: Request, standing: Standing, place: Place, wishes: Wishes) -> int | None:
    """Run a trial; return the exit status with which the command ends, or None where it goes on with the rest."""
    say(f"a trial of {len(chosen)} lines first: {chosen}")
    arrivals = Arrivals(request.output)
    job = make_job(request, standing, chosen)
    is_in_input = job.get("InputFile") == request.parameters.get("InputFile")
    whole = Request(job) if is_in_input else request  # the page shows the trial alone where it can
    status = place.run(job, whole, len(chosen), is_trial=True)
    records = arrivals.records()
    if not records:
        return status
    measured = trial.show(records, request.answers, rest, float(request.parameters.get(PRICE, 0)))
    if status or not measured.answered:
        say("The trial did not end well: the rest is not asked")
        return status or 1
    if trial.may_go_on(rest, yes=wishes.yes):
        return None
    say_command("The trial's answers stay. To ask the rest:", wishes.rest)
    return 0
