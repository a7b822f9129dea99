"""A server that somebody else runs: which of its bases answers, whether it has the model, and whether it is awake.

A first answer proves a model, its list does not: lists are missing, cut, or written in another way. A server that is
loading, starting from nothing or not listening yet is waited for; one that refuses who asks, or has no such model, is
not.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
import urllib.error
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from engine import first_chat, refusals, routes
from engine.address import UNREADABLE, Address
from engine.facts import Served
from engine.first_chat import Refused
from engine.inquiry import read_chat
from engine.model_list import Listed, read_models
from engine.note import ServerError
from engine.routes import ANY_ROUTE
from host import runner
from host.transfer import shown

FAILURES = 4  # looks at a server that fails without saying that it is waking
PAUSES = (1.0, 2.0, 5.0, 10.0, 15.0)  # seconds between two looks at a server that is not ready; the last for ever
LONGEST_PAUSE = 60.0  # seconds that a server may ask to wait before the next look
_QUOTED = 200  # characters of what is no API
TELL_SECONDS = 60.0  # between two lines that say what is waited for
_FAILING = frozenset({500, 501, 505})
_ELSEWHERE = frozenset({404, 405})
_VLLM_ONLY = frozenset({"/classify", "/pooling"})
_LESSER = (  # what proves a model that does not chat
    (routes.COMPLETIONS, {"prompt": "Hi", "max_tokens": 1}),
    ("/v1/embeddings", {"input": "Hi"}),
)


class NotReady(ServerError):
    """The server is there, or will be, and does not answer yet.

    `after` are the seconds that it asks to wait; `fails` tells that it does not say that it is waking.
    """

    def __init__(self, message: str, after: float | None = None, *, fails: bool = False) -> None:
        super().__init__(message)
        self.after, self.fails = after, fails


class _Denied(ServerError):
    """The server refuses whoever asks."""


class _NotHere(ServerError):
    """No API answers below this base."""


@dataclass(frozen=True, slots=True)
class _List:
    """What came of asking for the models: the list, or why there is none.

    `unready` is there where the server says that it is not ready, which a first answer refutes.
    """

    listed: Listed = field(default_factory=Listed)
    reason: str = ""
    unready: NotReady | None = None


def await_given(
    bases: Sequence[str], key: str, model: str, limit: float, due: threading.Event
) -> tuple[Address, Served]:
    """Return where a given server answers and what it serves, waiting up to `limit` seconds until it does.

    Raises ServerError, also once `due`.
    """
    deadline = time.monotonic() + limit
    told = float("-inf")
    pauses = iter(PAUSES)
    failures = 0
    while True:
        try:
            return find_given(bases, key, model)
        except NotReady as error:
            left = deadline - time.monotonic()
            failures += error.fails
            if failures == FAILURES:
                raise ServerError(str(error)) from None
            if left <= 0:
                raise ServerError(
                    f"{error}; it was not ready after {limit:.0f} s (ServerStartTimeoutSeconds)"
                ) from None
            waits = f"{error}; waiting for it, {left:.0f} s are left (ServerStartTimeoutSeconds)"
            pause = next(pauses, PAUSES[-1]) if error.after is None else min(max(error.after, 1.0), LONGEST_PAUSE)
        runner.status(waits)
        if time.monotonic() - told >= TELL_SECONDS:
            told = time.monotonic()
            runner.say(waits)
        if due.wait(min(pause, left)):
            raise ServerError("nothing is asked any more, and the server was not ready")


def find_given(bases: Sequence[str], key: str, model: str) -> tuple[Address, Served]:
    """Return the first of a server's bases that answers, and what it serves. Raises ServerError."""
    refusal: ServerError | None = None
    for base in bases:
        address = Address(base, key)
        try:
            return address, ask_given(address, model)
        except _NotHere as error:
            refusal = refusal or error
    assert refusal is not None
    raise refusal


def ask_given(address: Address, model: str) -> Served:
    """Ask a server below one base what it serves. Raises ServerError."""
    models = _ask_models(address)
    served = models.listed.choose(model)
    if not models.listed.find(model):  # the list may not have all
        names = served.names and served.names | {model}
        served = Served(model, names=names)
    proven = _prove(address, served, models)
    answered = _list_routes(address)
    _tell(proven, model, models)
    return replace(proven, routes=answered, chat=proven.chat and (not answered or routes.CHAT in answered))


def _tell(proven: Served, model: str, models: _List) -> None:
    """Say what a person may not expect of the model that was found."""
    if proven.model != model:
        runner.say(f"the server lists {model} as {proven.model}, which is asked")
    elif models.reason:
        runner.say(f"the server's list of models cannot be read ({models.reason}); a first request was answered")
    elif not models.listed.find(model):
        near = ", ".join(models.listed.nearest(model))
        runner.say(f"the server does not list {model}, and answers for it all the same; it lists {near}")


