"""Bodies of requests, taken no larger than they may be: into memory, or onto the disk as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

from fastapi import Request

from batches.errors import ApiError


async def receive(request: Request, path: Path, most: int, watch: Callable[[bytes], object]) -> None:
    """Write a request's body to a file; `watch` is told of each block. Raises ApiError 413."""
    with path.open("wb") as file:
        async for block in _read(request, most):
            file.write(block)
            watch(block)


async def read_body(request: Request, most: int) -> bytes:
    """Return a request's body. Raises ApiError 413."""
    return b"".join([block async for block in _read(request, most)])


async def _read(request: Request, most: int) -> AsyncIterator[bytes]:
    told = request.headers.get("content-length", "")
    size = int(told) if told.isdecimal() and len(told) < 20 else 0
    if size > most:
        raise _refuse(most)
    size = 0
    async for block in request.stream():
        size += len(block)
        if size > most:
            raise _refuse(most)
        yield block


def _refuse(most: int) -> ApiError:
    return ApiError(413, f"the body is larger than {most:,} bytes", code="request_too_large")
