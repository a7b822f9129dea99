"""RunPod's serverless API: its routes under /v2/ENDPOINT.

A call is kept, and gathered with others into one job. With an engine on this machine a client that waits, by /runsync
or by a stream, has its call asked at once.

Source: RunPod documentation, "Endpoint operations"; the runpod client, 1.12.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from batches.batch import Batches
from batches.batch import State as BatchState
from batches.calls import Calls
from batches.errors import ApiError
from batches.flows import Flows
from batches.models import Model, Models
from batches.receiving import read_body
from batches.runpod_shapes import (
    RUN_BYTES,
    RUNSYNC_BYTES,
    BadRequest,
    Job,
    State,
    Wanted,
    read_wait,
    read_wanted,
)
from batches.work import Work

LOOK_SECONDS = 0.25  # between two looks at a call that a job answers
READ_SECONDS = 5.0  # that a reader of a stream waits for the next piece; the runpod client gives up after ten


@dataclass(frozen=True, slots=True)
class RunPod:
    """What the routes stand on; `flows` is None where no engine is on this machine."""

    calls: Calls
    batches: Batches
    work: Work
    models: Models
    flows: Flows | None = None

    def choose_model(self, endpoint: str) -> Model:
        """Return the model behind an endpoint: a client keeps the endpoint's name that it has."""
        return self.models.find(endpoint) or self.models.table[0]

    async def find(self, endpoint: str, name: str) -> Job:
        """Return a call as it is now. Raises ApiError."""
        job = await asyncio.to_thread(self._find, endpoint, name)
        if job is None:
            raise ApiError(404, "job not found")
        return job

    def _find(self, endpoint: str, name: str) -> Job | None:
        job = self.calls.find(endpoint, name)
        if job and job.state == State.QUEUED and job.batch:
            batch = self.batches.get(job.batch)
            if batch and batch.state in (BatchState.RUNNING, BatchState.FINALIZING):
                self.calls.start(job.batch)
                return self.calls.find(endpoint, name)
        return job

    async def begin(self, endpoint: str, wanted: Wanted, *, at_once: bool) -> Job:
        """Keep a call, and ask it at once where that is wanted and can be."""
        live = at_once and self.flows is not None
        job = await asyncio.to_thread(lambda: self.calls.add(endpoint, wanted, live=live))
        if live and self.flows:
            self.flows.start(job, wanted, self.choose_model(endpoint))
        return job

    async def wait(self, job: Job, seconds: float) -> Job:
        """Return a call once it has ended, or as it is after so long."""
        end = time.monotonic() + seconds
        if flow := self.flows.find(job.id) if self.flows else None:
            await flow.wait(seconds)
        while True:
            now = await self.find(job.endpoint, job.id)
            if now.state.is_final or time.monotonic() >= end:
                return now
            await asyncio.sleep(LOOK_SECONDS)


async def read_call(request: Request, most: int) -> Wanted:
    """Return what a request asks for. Raises ApiError."""
    try:
        return read_wanted(await read_body(request, most))
    except BadRequest as error:
        raise ApiError(400, str(error)) from None


def tell(job: Job) -> Response:
    """Return a call's status object."""
    return Response(job.as_json(), media_type="application/json")


def make_router(pod: RunPod) -> APIRouter:
    """Return the API's routes."""
    routes, router = _Routes(pod), APIRouter(prefix="/v2/{endpoint}", tags=["RunPod"])
    router.post("/run")(routes.run)
    router.post("/runsync")(routes.runsync)
    router.get("/health")(routes.health)
    router.post("/purge-queue")(routes.purge)
    router.post("/cancel/{name}")(routes.cancel)
    router.post("/retry/{name}")(routes.retry)
    for path, route in (("/status/{name}", routes.status), ("/stream/{name}", routes.stream)):
        router.get(path)(route)
        router.post(path, include_in_schema=False)(route)
    return router


