"""The work on batches: each is driven from state to state by one thread, and taken up again after a restart.

What a batch is about to do is noted before it is done, and every step can be done twice: a program that was killed
between the two finds by the state what may have happened. Only `Work` changes a batch's state.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from batches.backend import Backend, BackendError, Job
from batches.batch import WAITING, Batch, Batches, State
from batches.check import check_lines
from batches.faces import Face, Place
from batches.models import Models
from checking import sizes
from host import runner
from job.moment import write_moment
from submission.arrivals import Count

PREPARING = 2  # batches whose lines are read at once
PAUSE_SECONDS = 15.0  # before a step that failed for now is tried again
TRIES = 5  # of a step that failed for a reason that nobody thought of
LATE_SECONDS = 900  # past its end of time, in which a job's own StopAt ends it with results
GONE = "?"  # a job that may have been started, with no note of it

log = logging.getLogger("batches")


class Work:
    """Drives all batches of a program; `faces` by their names."""

    def __init__(self, batches: Batches, backend: Backend, models: Models, faces: Mapping[str, Face]) -> None:
        self._batches, self._backend, self._models, self._faces = batches, backend, models, faces
        self._preparing = ThreadPoolExecutor(PREPARING, "prepare")
        self._running = ThreadPoolExecutor(backend.slots, "run")
        self._stopping, self._finalizing = threading.Event(), threading.Lock()
        self._tries: dict[str, int] = {}

    def start(self) -> None:
        """Take up every batch that has not ended."""
        for batch in self._batches.active():
            self.take(batch)

    def take(self, batch: Batch) -> None:
        """Have a batch driven on from its state; a face calls it for each new one."""
        if batch.state == State.VALIDATING:
            self._submit(self._preparing, self._prepare, batch.id)
        else:
            self._submit(self._running, self._run, batch.id)

    def cancel(self, name: str) -> Batch | None:
        """Cancel a batch; return it as it is now, None where there is none. A job that runs ends by and by."""
        batch = self._batches.ask_to_cancel(name)
        if batch and batch.state == State.QUEUED:
            self._submit(self._preparing, self._finalize_waiting, name)
        return batch

    def place(self, name: str) -> Place:
        """Return where the files of a batch lie."""
        return Place(self._batches.store.folder / "batches" / name)

    def stop(self) -> None:
        """Let go of everything; what has not ended goes on with the next start."""
        self._stopping.set()
        self._backend.close()
        for pool in (self._preparing, self._running):
            pool.shutdown(cancel_futures=True)

    def _submit(self, pool: ThreadPoolExecutor, step: Callable[[str], None], name: str) -> None:
        if not self._stopping.is_set():
            pool.submit(self._try, pool, step, name)

    def _try(self, pool: ThreadPoolExecutor, step: Callable[[str], None], name: str) -> None:
        """Take a step; after a failure that may pass, take it again later."""
        try:
            step(name)
            self._tries.pop(name, None)
            return
        except BackendError as error:
            why, is_over = str(error), not error.again
        except Exception as error:  # one batch must not end the others
            log.exception("batch %s: a step failed", name)
            why = f"internal error: {type(error).__name__}"
            is_over = self._tries.get(name, 0) + 1 >= TRIES
        if self._stopping.is_set():
            return
        self._tries[name] = self._tries.get(name, 0) + 1
        log.warning("batch %s: %s", name, runner.printable(why))
        if is_over:
            self._fail(name, why)
        else:
            later = threading.Timer(PAUSE_SECONDS, self._submit, (pool, step, name))
            later.daemon = True
            later.start()

    def _prepare(self, name: str) -> None:
        """Read and check a batch's lines, and queue it."""
        batch = self._batches.get(name)
        if batch is None or batch.state != State.VALIDATING:
            return
        place = self.place(name)
        place.folder.mkdir(parents=True, exist_ok=True)
        prepared = self._faces[batch.face].prepare(batch, place)
        errors, fatal = [*prepared.errors], prepared.fatal
        if prepared.lines and not fatal:
            found, hopeless = check_lines(place, {**self._models.get(prepared.model).parameters, **prepared.parameters})
            errors += found
            fatal = hopeless if self._faces[batch.face].fails_whole else ""
        known: dict[str, Any] = {
            "model": prepared.model,
            "spec": {**batch.spec, "parameters": dict(prepared.parameters)},
            "total": prepared.lines + prepared.refused,
            "failed": prepared.refused,
            "errors": errors,
        }
        if fatal:
            self._batches.change(name, (State.VALIDATING,), **known)
            self._fail(name, fatal)
        elif queued := self._batches.change(name, (State.VALIDATING,), State.QUEUED, **known):
            self.take(queued)

    def _run(self, name: str) -> None:
        """Run a batch's job, or go on with it, and finalize the batch."""
        batch = self._batches.get(name)
        if batch is None or batch.is_ended:
            return
        lines = batch.total - batch.failed if batch.state == State.QUEUED else 1
        if batch.state == State.QUEUED and (batch.is_cancelling or not lines or time.time() >= batch.expires):
            self._finalize_waiting(name)
            return
        reference = {State.SUBMITTING: GONE, State.RUNNING: batch.job}.get(batch.state, "")
        if batch.state == State.QUEUED and not self._batches.change(name, (State.QUEUED,), State.SUBMITTING):
            return
        if batch.state != State.FINALIZING:
            ended = self._backend.run(self._make_job(batch), reference, self._noting(name), self._watching(name))
            self._batches.change(name, (State.SUBMITTING, State.RUNNING), State.FINALIZING, why=ended.why)
        self._finalize(name)

    def _make_job(self, batch: Batch) -> Job:
        """Return a batch's job, the same one each time."""
        place = self.place(batch.id)
        parameters = {**self._models.get(batch.model).parameters, **batch.spec.get("parameters", {})}
        lines = _count_lines(place.input)
        given = {name: parameters[name] for name in sizes.NAMES if name in parameters}
        own = {"InputFile": str(place.input), "OutputDir": str(place.folder / "results")}
        whole = {
            **parameters,
            **sizes.suggest(given, lines, sizes.Work.of(parameters)),
            **own,
            "StopAt": write_moment(batch.expires),
        }
        return Job(batch.id, place.folder, whole)

    def _noting(self, name: str) -> Callable[[str], None]:
        def note(reference: str) -> None:
            self._batches.change(name, (State.SUBMITTING, State.RUNNING), State.RUNNING, job=reference)

        return note

    def _watching(self, name: str) -> Callable[[Count], bool]:
        """Return what keeps a batch's counts, and tells whether its job is to be cancelled."""
        refused = _count_lines(self.place(name).refused)

        def watch(count: Count) -> bool:
            batch = self._batches.get(name)
            if batch is None:
                return True
            left = batch.total - count.succeeded  # a line that failed before a restart may have an answer since
            counts: dict[str, Any] = {"succeeded": count.succeeded, "failed": min(refused + count.failed, left)}
            if counts != {"succeeded": batch.succeeded, "failed": batch.failed}:
                self._batches.change(name, (State.SUBMITTING, State.RUNNING), **counts)
            return batch.is_cancelling or time.time() > batch.expires + LATE_SECONDS

        return watch

    def _finalize_waiting(self, name: str) -> None:
        """End a batch that needs no job."""
        if self._batches.change(name, WAITING, State.FINALIZING):
            self._finalize(name)

    def _finalize(self, name: str) -> None:
        """Make of the job's results what the clients get, and end the batch."""
        with self._finalizing:  # a cancel and a start may both come here
            batch = self._batches.get(name)
            if batch is not None and batch.state == State.FINALIZING:
                self._deliver(batch)

    def _deliver(self, batch: Batch) -> None:
        place, face = self.place(batch.id), self._faces[batch.face]
        end = _choose_end(batch, place)
        if end == State.FAILED:
            self._fail(batch.id, batch.why or "the job left no results")
            return
        delivered = face.deliver(batch, place, end)
        if end == State.EXPIRED and not delivered.unasked:
            end = State.COMPLETED
        counts: dict[str, Any] = {"succeeded": delivered.succeeded, "failed": delivered.failed}
        with self._batches.store.change():
            ended = self._batches.change(batch.id, (State.FINALIZING,), end, results=dict(delivered.results), **counts)
            if ended:
                face.settle(ended)

    def _fail(self, name: str, why: str) -> None:
        """End a batch that cannot be answered."""
        with self._batches.store.change():
            batch = self._batches.get(name)
            if batch is None or batch.is_ended:
                return
            ended = self._batches.change(name, (batch.state,), State.FAILED, why=why)
            if ended:
                self._faces[batch.face].settle(ended)


def _choose_end(batch: Batch, place: Place) -> State:
    """Return the state in which a batch ends; an expired one that was answered all the same is completed."""
    if batch.is_cancelling:
        return State.CANCELLED
    if time.time() >= batch.expires:
        return State.EXPIRED
    needs_job = place.input.exists() and place.input.stat().st_size > 0
    return State.FAILED if needs_job and not place.answers.exists() else State.COMPLETED


def _count_lines(path: Path) -> int:
    """Return how many lines a file has; none where there is no file."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(1 for _ in file)
