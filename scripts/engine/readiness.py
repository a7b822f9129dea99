"""Waiting for a server, and asking it what it can do.

Ready means that the server answers for the model. A process that ends is noticed at once, the log's progress is shown
while it loads, and a failure carries the log's tail and, where the cause is known, what to do about it.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import threading
import time
import urllib.error
import urllib.request
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Any

from engine import cause, routes, server
from engine.facts import Served
from engine.routes import ANY_ROUTE
from engine.server import ServerError, State
from host import runner

PORT_ATTEMPTS = 3  # a port that is free when it is looked up may be taken when it is needed
KEY_VARIABLES = (server.KEY_VARIABLE, "OPENAI_API_KEY")
TAIL_LINES = 25
TAIL_BYTES = 64_000
POLL_SECONDS = 0.1
SHOW_SECONDS = 10  # between two looks at the log
ANSWER_SECONDS = 10  # for a small request
ROUTE_SECONDS = 3  # for a route to be known or not
PROBE_SECONDS = 300  # for the first generated token, which may compile kernels
_VLLM_ONLY = frozenset({"/classify", "/pooling"})
PROBE_PAUSES = (0.5, 2.0, 5.0)  # seconds, after a first request that failed with a 5xx


class PortTaken(ServerError):
    """Another program took the port first; a new start will choose another."""


def wait(state: State, key: str, abandoned: threading.Event) -> None:
    """Return when the server answers for its model.

    Raises ServerError when it dies, is not ready in time, or nobody waits for it any more.
    """
    limit = state.settings.start_timeout
    begun = shown = time.monotonic()
    seen = 0
    while True:
        if not state.alive():
            raise _death(state)
        if _answers(state, key):
            return
        now = time.monotonic()
        if now - begun > limit:
            raise ServerError(
                _report(state, f"The server was not ready after {limit:.0f} s (ServerStartTimeoutSeconds)")
            )
        if now - shown > SHOW_SECONDS:
            shown, seen = now, _show_progress(state, seen, now - begun)
        if abandoned.wait(POLL_SECONDS):
            raise ServerError("canceled while the server was starting")


def _answers(state: State, key: str) -> bool:
    try:
        get(state, "/v1/models", key)
    except UNREADABLE:
        return False
    return True


def _death(state: State) -> ServerError:
    tail = log_tail(state)
    if re.search(r"address already in use", tail, re.IGNORECASE):
        return PortTaken("another program took the port")
    return ServerError(_report(state, "The vLLM server ended while it was starting"))


def _report(state: State, what: str) -> str:
    tail = log_tail(state)
    why = cause.explain(cause.read_log(Path(state.log))) if state.log else ""
    return "\n".join([*(f"vllm: {line}" for line in tail.splitlines()), f"{what}" + (f": {why}" if why else "")])


def log_tail(state: State) -> str:
    """Return the last lines of the server's log."""
    path = Path(state.log)
    if not state.log or not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-TAIL_LINES:])


def _show_progress(state: State, seen: int, seconds: float) -> int:
    """Relay the newest line of the log, if there is one; return how much of the log has been looked at."""
    size = Path(state.log).stat().st_size if state.log else 0
    line = log_tail(state).rpartition("\n")[2].rpartition("\r")[2]
    runner.status(f"Loading {state.settings.model}, {seconds:.0f} s")
    if size > seen:
        runner.say(f"{seconds:.0f} s, vllm: {line}")
    return size


def get(state: State, path: str, key: str, timeout: float = ANSWER_SECONDS) -> Any:
    """Return the JSON of a GET. Raises one of UNREADABLE (HTTPError is an OSError)."""
    request = urllib.request.Request(state.url + path, headers={"Authorization": f"Bearer {key}"})
    with OPENER.open(request, timeout=timeout) as response:
        return json.load(response)


def post(state: State, path: str, key: str, body: dict[str, Any], timeout: float) -> Any:
    """Return the JSON of a POST. Raises one of UNREADABLE (HTTPError is an OSError)."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(state.url + path, json.dumps(body).encode(), headers)
    with OPENER.open(request, timeout=timeout) as response:
        return json.load(response)


UNREADABLE = (OSError, ValueError, http.client.HTTPException)


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the key is for one address."""

    def redirect_request(self, *_: Any) -> None:
        """Leave the answer an error."""


OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Straight)  # no proxy sees loopback or the key


