"""OpenAI's API below an endpoint of RunPod's: single requests, answered as they come.

With an engine on this machine it is asked at once, and streams its answer as server-sent events where that is wanted.
On a farm a request is gathered with others into a job, and its client waits.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from batches.errors import ApiError
from batches.flows import Flow
from batches.receiving import read_body
from batches.runpod_api import RunPod
from batches.runpod_shapes import RUNSYNC_BYTES, State, Wanted

WAIT_SECONDS = 590.0  # for an answer; the openai client waits ten minutes
READ_SECONDS = 10.0


def make_router(pod: RunPod) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v2/{endpoint}/openai", tags=["RunPod, OpenAI's API"])

    @router.get("/v1/models")
    def models(endpoint: str) -> dict[str, Any]:
        """List the endpoint's model."""
        name = pod.choose_model(endpoint).name
        return {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "vllm-batch"}]}

    @router.post("/{path:path}")
    async def ask(endpoint: str, path: str, request: Request) -> Response:
        """Answer one request of any endpoint that the engine has."""
        body = _read(await read_body(request, RUNSYNC_BYTES))
        wanted = Wanted({"openai_route": f"/{path}", "openai_input": body})
        if wanted.streams and pod.flows is None:
            raise ApiError(400, "jobs on a farm answer whole: leave stream out", param="stream")
        job = await pod.begin(endpoint, wanted, at_once=True)
        flow = pod.flows.find(job.id) if pod.flows else None
        if flow and wanted.streams:
            return await _stream(flow)
        ended = await pod.wait(job, WAIT_SECONDS)
        if flow and flow.outcome and flow.outcome.failure:
            raise_failure(flow)
        if ended.state != State.COMPLETED:
            raise ApiError(502 if ended.state.is_final else 504, ended.error or "there is no answer yet")
        return Response(ended.output, media_type="application/json")

    return router


def _read(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ApiError(400, "the body must be a JSON object")
    return value


async def _stream(flow: Flow) -> Response:
    """Return the answer as events; what fails before the first of them is an error of its own."""
    first = await flow.read(WAIT_SECONDS)
    if not first:
        if flow.outcome and flow.outcome.failure:
            raise_failure(flow)
        raise ApiError(504, "there is no answer yet")
    return StreamingResponse(_write_events(flow, first), media_type="text/event-stream")


async def _write_events(flow: Flow, pieces: list[dict[str, Any]]) -> AsyncIterator[bytes]:
    while True:
        for piece in pieces:
            yield b"data: " + json.dumps(piece).encode() + b"\n\n"
        if flow.outcome is not None and not flow.pieces:
            break
        pieces = await flow.read(READ_SECONDS)
    if flow.outcome.failure:
        error = {"message": flow.outcome.failure.message, "type": "server_error", "param": None, "code": None}
        yield b"data: " + json.dumps({"error": error}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def raise_failure(flow: Flow) -> None:
    """Raise the ApiError of a call that failed: the server's own status, and its words."""
    assert flow.outcome
    assert flow.outcome.failure
    failure = flow.outcome.failure
    raise ApiError(failure.http_status, failure.message, code=failure.code)
