"""A middleware of vLLM's API server, by `--middleware support.marked_rows.Marked`: it holds rows that are marked.

For each such request it leaves a file in the server's folder, for whoever is to kill the server then, and passes the
request on once the file is gone. Runs inside vLLM's own process, of which it needs nothing.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

MARK = b"MARKED"
SEEN = "marked-"  # how the files' names begin; then the process id of the API server
_Receive = Callable[[], Awaitable[dict[str, Any]]]


class Marked:
    """Passes all other requests on, as they came."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: _Receive, send: Any) -> None:
        """Read a request's body before the server does."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        if any(MARK in message.get("body", b"") for message in messages):
            mark = _leave_mark()
            while _is_there(mark):  # noqa: ASYNC110 - what it waits for is another process's
                await asyncio.sleep(0.05)
        waiting = iter(messages)

        async def again() -> dict[str, Any]:
            return next(waiting, None) or await receive()

        await self.app(scope, again, send)


def _leave_mark() -> Path:
    mark = Path(f"{SEEN}{os.getpid()}-{secrets.token_hex(4)}")
    mark.touch()
    return mark


def _is_there(mark: Path) -> bool:
    return mark.exists()
