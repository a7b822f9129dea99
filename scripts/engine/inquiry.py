"""Asking a ready server for its models and routes, and whether its model chats."""

from __future__ import annotations

import time
import urllib.error
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from engine import routes
from engine.address import UNREADABLE, Address
from engine.cause import report
from engine.facts import Served
from engine.note import ServerError
from engine.routes import ANY_ROUTE

ROUTE_SECONDS = 3  # for a route to be known or not
PROBE_SECONDS = 300  # for the first generated token, which may compile kernels
PROBE_PAUSES = (0.5, 2.0, 5.0)  # seconds, after a first request that failed with a 5xx
_VLLM_ONLY = frozenset({"/classify", "/pooling"})


def ask_own(address: Address, model: str, log: str) -> Served:
    """Ask a server of this session what it serves. Raises ServerError."""
    listed = _ask_models(address, model)
    first = listed.model
    # vLLM refuses a GET with 405 where there is a route; its own list takes it 1.6 s to make.
    answered = frozenset(route for route in ANY_ROUTE if _is_there(address, route))
    return replace(listed, routes=answered, chat=routes.CHAT in answered and _chats(address, first, log))


def ask_given(address: Address, model: str) -> Served:
    """Ask a server that somebody else runs what it serves. Raises ServerError."""
    listed = _ask_models(address, model)
    names = sorted(listed.names)
    if model not in names:
        known = f"serves {', '.join(names[:5])}; set ModelName to one of these" if names else "serves no model yet"
        raise ServerError(f"The server at {address.url} {known}")
    answered = _list_routes(address)
    chat = (routes.CHAT in answered or not answered) and _chats(address, listed.model, "")
    return replace(listed, routes=answered, chat=chat)


def _ask_models(address: Address, model: str) -> Served:
    """Return what the server's list of models tells: its own name for the model, its longest context, all names."""
    try:
        models = address.get("/v1/models")["data"]
        names = [str(each["id"]) for each in models]
    except urllib.error.HTTPError as error:
        wants_key = ": it wants a key; set OPENAI_API_KEY on the worker" if error.code in (401, 403) else ""
        raise ServerError(f"The server at {address.url} answered HTTP {error.code}{wants_key}") from None
    except UNREADABLE as error:
        raise ServerError(f"No OpenAI-compatible server answers at {address.url}: {error}") from None
    except (KeyError, TypeError):
        raise ServerError(f"What answers at {address.url} is no OpenAI-compatible server: it lists no models") from None
    first = model if model in names else (names or [model])[0]
    tokens = next((each.get("max_model_len") for each in models if each["id"] == first), None)
    return Served(
        first, tokens=tokens if isinstance(tokens, int) else None, names=frozenset(names), alone=_is_one(models)
    )


def _is_one(models: list[dict[str, Any]]) -> bool:
    """Tell whether a list has one model, under whatever names; an adapter has another for its parent."""
    roots = {each.get("root") or each["id"] for each in models}
    return len(roots) == 1 and not any(each.get("parent") for each in models)


def _list_routes(address: Address) -> frozenset[str]:
    """Return the routes that a given server lists.

    One whose list names none of the endpoints that OpenAI's API or vLLM alone has, such as a gateway's, is asked as
    the rows say.
    """
    try:
        paths = address.get("/openapi.json")["paths"]
        found = frozenset(path for path, methods in paths.items() if "post" in methods) & ANY_ROUTE
        return found if any(route.startswith("/v1/") or route in _VLLM_ONLY for route in found) else frozenset()
    except (*UNREADABLE, KeyError, TypeError, AttributeError):
        return frozenset()


def _is_there(address: Address, route: str) -> bool:
    """Tell whether the server has a route; what it cannot say now, such as while it is busy, its rows will show."""
    try:
        address.get(route, ROUTE_SECONDS)
    except urllib.error.HTTPError as error:
        return error.code != HTTPStatus.NOT_FOUND
    except UNREADABLE:
        pass
    return True


def _chats(address: Address, model: str, log: str) -> bool:
    """Ask for one token of chat: a model without a template refuses, and a loaded one is proven to answer."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    failed = 0
    for pause in (0.0, *PROBE_PAUSES):
        time.sleep(pause)
        try:
            address.post(routes.CHAT, body, PROBE_SECONDS)
            return True
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return "template" not in error.read().decode("utf-8", "replace") and error.code != 404
            failed = error.code
        except UNREADABLE as error:
            raise ServerError(report(log, f"The server did not answer a first request: {error}")) from None
    raise ServerError(report(log, f"The server failed on a first request with HTTP {failed}"))
