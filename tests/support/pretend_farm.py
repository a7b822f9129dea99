"""A place of batches' jobs that answers them itself, outlives the program, and lets the program die at any point."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from batches.backend import Ended, Job, Watch
from batches.batch import Batch, State
from batches.faces import Delivered, Place
from batches.openai_face import OpenAiFace
from submission.arrivals import Count


class Killed(BaseException):
    """The program was killed: nothing that would tidy up may catch it."""


@dataclass
class PretendFarm:
    """Keeps its jobs by their names. `dies` names the point at which the program is killed, once."""

    dies: str = ""
    slots: int = 2
    jobs: dict[str, int] = field(default_factory=dict)  # how often each was submitted
    searches: int = 0

    def run(self, job: Job, reference: str, note: Callable[[str], None], watch: Watch) -> Ended:
        """Submit a job unless it is there, and answer it."""
        self.die("submitting")
        if reference == "?":
            self.searches += 1
        if reference in ("", "?") and not (reference and job.name in self.jobs):
            self.jobs[job.name] = self.jobs.get(job.name, 0) + 1
        self.die("submitted")
        note(f"job of {job.name}")
        self.die("running")
        if watch(Count(0, 0)):
            return Ended(is_whole=False, why="cancelled")
        place = Place(job.folder)
        place.answers.parent.mkdir(parents=True, exist_ok=True)
        with place.answers.open("w", encoding="utf-8") as output:
            for line in place.input.read_text(encoding="utf-8").splitlines():
                if line:
                    output.write(json.dumps(answer(json.loads(line)["custom_id"])) + "\n")
        self.die("ended")
        return Ended(is_whole=True)

    def die(self, point: str) -> None:
        """Kill the program where that is wanted here."""
        if self.dies == point:
            self.dies = ""
            raise Killed

    def close(self) -> None:
        """Keep everything."""


@dataclass
class DyingFace(OpenAiFace):
    """OpenAI's face in a program that its `farm` may have killed when results are written but not yet noted."""

    farm: PretendFarm = field(default_factory=PretendFarm)

    def deliver(self, batch: Batch, place: Place, end: State) -> Delivered:
        """Deliver, and die."""
        delivered = OpenAiFace.deliver(self, batch, place, end)
        self.farm.die("finalizing")
        return delivered


def answer(custom_id: str) -> dict[str, object]:
    """Return a line of a job's output."""
    response = {"status_code": 200, "request_id": "r", "body": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}}
    return {"id": "b", "custom_id": custom_id, "response": response, "error": None}