def _ask_models(address: Address) -> _List:
    """Return the server's list of models. Raises NotReady where nobody listens yet, ServerError for no server."""
    try:
        listed = read_models(address.get("/v1/models"))
    except urllib.error.HTTPError as error:
        refused = Refused.read(error, address.key)
        if 300 <= refused.status < 400:
            where = (error.headers.get("Location") or "?").partition("?")[0].removesuffix("/models")
            raise ServerError(
                f"{_at(address)} answers elsewhere (HTTP {refused.status}): set ServerUrl to {where}"
            ) from None
        unready = refused.status == HTTPStatus.SERVICE_UNAVAILABLE
        reason = f"HTTP {refused.status}: {refused.words}"
        waits = NotReady(f"{_at(address)} is not ready ({reason})", refused.after)
        return _List(reason=reason, unready=waits if unready else None)
    except ValueError:  # no JSON, which a first request may find, too
        return _List(reason="it is no JSON")
    except UNREADABLE as error:
        _refuse_if_nobody(address, error)
        return _List(reason=str(error) or type(error).__name__)
    return _List(listed, "" if listed.names else "it names none")


def _refuse_if_nobody(address: Address, error: Exception) -> None:
    """Raise NotReady where nobody listens yet, ServerError where nobody ever will."""
    cause = getattr(error, "reason", None) or error
    if isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN:
        raise ServerError(f"{_at(address)} cannot be found: {cause.strerror}; check ServerUrl") from None
    if isinstance(cause, ssl.SSLCertVerificationError):
        raise ServerError(
            f"{_at(address)} has a certificate that is not trusted here ({cause.verify_message}); set SSL_CERT_FILE on "
            "the worker"
        ) from None
    if isinstance(cause, ConnectionRefusedError | TimeoutError | socket.gaierror):
        raise NotReady(f"{_at(address)} does not answer ({cause})") from None


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


def _prove(address: Address, served: Served, models: _List) -> Served:
    """Return what the server serves, once a first request was answered. Raises ServerError."""
    try:
        return _ask_first(address, served, models)
    except (NotReady, _Denied):
        raise
    except ServerError as error:
        raise models.unready or error from None


def _ask_first(address: Address, served: Served, models: _List) -> Served:
    try:
        chats = first_chat.try_chat(address, served.model)
        if not chats.able:
            _prove_otherwise(address, served.model, models, chats)
        elif not (isinstance(chats.body, dict) and chats.body.get("choices")):
            raise _NotHere(f"What answers at {shown(address.url)} is no OpenAI-compatible server")
        return read_chat(chats, served)
    except Refused as refused:
        raise _explain(address, refused) from None
    except json.JSONDecodeError as error:
        told = refusals.read_words(error.doc.encode(), None)[:_QUOTED]
        what = f"What answers at {shown(address.url)} is no OpenAI-compatible server; it says: {told}"
        raise _NotHere(f"{what}; check ServerUrl") from None
    except UNREADABLE as error:
        _refuse_if_nobody(address, error)
        raise ServerError(f"No OpenAI-compatible server answers at {shown(address.url)}: {error}") from None


def _prove_otherwise(address: Address, model: str, models: _List, chats: first_chat.Chats) -> None:
    """See whether a model that refused to chat is there. Raises ServerError where it is not."""
    listed = models.listed
    if models.unready:
        raise models.unready
    if refusals.lacks_model(chats.words):
        raise _no_such_model(address, model, listed, chats.words)
    if listed.find(model) or chats.status not in _ELSEWHERE:
        return  # a row may be asked in another way
    for route, body in _LESSER:
        try:
            first_chat.post(address, route, {"model": model, **body})
            return
        except Refused as refused:
            if refusals.lacks_model(refused.words):
                raise _no_such_model(address, model, listed, refused.words) from None
            if refused.status not in _ELSEWHERE:
                raise
    raise _NotHere(f"No OpenAI-compatible server answers at {shown(address.url)} ({chats.words}); check ServerUrl")


def _no_such_model(address: Address, model: str, listed: Listed, words: str) -> ServerError:
    names = ", ".join(listed.nearest(model))
    known = f"it serves {names}; set ModelName to one of these" if names else "set ModelName to one that it serves"
    return ServerError(f"{_at(address)} does not answer for {model} ({words}); {known}")


def _explain(address: Address, refused: Refused) -> ServerError:
    """Return the error of a server that refuses whoever asks, or that is not ready."""
    what = f"{_at(address)} answered HTTP {refused.status}: {refused.words}"
    if refusals.is_used_up(refused.status, refused.words):
        return _Denied(f"{what}. The account of its key has nothing left: add credit or raise its quota")
    if refused.status in (401, 403):
        return _Denied(f"{what}. It wants a key: set ServerKeySecretId, or OPENAI_API_KEY on the worker")
    if refused.status < 500 and refused.status not in (408, 425, 429):
        return ServerError(what)
    return NotReady(what, refused.after, fails=refused.status in _FAILING and "load" not in refused.words.lower())


def _at(address: Address) -> str:
    return f"The server at {shown(address.url)}"
