"""Anthropic's Message Batches API: its routes under /v1/messages/batches.

Source: Anthropic API reference, "Message Batches"; the anthropic client, 2.16.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import shutil
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, JSONResponse

from batches.anthropic_face import FACE, ensure_results
from batches.anthropic_lines import KINDS, BadBatch, find_requests, find_results, write_requests
from batches.batch import Batch, Batches, Repeat, make_batch
from batches.errors import ApiError
from batches.faces import Place
from batches.receiving import receive
from batches.work import Work
from host import files

BASE = "/v1/messages/batches"
DAY = 86_400  # seconds; the time that the API gives a batch
DEFAULT_LIMIT, MOST_LIMIT = 20, 1000


def make_router(batches: Batches, work: Work, most_bytes: int) -> APIRouter:
    """Return the API's routes. A create's body may have so many bytes."""
    routes, router = _Routes(batches, work, most_bytes), APIRouter(prefix=BASE, tags=["Anthropic"])
    router.post("")(routes.create)
    router.get("")(routes.page)
    router.get("/{name}")(routes.retrieve)
    router.post("/{name}/cancel")(routes.cancel)
    router.delete("/{name}")(routes.delete)
    router.get("/{name}/results")(routes.results)
    return router


@dataclass(frozen=True, slots=True)
class _Routes:
    batches: Batches
    work: Work
    most_bytes: int

    async def create(self, request: Request) -> JSONResponse:
        """Make a batch of the requests in the body."""
        batch = make_batch(FACE, "msgbatch_", {}, DAY)
        place = self.work.place(batch.id)
        try:
            batch, is_new = await _create(request, batch, place, self.batches, self.most_bytes)
        except BaseException:
            shutil.rmtree(place.folder, ignore_errors=True)
            raise
        if is_new:
            self.work.take(batch)
        else:
            shutil.rmtree(place.folder, ignore_errors=True)
        return JSONResponse(write_batch(batch))

    def page(self, limit: int = DEFAULT_LIMIT, after_id: str = "", before_id: str = "") -> JSONResponse:
        """List batches, the newest first."""
        if not 1 <= limit <= MOST_LIMIT:
            raise ApiError(400, f"limit: must be 1 to {MOST_LIMIT}", param="limit")
        after = self._find(after_id).seq if after_id else None
        before = self._find(before_id).seq if before_id else None
        found = self.batches.page(FACE, limit, after=after, before=before)
        data = [write_batch(batch) for batch in found.batches]
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {"first_id": None, "last_id": None}
        return JSONResponse({"data": data, "has_more": found.has_more, **ends})

    def retrieve(self, name: str) -> JSONResponse:
        """Tell how far a batch is."""
        return JSONResponse(write_batch(self._find(name)))

    def cancel(self, name: str) -> JSONResponse:
        """Cancel a batch; what was answered stays."""
        batch = self._find(name)
        return JSONResponse(write_batch(self.work.cancel(name) or batch))

    def delete(self, name: str) -> JSONResponse:
        """Forget a batch that has ended, with its results."""
        if not self._find(name).is_ended:
            raise ApiError(400, f"{name} is still in progress: cancel it, and delete it once it has ended")
        self.batches.delete(name)
        shutil.rmtree(self.work.place(name).folder, ignore_errors=True)
        return JSONResponse({"id": name, "type": "message_batch_deleted"})

    def results(self, name: str) -> FileResponse:
        """Return the results, a line each."""
        batch, place = self._find(name), self.work.place(name)
        if not batch.is_ended:
            raise ApiError(404, f"{name} has no results yet: it is still in progress")
        ensure_results(batch, place)
        return FileResponse(find_results(place), media_type="application/x-jsonl")

    def _find(self, name: str) -> Batch:
        """Return a batch of this API. Raises ApiError."""
        if batch := self.batches.get(name, FACE):
            return batch
        raise ApiError(404, f"{name[:80]}: there is no such message batch")


async def _create(
    request: Request, batch: Batch, place: Place, batches: Batches, most_bytes: int
) -> tuple[Batch, bool]:
    """Keep the batch that a body asks for, or find the one that it repeats; tell which. Raises ApiError."""
    place.folder.mkdir(parents=True, exist_ok=True)
    body = place.folder / "create.json"
    digest = hashlib.sha256()
    await receive(request, body, most_bytes, digest.update)

    def keep() -> tuple[Batch, bool]:
        try:
            with body.open("rb") as source, files.open_whole(find_requests(place)) as lines:
                total, models = write_requests(source, lines)
        except BadBatch as error:
            raise ApiError(400, str(error)) from None
        body.unlink()
        whole = replace(batch, spec={"total": total, "models": models}, total=total)
        return batches.add(whole, Repeat.read(FACE, digest.hexdigest(), request.headers))

    return await asyncio.to_thread(keep)


def write_batch(batch: Batch) -> dict[str, Any]:
    """Return a batch as the API tells it."""
    status = "ended" if batch.is_ended else "canceling" if batch.is_cancelling else "in_progress"
    ended = batch.times.get(batch.state) if batch.is_ended else None
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": _count(batch),
        "created_at": _write_time(batch.created),
        "expires_at": _write_time(batch.expires),
        "ended_at": _write_time(ended),
        "cancel_initiated_at": _write_time(batch.times.get("cancelling")),
        "archived_at": None,
        "results_url": f"{BASE}/{batch.id}/results" if batch.is_ended else None,
    }


def _count(batch: Batch) -> dict[str, int]:
    """Return the counts, which add up to all requests at any time."""
    counts = {kind: int(batch.results.get(kind, 0)) for kind in KINDS}
    if not batch.is_ended:
        counts |= {"succeeded": batch.succeeded, "errored": batch.failed}
    elif not batch.results:  # it failed as a whole
        counts["errored"] = batch.total
    return {"processing": max(0, batch.total - sum(counts.values())) if not batch.is_ended else 0, **counts}


def _write_time(seconds: int | None) -> str | None:
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat().replace("+00:00", "Z")
