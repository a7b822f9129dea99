"""OpenAI's API: its routes for files, and for uploads in parts.

Source: OpenAI API reference, "Files", "Uploads".
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from batches.errors import ApiError, not_found
from batches.forms import Form, read_form
from batches.kept_files import KeptFile
from batches.openai_shapes import show_page
from batches.settings import HOUR
from batches.store import draw_id
from batches.uploads import Upload, Uploads

if TYPE_CHECKING:
    from batches.app import Core

PURPOSES = frozenset({"assistants", "batch", "fine-tune", "vision", "user_data"})


class Expiry(BaseModel):
    """When a file is deleted, in seconds after it was made."""

    anchor: str = "created_at"
    seconds: int = Field(ge=HOUR, le=30 * 24 * HOUR)


class UploadCreate(BaseModel):
    """What a new upload is to become."""

    filename: str
    purpose: str
    bytes: int = Field(ge=0)
    mime_type: str = ""
    expires_after: Expiry | None = None


class UploadComplete(BaseModel):
    """Which parts make the file, and in which order."""

    part_ids: list[str]
    md5: str | None = None


def add_files(router: APIRouter, core: Core) -> None:
    """Add the routes for files."""

    @router.post("/files")
    async def create_file(request: Request) -> dict[str, Any]:
        """Upload a file (multipart/form-data: file, purpose, expires_after[seconds])."""
        async with contextlib.AsyncExitStack() as stack:
            path = stack.enter_context(_incoming(core.files.folder))
            form = await read_form(request, "file", path, core.settings.limits.file)
            file = _describe(form)
            await run_in_threadpool(path.rename, core.files.path(file.id))
        return (await run_in_threadpool(core.files.add, file)).as_json()

    @router.get("/files")
    def list_files(
        after: str | None = None,
        limit: Annotated[int, Query(ge=0, le=10_000)] = 10_000,
        order: str = "desc",
        purpose: str | None = None,
    ) -> dict[str, Any]:
        """List files, newest first unless `order` is asc."""
        place = find_file(core, after).seq if after else None
        found = core.files.page(limit + 1, after=place, newest_first=order != "asc", purpose=purpose)
        return show_page([each.as_json() for each in found[:limit]], has_more=bool(limit) and len(found) > limit)

    @router.get("/files/{file_id}")
    def retrieve_file(file_id: str) -> dict[str, Any]:
        """Return one file's description."""
        return find_file(core, file_id).as_json()

    @router.get("/files/{file_id}/content")
    def retrieve_content(file_id: str) -> FileResponse:
        """Return a file's bytes."""
        path = core.files.path(find_file(core, file_id).id)
        return FileResponse(path, media_type="application/octet-stream", headers={"X-Content-Type-Options": "nosniff"})

    @router.delete("/files/{file_id}")
    def delete_file(file_id: str) -> dict[str, Any]:
        """Delete a file."""
        if not core.files.delete(file_id):
            raise not_found("File", file_id)
        return {"id": file_id, "object": "file", "deleted": True}


@contextlib.contextmanager
def _incoming(folder: Path) -> Iterator[Path]:
    """Give a path for what comes in; what is still there at the block's end is removed."""
    path = folder / f"incoming-{secrets.token_hex(16)}"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _describe(form: Form) -> KeptFile:
    """Return the file of a form. Raises ApiError."""
    if form.filename is None:
        raise ApiError(400, "Missing required parameter: 'file'.", param="file", code="missing_required_parameter")
    purpose = form.fields.get("purpose", "")
    _check_purpose(purpose)
    now, expires = int(time.time()), None
    if seconds := form.fields.get("expires_after[seconds]"):
        if not seconds.isdecimal() or not HOUR <= int(seconds[:9]) <= 30 * 24 * HOUR:
            raise ApiError(400, "'expires_after[seconds]' must be 3600 to 2592000", param="expires_after")
        expires = now + int(seconds)
    return KeptFile(draw_id("file-"), form.filename, purpose, form.bytes, now, expires)


def _check_purpose(purpose: str) -> None:
    if purpose not in PURPOSES:
        raise ApiError(
            400, f"'purpose' must be one of {', '.join(sorted(PURPOSES))}", param="purpose", code="invalid_value"
        )


def find_file(core: Core, name: str) -> KeptFile:
    """Return a file. Raises ApiError."""
    file = core.files.get(name)
    if file is None:
        raise not_found("File", name)
    return file


def add_uploads(router: APIRouter, core: Core) -> None:
    """Add the routes for uploads in parts."""
    uploads = Uploads(core.files)

    @router.post("/uploads")
    def create_upload(said: UploadCreate) -> dict[str, Any]:
        """Begin an upload in parts."""
        _check_purpose(said.purpose)
        if said.bytes > core.settings.limits.file:
            most = core.settings.limits.file
            raise ApiError(413, f"the file is larger than {most:,} bytes", param="bytes", code="request_too_large")
        keep = said.expires_after.seconds if said.expires_after else None
        new = Upload(
            draw_id("upload_"), said.filename, said.purpose, said.mime_type, said.bytes, int(time.time()), keep=keep
        )
        return uploads.add(new).as_json()

    @router.post("/uploads/{upload_id}/parts")
    async def add_part(upload_id: str, request: Request) -> dict[str, Any]:
        """Add a part (multipart/form-data: data)."""
        upload = await run_in_threadpool(uploads.get_open, upload_id)
        with _incoming(uploads.folder) as path:
            form = await read_form(request, "data", path, core.settings.limits.part)
            if form.filename is None:
                raise ApiError(400, "Missing required parameter: 'data'.", param="data")
            return await run_in_threadpool(uploads.add_part, upload, path, form.bytes)

    @router.post("/uploads/{upload_id}/complete")
    def complete_upload(upload_id: str, said: UploadComplete) -> dict[str, Any]:
        """Join the parts into a file."""
        upload = uploads.get(upload_id)
        if upload.status == "completed":  # sent again
            return upload.as_json(core.files.get(upload.file))
        return uploads.complete(uploads.get_open(upload_id), said.part_ids, said.md5)

    @router.post("/uploads/{upload_id}/cancel")
    def cancel_upload(upload_id: str) -> dict[str, Any]:
        """Give an upload up."""
        return uploads.cancel(uploads.get_open(upload_id))
