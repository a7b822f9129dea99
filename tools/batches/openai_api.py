"""OpenAI's API: its routes for batches and models, with those for files.

Source: OpenAI API reference, "Batch", "Models". Every field of an object is always there, null
where it is not known, so that strict clients read it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict

from batches.batch import Batch, Repeat, State, make_batch
from batches.errors import ApiError, not_found
from batches.openai_files import Expiry, add_files, add_uploads, find_file
from batches.openai_shapes import show_batch, show_page
from batches.settings import HOUR

if TYPE_CHECKING:
    from batches.app import Core

LONGEST_WINDOW = 30 * 24 * HOUR
_WINDOW = re.compile(r"(\d{1,4})([mhd])")
_UNITS = {"m": 60, "h": HOUR, "d": 24 * HOUR}  # seconds


class BatchCreate(BaseModel):
    """What a new batch is."""

    model_config = ConfigDict(extra="allow")
    input_file_id: str
    endpoint: str
    completion_window: str
    metadata: dict[str, str] | None = None
    output_expires_after: Expiry | None = None


def make_router(core: Core) -> APIRouter:
    """Return the API's routes."""
    router = APIRouter(prefix="/v1", tags=["OpenAI"])
    add_files(router, core)
    add_uploads(router, core)
    _add_batches(router, core)

    @router.get("/models")
    def list_models() -> dict[str, Any]:
        """List the models that requests may name."""
        return {"object": "list", "data": [_show_model(name) for name in core.models.names]}

    @router.get("/models/{name:path}")
    def retrieve_model(name: str) -> dict[str, Any]:
        """Return one model."""
        if name not in core.models.names:
            raise ApiError(404, f"The model {name[:80]!r} does not exist", code="model_not_found", param="model")
        return _show_model(name)

    return router


def _show_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "vllm-batch"}


def _add_batches(router: APIRouter, core: Core) -> None:
    @router.post("/batches")
    def create_batch(said: BatchCreate, request: Request) -> dict[str, Any]:
        """Make a batch of an uploaded file; one that is sent again is the same batch."""
        _check_create(core, said)
        spec = said.model_dump(exclude={"output_expires_after"}, exclude_none=True)
        if said.output_expires_after:
            spec["output_expires_after"] = said.output_expires_after.seconds
        batch = make_batch("openai", "batch_", spec, _read_window(said.completion_window))
        kept, is_new = core.batches.add(batch, Repeat.read("openai", spec, request.headers))
        if is_new:
            core.work.take(kept)
        return show_batch(kept)

    @router.get("/batches")
    def list_batches(after: str | None = None, limit: Annotated[int, Query(ge=0, le=100)] = 20) -> dict[str, Any]:
        """List batches, newest first."""
        last = _find_batch(core, after).seq if after else None
        page = core.batches.page("openai", limit, after=last)
        return show_page([show_batch(each) for each in page.batches], has_more=bool(limit) and page.has_more)

    @router.get("/batches/{batch_id}")
    def retrieve_batch(batch_id: str) -> dict[str, Any]:
        """Return one batch."""
        return show_batch(_find_batch(core, batch_id))

    @router.post("/batches/{batch_id}/cancel")
    def cancel_batch(batch_id: str) -> dict[str, Any]:
        """Cancel a batch; what was answered is kept."""
        batch = _find_batch(core, batch_id)
        if batch.is_ended and batch.state != State.CANCELLED:
            raise ApiError(400, f"Cannot cancel a batch that is {batch.state}", param="batch_id")
        return show_batch(core.work.cancel(batch_id) or batch)


def _find_batch(core: Core, name: str) -> Batch:
    """Return a batch of this API. Raises ApiError."""
    batch = core.batches.get(name, "openai")
    if batch is None:
        raise not_found("Batch", name)
    return batch


def _check_create(core: Core, said: BatchCreate) -> None:
    """Refuse what no batch can be made of. Raises ApiError."""
    file = find_file(core, said.input_file_id)
    if file.purpose != "batch":
        told = f"the purpose of {file.id} is {file.purpose}, not batch"
        raise ApiError(400, told, param="input_file_id", code="invalid_value")
    if not said.endpoint.startswith("/"):
        raise ApiError(
            400, "'endpoint' must be a path such as /v1/chat/completions", param="endpoint", code="invalid_value"
        )
    metadata = said.metadata or {}
    if len(metadata) > 16 or any(len(key) > 64 or len(value) > 512 for key, value in metadata.items()):
        told = "'metadata' takes 16 pairs, keys of 64 and values of 512 characters"
        raise ApiError(400, told, param="metadata", code="invalid_value")


def _read_window(text: str) -> int:
    """Return the seconds of a window such as 24h. Raises ApiError."""
    found = _WINDOW.fullmatch(text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 60 <= seconds <= LONGEST_WINDOW:
        told = "'completion_window' must be a time such as 24h, from 1m to 30d"
        raise ApiError(400, told, param="completion_window", code="invalid_value")
    return seconds
