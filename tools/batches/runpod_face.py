"""RunPod's calls as batches: those that wait are gathered into one job, whose results become theirs again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import bundle  # noqa: F401  (puts scripts/ on the path)
from batches.batch import Batch, Batches, State, make_batch
from batches.calls import Calls, Queue
from batches.faces import Delivered, Place, Prepared
from batches.models import Models
from batches.runpod_shapes import State as CallState
from batches.runpod_shapes import describe_failure, write_line
from batches.settings import Gathering
from batches.work import Work
from host import files
from rows.errors import RowError
from rows.row import parse

FACE = "runpod"
MOST_BYTES = 256 << 20  # of the inputs that one job is given
PATIENCE = 15  # times the quiet seconds, after which calls are gathered though others still come
SETTLED = 500  # calls that are settled in one transaction
_ENDS = {
    State.CANCELLED: (CallState.CANCELLED, ""),
    State.EXPIRED: (CallState.TIMED_OUT, "its time ran out before it was answered"),
}


class RunPodFace:
    """What becomes of the calls of a batch. The lines of its input carry their ids."""

    name = FACE
    fails_whole = False

    def __init__(self, calls: Calls, models: Models) -> None:
        self._calls, self._models = calls, models

    def prepare(self, batch: Batch, place: Place) -> Prepared:  # noqa: ARG002 - a face's
        """Say what the job answers; its lines were written when they were gathered."""
        model = self._models.find(batch.spec["endpoint"]) or self._models.table[0]
        return Prepared(model.name, int(batch.spec["calls"]))

    def deliver(self, batch: Batch, place: Place, end: State) -> Delivered:  # noqa: ARG002 - a face's
        """Give every call its result; those without one end as the batch does."""
        succeeded = failed = 0
        waiting: list[tuple[str, CallState, str, str]] = []
        for result in _read_results(place.answers):
            succeeded += result[1] == CallState.COMPLETED
            failed += result[1] != CallState.COMPLETED
            waiting.append(result)
            if len(waiting) == SETTLED:
                self._calls.settle(waiting)
                waiting = []
        self._calls.settle(waiting)
        return Delivered(succeeded, failed)

    def settle(self, batch: Batch) -> None:
        """End the calls that have no result."""
        state, error = _ENDS.get(batch.state, (CallState.FAILED, batch.why or "the job left no result for it"))
        self._calls.settle_rest(batch.id, state, error)


def _read_results(path: Path) -> Iterator[tuple[str, CallState, str, str]]:
    """Yield what became of each call that a job answered or found unanswerable: id, state, output, error."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                row = parse(number, raw.rstrip(b"\n"))
            except RowError:
                continue  # none of ours: the lines of a batch are JSON
            name = str(row.fields.get("id"))
            if row.fields.get("status") == CallState.COMPLETED:
                yield name, CallState.COMPLETED, row.raw("output"), ""
            elif "error" in row.fields:
                yield name, CallState.FAILED, "", describe_failure(row.raw("error"))
            else:  # an input that no worker of theirs would know, which was answered as a prompt
                yield name, CallState.COMPLETED, json.dumps(row.fields), ""


class Gatherer:
    """Makes batches of the calls that wait."""

    def __init__(self, calls: Calls, batches: Batches, work: Work, gathering: Gathering) -> None:
        self._calls, self._batches, self._work, self._gathering = calls, batches, work, gathering

    def gather(self) -> list[Batch]:
        """Make a batch of each endpoint's calls that are due, and have them driven; return them."""
        now = time.time()
        due = [queue.endpoint for queue in self._calls.queues() if _is_due(queue, self._gathering, now)]
        return [batch for batch in map(self._gather, due) if batch]

    def _gather(self, endpoint: str) -> Batch | None:
        """Write the lines first, so that a batch that is there has them."""
        taken = self._calls.take(endpoint, self._gathering.rows, MOST_BYTES)
        spec = {"endpoint": endpoint, "calls": len(taken)}
        lasts = max((call.expires for call in taken), default=0.0) - time.time()
        batch = make_batch(FACE, "gathered_", spec, max(60, round(lasts)))
        place = self._work.place(batch.id)
        place.folder.mkdir(parents=True, exist_ok=True)
        lines = (write_line(call.given, call.id) + b"\n" for call in taken)
        files.write_whole(place.input, b"".join(lines))
        with self._batches.store.change():
            if not self._calls.bind((call.id for call in taken), batch.id):
                return None  # all were cancelled meanwhile
            self._batches.add(batch)
        self._work.take(batch)
        return batch


def _is_due(queue: Queue, gathering: Gathering, now: float) -> bool:
    """Tell whether the calls that wait are to be asked now."""
    is_quiet, is_old = now - queue.last >= gathering.seconds, now - queue.first >= gathering.seconds * PATIENCE
    return queue.calls >= gathering.rows or is_quiet or is_old
