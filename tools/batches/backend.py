"""Where jobs run, as the work on batches sees it: this machine and the farm are the two there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.address import Address
from submission.arrivals import Count

Watch = Callable[[Count], bool]


class BackendError(Exception):
    """A job cannot be run, now or ever: `again` tells that trying later may help."""

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.again = again


@dataclass(frozen=True, slots=True)
class Job:
    """One job of the bundle: its name, which no other has, its folder, and its parameters by the template's names."""

    name: str
    folder: Path
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a job ended: `is_whole` where nothing went wrong but rows, else `why` says what did."""

    is_whole: bool
    why: str = ""


class Kept(Protocol):
    """The engine of a job: its session's folder and where it answers, None for a server that ServerUrl names."""

    @property
    def folder(self) -> Path | None:
        """Return the folder of its session."""

    @property
    def address(self) -> Address | None:
        """Return where it answers now."""


class Keeper(Protocol):
    """What keeps engines loaded between jobs."""

    def use(self, parameters: Mapping[str, str]) -> AbstractContextManager[Kept]:
        """Give the engine of a job, loaded; it stays while the block runs. Raises BackendError."""


class Backend(Protocol):
    """A place where jobs run. `slots` jobs run at once there."""

    slots: int

    @property
    def engines(self) -> Keeper | None:
        """Return what keeps engines that can be asked at once, None where there are none in reach."""

    def run(self, job: Job, reference: str, note: Callable[[str], None], watch: Watch) -> Ended:
        """Run a job until it has ended and its results are merged.

        reference: what an earlier run of this program noted of the job, "" where nothing is known, "?" where it may
        have been started without a note of it: then it is looked for and never started twice.
        note: is told by what the job is to be found again, as soon as that is known.
        watch: is told every few seconds how many lines are done; when it returns True the job is cancelled.
        Raises BackendError.
        """

    def close(self) -> None:
        """Let go of what is kept between jobs, and of jobs that this program runs itself."""
