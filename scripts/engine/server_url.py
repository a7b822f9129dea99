"""ServerUrl: the bases that a person may mean by it.

A server's address comes in many forms: its root, its root with /v1, a gateway's own path in the place of /v1, or the
whole address of an endpoint. Where a form is ambiguous, the server is asked which it is (`engine/given.py`).
"""

from __future__ import annotations

import re
import urllib.parse

from engine.note import ServerError
from engine.routes import ANY_ROUTE

_PASTED = sorted((ANY_ROUTE | {"/v1/models"}) - {"/invocations"}, key=len, reverse=True)
_VERSION = re.compile(r"/v\d+[a-z]*\d*(/|$)")  # a version other than /v1 at the end, such as /api/v3, /v1beta/openai


def parse_url(url: str) -> tuple[str, ...]:
    """Return the bases that a ServerUrl may mean, the likeliest first, as `address.locate` reads them.

    Raises ServerError for an address that cannot be asked.
    """
    text = url.strip().strip("\"'")
    if "@" in text.partition("?")[0]:
        raise ServerError("ServerUrl must not hold a user or a password; set OPENAI_API_KEY on the worker")
    if not text.lower().startswith(("http://", "https://")):
        raise ServerError(f"ServerUrl must begin with http:// or https://, got {url!r}")
    try:
        parts = urllib.parse.urlsplit(text)
        root = f"{parts.scheme}://{parts.netloc}"
        _ = parts.port
    except ValueError:
        raise ServerError(f"ServerUrl {url!r} is no address that can be asked; check it") from None
    query = f"?{parts.query}" if parts.query else ""
    return tuple(f"{root}{path}{query}" for path in _find_paths(parts.path.rstrip("/")))


def _find_paths(path: str) -> tuple[str, ...]:
    """Return the paths of the bases; one that ends in / has its routes directly below it."""
    for route in _PASTED:
        if path.endswith(route):
            return (path.removesuffix(route),)
    for route in _PASTED:
        bare = route.removeprefix("/v1")
        if bare != route and path.endswith(bare):
            return (path.removesuffix(bare) + "/",)
    if path.endswith("/v1"):
        return (path.removesuffix("/v1"),)
    below, direct = path, path + "/"
    return (direct, below) if _VERSION.search(path) else (below, direct)
