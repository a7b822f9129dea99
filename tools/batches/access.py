"""Who may ask: a key where one is set, no page of another site, and no name that was bent to this machine.

An ASGI layer before every route, so that no route can forget it. Keys are compared in constant time.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import urllib.parse
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from batches.errors import ApiError, answer_error

_LOCAL_NAMES = frozenset({"localhost"})
_APIS = ("/v1/", "/v2/")


def is_loopback(host: str) -> bool:
    """Tell whether a host's name or address is this machine's own."""
    name = host.strip("[]")
    if name in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class Access:
    """Lets a request through to `app`, or answers it with the error of its API; `key` None asks for no key."""

    def __init__(self, app: ASGIApp, *, key: str | None, host: str) -> None:
        self._app, self._key, self._host = app, key, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(Headers(scope=scope), scope["path"])
        except ApiError as error:
            await answer_error(scope["path"], error)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _check(self, headers: Headers, path: str) -> None:
        """Raise ApiError for a request that may not be answered."""
        host = headers.get("host", "")
        name = urllib.parse.urlsplit(f"//{host}").hostname or ""
        if self._key is None and not is_loopback(name) and name != self._host:
            raise ApiError(403, "this address is not one by which this server may be asked without a key")
        origin = headers.get("origin")
        if origin and urllib.parse.urlsplit(origin).netloc != host:
            raise ApiError(403, "a page of another site may not ask this server")
        if self._key is not None and not any(_is_same(given, self._key) for given in find_keys(headers)):
            asks = {} if path.startswith(_APIS) else {"WWW-Authenticate": 'Basic realm="batches"'}
            raise ApiError(401, "Incorrect API key provided", code="invalid_api_key", headers=asks)


def find_keys(headers: Headers) -> Iterable[str]:
    """Yield the keys of a request, in the ways in which the APIs' clients send them, and a browser's password."""
    if key := headers.get("x-api-key"):
        yield key
    given = headers.get("authorization", "")
    kind, _, rest = given.partition(" ")
    if kind.lower() == "bearer":
        yield rest.strip()
    elif kind.lower() == "basic":
        try:
            yield base64.b64decode(rest, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return
    elif given:
        yield given


def _is_same(given: str, key: str) -> bool:
    return hmac.compare_digest(given.encode(), key.encode())
