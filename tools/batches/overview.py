"""The program's own page, at /: every batch with its state, its progress in lines, its cost and its results.

The page is three files that are served as they are; it asks for the batches and shows them as text. A job's
results.html is served as a document of its own, which can reach nothing of this server.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response

import bundle
from batches.batch import Batch, Batches
from batches.calls import Calls
from batches.errors import ApiError, not_found
from batches.work import Work

PARTS = Path(__file__).parent / "page"
STYLES = (bundle.SCRIPTS / "page" / "css" / "base.css", bundle.SCRIPTS / "page" / "css" / "controls.css")
SHOWN = 50  # batches on a page
MARK = "x-batch-page"  # a header that no other site can send without being asked whether it may
OWN = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'"
POLICY = f"{OWN}; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
RESULTS_POLICY = "sandbox allow-scripts allow-downloads allow-modals; frame-ancestors 'none'"
_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}


def make_router(batches: Batches, calls: Calls, work: Work) -> APIRouter:
    """Return the page's routes."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def page() -> HTMLResponse:
        text = (PARTS / "overview.html").read_text(encoding="utf-8")
        return HTMLResponse(text, headers={**_HEADERS, "Content-Security-Policy": POLICY})

    @router.get("/page/overview.css")
    def style() -> Response:
        parts = (*STYLES, PARTS / "overview.css")
        text = "\n".join(part.read_text(encoding="utf-8") for part in parts)
        return Response(text, media_type="text/css", headers=_HEADERS)

    @router.get("/page/overview.js")
    def script() -> FileResponse:
        return FileResponse(PARTS / "overview.js", media_type="text/javascript", headers=_HEADERS)

    @router.get("/page/batches")
    def rows(after: str = "") -> JSONResponse:
        past = batches.get(after) if after else None
        found = batches.page(None, SHOWN, after=past.seq if past else None)
        waiting = [{"endpoint": queue.endpoint, "calls": queue.calls} for queue in calls.queues()]
        listed = [describe(batch, work) for batch in found.batches]
        return JSONResponse({"batches": listed, "has_more": found.has_more, "waiting": waiting}, headers=_HEADERS)

    @router.post("/page/batches/{name}/cancel")
    def cancel(name: str, request: Request) -> JSONResponse:
        if request.headers.get(MARK) != "1":
            raise ApiError(403, "only the page itself may cancel here")
        batch = work.cancel(name)
        if batch is None:
            raise not_found("batch", name)
        return JSONResponse(describe(batch, work), headers=_HEADERS)

    @router.get("/batches/{name}/results.html")
    def results(name: str) -> FileResponse:
        batch = batches.get(name)
        path = work.place(batch.id).page if batch else None
        if path is None or not path.is_file():
            raise not_found("page", name)
        headers = {**_HEADERS, "Content-Security-Policy": RESULTS_POLICY}
        return FileResponse(path, media_type="text/html", headers=headers)

    return router


def describe(batch: Batch, work: Work) -> dict[str, Any]:
    """Return what the page shows of a batch."""
    place = work.place(batch.id)
    ended = max(batch.times.values(), default=batch.created) if batch.is_ended else None
    wrong = batch.why or next((str(error.get("message", "")) for error in batch.errors), "")
    return {
        "id": batch.id,
        "api": batch.face,
        "model": batch.model,
        "state": "cancelling" if batch.is_cancelling and not batch.is_ended else batch.state,
        "created": batch.created,
        "ended": ended,
        "total": batch.total,
        "succeeded": batch.succeeded,
        "failed": batch.failed,
        "wrong": wrong[:500],
        "can_cancel": not batch.is_ended and not batch.is_cancelling,
        "has_page": place.page.is_file(),
        "dollars": _read_dollars(place.page.with_name("summary.json")),
    }


def _read_dollars(summary: Path) -> float | None:
    """Return what a job cost where its summary tells."""
    try:
        dollars = json.loads(summary.read_bytes())["cost"]["dollars"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return float(dollars) if isinstance(dollars, int | float) else None
