"""Small requests to a server that runs: by its address and its key, and never redirected.

A server's base says where its routes are (`locate`): below /v1, as vLLM has them, or, where the base ends in `/`,
directly below it without /v1. A query of the base, such as Azure's api-version, follows each route.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ANSWER_SECONDS = 10  # for a small request
UNREADABLE = (OSError, ValueError, http.client.HTTPException)  # no answer, or one that is no JSON; HTTPError is first


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the key is for one address."""

    def redirect_request(self, *_: Any) -> None:
        """Leave the answer an error."""


def locate(base: str, route: str) -> str:
    """Return the address of a route, such as /v1/chat/completions, on a server."""
    path, mark, query = base.partition("?")
    place = path + route.removeprefix("/v1").lstrip("/") if path.endswith("/") else path + route
    return place + mark + query


def find_proxy(url: str) -> str:
    """Return the proxy that the environment names for an address, "" for none: no proxy sees this machine's own."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or _is_inside(host) or urllib.request.proxy_bypass(parts.netloc):
        return ""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def _is_inside(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_private


def make_headers(base: str, key: str) -> dict[str, str]:
    """Return the headers by which a server knows who asks; Azure has one of its own."""
    own = {"api-key": key} if key and "api-version=" in base else {}
    return {"Authorization": f"Bearer {key or 'none'}", **own}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server answers, and the key that it wants."""

    url: str
    key: str = field(repr=False)

    def read(self, path: str, timeout: float = ANSWER_SECONDS) -> str:
        """Return the text of a GET. Raises one of UNREADABLE."""
        return self._send(path, None, timeout)

    def get(self, path: str, timeout: float = ANSWER_SECONDS) -> Any:
        """Return the JSON of a GET. Raises one of UNREADABLE."""
        return json.loads(self.read(path, timeout))

    def post(self, path: str, body: Mapping[str, Any], timeout: float) -> Any:
        """Return the JSON of a POST. Raises one of UNREADABLE."""
        return json.loads(self._send(path, json.dumps(body).encode(), timeout))

    def _send(self, path: str, data: bytes | None, timeout: float) -> str:
        url = locate(self.url, path)
        headers = make_headers(self.url, self.key) | ({"Content-Type": "application/json"} if data is not None else {})
        proxy = find_proxy(url)
        handler = urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else {})
        opener = urllib.request.build_opener(handler, _Straight)
        with opener.open(urllib.request.Request(url, data, headers), timeout=timeout) as response:
            return str(response.read().decode("utf-8", "replace"))
