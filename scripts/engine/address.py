"""Small requests to a server that runs: by its address and its key, past every proxy, and never redirected."""

from __future__ import annotations

import http.client
import json
import os
import urllib.request
from dataclasses import dataclass, field
from typing import Any

from engine.note import ServerError

KEY_VARIABLE = "VLLM_API_KEY"  # read by vLLM itself; keeps the key off the command line
_KEY_VARIABLES = (KEY_VARIABLE, "OPENAI_API_KEY")
ANSWER_SECONDS = 10  # for a small request
UNREADABLE = (OSError, ValueError, http.client.HTTPException)  # no answer, or one that is no JSON; HTTPError is first


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the key is for one address."""

    def redirect_request(self, *_: Any) -> None:
        """Leave the answer an error."""


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Straight)  # no proxy sees loopback or the key


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server answers, and the key that it wants."""

    url: str
    key: str = field(repr=False)

    def read(self, path: str, timeout: float = ANSWER_SECONDS) -> str:
        """Return the text of a GET. Raises one of UNREADABLE."""
        return self._send(urllib.request.Request(self.url + path, headers=self._headers()), timeout)

    def get(self, path: str, timeout: float = ANSWER_SECONDS) -> Any:
        """Return the JSON of a GET. Raises one of UNREADABLE."""
        return json.loads(self.read(path, timeout))

    def post(self, path: str, body: dict[str, Any], timeout: float) -> Any:
        """Return the JSON of a POST. Raises one of UNREADABLE."""
        headers = {**self._headers(), "Content-Type": "application/json"}
        return json.loads(
            self._send(urllib.request.Request(self.url + path, json.dumps(body).encode(), headers), timeout)
        )

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    @staticmethod
    def _send(request: urllib.request.Request, timeout: float) -> str:
        with _OPENER.open(request, timeout=timeout) as response:
            return str(response.read().decode("utf-8", "replace"))


def read_key() -> str:
    """Return the key of the session's server, from the environment. Raises ServerError for one that cannot be sent."""
    name = next((name for name in _KEY_VARIABLES if os.environ.get(name)), "")
    key = os.environ.get(name, "").strip()  # a file's last line break, often
    if not (key.isascii() and key.isprintable()):
        raise ServerError(f"{name} holds a character that no key has; set it anew")
    return key


def parse_url(url: str) -> str:
    """Return the root of a ServerUrl, which may end in /v1. Raises ServerError."""
    root = url.rstrip("/").removesuffix("/v1")
    if "@" in root:
        raise ServerError("ServerUrl must not hold a user or a password; set OPENAI_API_KEY on the worker")
    if not root.lower().startswith(("http://", "https://")):
        raise ServerError(f"ServerUrl {url!r} must begin with http:// or https://")
    return root