def served(state: State, key: str) -> Served:
    """Ask a ready server for its models and routes, and whether the model has a chat template.

    Raises ServerError when the server does not answer or does not serve the model.
    """
    try:
        models = get(state, "/v1/models", key)["data"]
        names = [str(model["id"]) for model in models]
    except urllib.error.HTTPError as error:
        wants_key = ": it wants a key; set OPENAI_API_KEY on the worker" if error.code in (401, 403) else ""
        raise ServerError(f"The server at {state.url} answered HTTP {error.code}{wants_key}") from None
    except UNREADABLE as error:
        raise ServerError(f"No OpenAI-compatible server answers at {state.url}: {error}") from None
    except (KeyError, TypeError):
        raise ServerError(f"What answers at {state.url} is no OpenAI-compatible server: it lists no models") from None
    first = state.settings.model if state.settings.model in names else (names or [state.settings.model])[0]
    if state.external and state.settings.model not in names:
        known = f"serves {', '.join(names[:5])}; set ModelName to one of these" if names else "serves no model yet"
        raise ServerError(f"The server at {state.url} {known}")
    answered = _routes(state, key)
    chat = (routes.CHAT in answered or not answered) and _chats(state, key, first)
    tokens = next((model.get("max_model_len") for model in models if model["id"] == first), None)
    return Served(first, answered, chat, tokens if isinstance(tokens, int) else None)


def _routes(state: State, key: str) -> frozenset[str]:
    """Ask for each route by GET, which vLLM refuses with 405 where there is one: its own list takes it 1.6 s to make.

    Of a server that was given nothing is known, so its list is asked for. One whose list names none of the endpoints
    that OpenAI's API or vLLM alone has, such as a gateway's, is asked as the rows say.
    """
    if not state.external:
        return frozenset(route for route in ANY_ROUTE if _is_there(state, route, key))
    try:
        paths = get(state, "/openapi.json", key)["paths"]
        found = frozenset(path for path, methods in paths.items() if "post" in methods) & ANY_ROUTE
        return found if any(route.startswith("/v1/") or route in _VLLM_ONLY for route in found) else frozenset()
    except (*UNREADABLE, KeyError, TypeError, AttributeError):
        return frozenset()


def _is_there(state: State, route: str, key: str) -> bool:
    """Tell whether the server has a route; what it cannot say now, such as while it is busy, its rows will show."""
    try:
        get(state, route, key, ROUTE_SECONDS)
    except urllib.error.HTTPError as error:
        return error.code != HTTPStatus.NOT_FOUND
    except UNREADABLE:
        pass
    return True


def _chats(state: State, key: str, model: str) -> bool:
    """Ask for one token of chat: a model without a template refuses, and a loaded one is proven to answer."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    failed = 0
    for pause in (0.0, *PROBE_PAUSES):
        time.sleep(pause)
        try:
            post(state, routes.CHAT, key, body, PROBE_SECONDS)
            return True
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return "template" not in error.read().decode("utf-8", "replace") and error.code != 404
            failed = error.code
        except UNREADABLE as error:
            raise ServerError(_report(state, f"The server did not answer a first request: {error}")) from None
    raise ServerError(_report(state, f"The server failed on a first request with HTTP {failed}"))


def wait_until_ready(
    state: State, folder: Path, key: str, abandoned: threading.Event | None = None
) -> tuple[State, Served]:
    """Wait for a launched server, trying other ports when another program was quicker; `abandoned` ends the wait."""
    for attempt in range(PORT_ATTEMPTS):
        try:
            wait(state, key, abandoned or threading.Event())
            break
        except PortTaken:
            if attempt == PORT_ATTEMPTS - 1:
                raise
            runner.say("another program took the port; starting on a new one")
            server.stop(state, patience=2)  # its children may outlive it
            state = server.launch(state.settings, folder, key, state.loads[:-1])
    facts = served(state, key)
    state = server.renamed(state, facts.model)
    server.save(state, folder)
    return state, facts


def session_key() -> str:
    """Return the key of the session's server, from the environment. Raises ServerError for one that cannot be sent."""
    name = next((name for name in KEY_VARIABLES if os.environ.get(name)), "")
    key = os.environ.get(name, "").strip()  # a file's last line break, often
    if not (key.isascii() and key.isprintable()):
        raise ServerError(f"{name} holds a character that no key has; set it anew")
    return key


def save_served(facts: Served, folder: Path) -> None:
    """Write what the server can do, for the session's tasks."""
    server.write_note(folder / "served.json", {**asdict(facts), "routes": sorted(facts.routes)})


def load_served(folder: Path) -> Served:
    """Return what `save_served` wrote."""
    value = json.loads((folder / "served.json").read_text(encoding="utf-8"))
    return Served(**{**value, "routes": frozenset(value["routes"])})
