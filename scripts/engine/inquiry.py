"""Asking a server of this session whether it is ready, for its model and routes, and whether its model chats."""

from __future__ import annotations

import threading
import time
import urllib.error
from dataclasses import replace
from http import HTTPStatus

from engine import first_chat, model_list, routes
from engine.address import UNREADABLE, Address
from engine.cause import report
from engine.facts import Served
from engine.first_chat import Refused
from engine.launch import Launch, explain_end
from engine.note import ServerError
from engine.routes import ANY_ROUTE

POLL_SECONDS = 0.05
ROUTE_SECONDS = 3  # for a route to be known or not
PROBE_PAUSES = (0.5, 2.0, 5.0)  # seconds, after a first request that failed with a 5xx


def wait_until_ready(launch: Launch, address: Address, limit: float, abandoned: threading.Event) -> None:
    """Return when the server answers. Raises ServerError when it ends, when it takes too long, or once `abandoned`."""
    deadline = time.monotonic() + limit
    while True:
        if launch.gone.is_set():
            raise explain_end(launch)
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


def ask_own(address: Address, model: str, log: str) -> Served:
    """Ask a server of this session what it serves. Raises ServerError."""
    try:
        listed = model_list.read_models(address.get("/v1/models"))
    except UNREADABLE as error:
        raise ServerError(report(log, f"The server does not list its model: {error}")) from None
    served = listed.choose(model)
    # vLLM refuses a GET with 405 where there is a route; its own list takes it 1.6 s to make.
    answered = frozenset(route for route in ANY_ROUTE if _is_there(address, route))
    if routes.CHAT not in answered:
        return replace(served, routes=answered, chat=False)
    return replace(_chat_of(address, served, log), routes=answered)


def _is_there(address: Address, route: str) -> bool:
    """Tell whether the server has a route; what it cannot say now, such as while it is busy, its rows will show."""
    try:
        address.get(route, ROUTE_SECONDS)
    except urllib.error.HTTPError as error:
        return error.code != HTTPStatus.NOT_FOUND
    except UNREADABLE:
        pass
    return True


def _chat_of(address: Address, served: Served, log: str) -> Served:
    """Return what the server serves, with what its first chat shows; one that answers has proven its model."""
    failed = ""
    for pause in (0.0, *PROBE_PAUSES):
        time.sleep(pause)
        try:
            return read_chat(first_chat.try_chat(address, served.model), served)
        except Refused as refused:
            if refused.status < 500:
                return served
            failed = f"HTTP {refused.status}: {refused.words}"
        except UNREADABLE as error:
            raise ServerError(report(log, f"The server did not answer a first request: {error}")) from None
    raise ServerError(report(log, f"The server failed on a first request with {failed}"))


def read_chat(chats: first_chat.Chats, served: Served) -> Served:
    """Return what the server serves, with what its first chat showed; a refusal for another reason says nothing."""
    able = chats.able or not (chats.status == HTTPStatus.NOT_FOUND or "template" in chats.words)
    return replace(served, chat=able, limit=chats.limit, system=chats.system)
