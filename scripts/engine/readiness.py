"""Waiting until a server that was launched answers for its model.

A process that ends is noticed at once, and a failure carries the log's end and, where the cause is known, what to do
about it.
"""

from __future__ import annotations

import re
import threading
import time

from engine.address import UNREADABLE, Address
from engine.launch import Launch
from engine.log import read_tail, report
from engine.note import ServerError

POLL_SECONDS = 0.1


class PortTaken(ServerError):
    """Another program took the port first; a new start will choose another."""


def wait_until_ready(launch: Launch, address: Address, limit: float, abandoned: threading.Event) -> None:
    """Return when the server answers. Raises ServerError when it ends, when it takes too long, or once `abandoned`."""
    deadline = time.monotonic() + limit
    while True:
        if launch.gone.is_set():
            raise _explain_end(launch)
        if _answers(address):
            return
        if time.monotonic() > deadline:
            what = f"The server was not ready after {limit:.0f} s (ServerStartTimeoutSeconds)"
            raise ServerError(report(launch.log, what))
        if abandoned.wait(POLL_SECONDS):
            raise ServerError("canceled while the server was starting")


def _answers(address: Address) -> bool:
    try:
        address.get("/v1/models")
    except UNREADABLE:
        return False
    return True


def _explain_end(launch: Launch) -> ServerError:
    if re.search(r"address already in use", read_tail(launch.log), re.IGNORECASE):
        return PortTaken("another program took the port")
    return ServerError(report(launch.log, "The vLLM server ended while it was starting", launch.status))