@dataclass(frozen=True, slots=True)
class _Routes:
    pod: RunPod

    async def run(self, endpoint: str, request: Request) -> Response:
        """Keep a call; it is answered with others in one job, or at once where it wants a stream."""
        wanted = await read_call(request, RUN_BYTES)
        job = await self.pod.begin(endpoint, wanted, at_once=wanted.streams)
        return JSONResponse({"id": job.id, "status": State.QUEUED})

    async def runsync(self, endpoint: str, request: Request, wait: str | None = None) -> Response:
        """Answer a call, or tell how far it is when the client has waited long enough."""
        try:
            seconds = read_wait(wait)
        except BadRequest as error:
            raise ApiError(400, str(error)) from None
        wanted = await read_call(request, RUNSYNC_BYTES)
        return tell(await self.pod.wait(await self.pod.begin(endpoint, wanted, at_once=True), seconds))

    async def status(self, endpoint: str, name: str) -> Response:
        """Tell how far a call is, and what it brought."""
        return tell(await self.pod.find(endpoint, name))

    async def stream(self, endpoint: str, name: str) -> Response:
        """Return the pieces that came since the last look, each once."""
        return await read_stream(self.pod, endpoint, name)

    async def cancel(self, endpoint: str, name: str) -> Response:
        """Cancel a call; one that ended stays as it is."""
        pod = self.pod
        await pod.find(endpoint, name)
        if pod.flows:
            await pod.flows.cancel(name)
        job = await asyncio.to_thread(pod.calls.cancel, endpoint, name)
        assert job is not None
        if job.state == State.CANCELLED and (idle := await asyncio.to_thread(pod.calls.find_idle_batch, name)):
            await asyncio.to_thread(pod.work.cancel, idle)
        return JSONResponse({"id": name, "status": job.state})

    async def retry(self, endpoint: str, name: str) -> Response:
        """Ask a call again that failed or ran out of time."""
        await self.pod.find(endpoint, name)
        job = await asyncio.to_thread(self.pod.calls.retry, endpoint, name)
        if job is None:
            raise ApiError(400, "only a job that is FAILED or TIMED_OUT can be asked again")
        return JSONResponse({"id": name, "status": job.state})

    def health(self, endpoint: str) -> dict[str, dict[str, int]]:
        """Count the endpoint's calls, and the engines that answer them."""
        counts = self.pod.calls.count(endpoint)
        is_busy = int(counts[State.RUNNING] > 0)
        jobs = {"completed": counts[State.COMPLETED], "failed": counts[State.FAILED] + counts[State.TIMED_OUT]}
        jobs |= {"inProgress": counts[State.RUNNING], "inQueue": counts[State.QUEUED]}
        jobs["retried"] = self.pod.calls.count_retries(endpoint)
        workers = {"idle": 1 - is_busy, "initializing": 0, "ready": 1, "running": is_busy, "throttled": 0}
        return {"jobs": jobs, "workers": {**workers, "unhealthy": 0}}

    def purge(self, endpoint: str) -> dict[str, int | str]:
        """Take all that waits out of the queue; what runs goes on."""
        return {"removed": self.pod.calls.purge(endpoint), "status": "completed"}


async def read_stream(pod: RunPod, endpoint: str, name: str) -> Response:
    """Return what a stream's reader has not read.

    A call that a job answers comes as one piece. A cancelled call ends as a failed one here: the runpod client reads on
    for ever where a stream says CANCELLED.
    """
    job = await pod.find(endpoint, name)
    flow = pod.flows.find(name) if pod.flows else None
    if flow:
        pieces = await flow.read(READ_SECONDS)
        job = await pod.find(endpoint, name) if flow.outcome else job
        outputs = [{"output": piece} for piece in pieces]
    else:
        is_new = job.state == State.COMPLETED and await asyncio.to_thread(pod.calls.hand_out, name)
        outputs = [{"output": json.loads(job.output)}] if is_new else []
    state = State.FAILED if job.state == State.CANCELLED else job.state
    return JSONResponse({"id": name, "status": state, "stream": outputs})
