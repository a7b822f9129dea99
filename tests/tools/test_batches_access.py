"""Who may ask the batch APIs: keys in every client's way, no page of another site, no name bent to this machine."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from batches.access import Access

KEY = "secret"
LOCAL = {"host": "127.0.0.1:8321"}
BASIC = base64.b64encode(f"any:{KEY}".encode()).decode()


def ask(headers: dict[str, str], *, key: str | None = None, path: str = "/v1/files") -> tuple[int, Any, dict[str, str]]:
    """Return the status, the body and the headers that a request with these headers gets; 200 where it got through."""
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"null"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    raw = [(name.encode(), value.encode()) for name, value in {**LOCAL, **headers}.items()]
    scope = {"type": "http", "path": path, "headers": raw, "method": "GET"}
    asyncio.run(Access(app, key=key, host="127.0.0.1")(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], json.loads(sent[1]["body"]), found


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {KEY}"},
        {"authorization": f"bearer {KEY}"},
        {"authorization": KEY},
        {"x-api-key": KEY},
        {"authorization": f"Basic {BASIC}"},
    ],
)
def test_a_key_is_taken_in_every_clients_way(headers: dict[str, str]) -> None:
    assert ask(headers, key=KEY)[0] == 200
    assert ask(headers, key="another")[0] == 401


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": ""}, {"authorization": "Bearer "}, {"authorization": "Basic ?"}, {"x-api-key": "é"}],
)
def test_no_key_and_no_real_key_are_refused(headers: dict[str, str]) -> None:
    assert ask(headers, key=KEY)[0] == 401


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/v1/files", lambda body: body["error"]["code"] == "invalid_api_key"),
        ("/v1/messages/batches", lambda body: body["error"]["type"] == "authentication_error"),
        ("/v2/ep/run", lambda body: isinstance(body["error"], str)),
    ],
)
def test_each_api_is_told_in_its_own_shape(path: str, told: Any) -> None:
    _, body, headers = ask({}, key=KEY, path=path)
    assert told(body)
    assert "www-authenticate" not in headers


def test_a_browser_is_asked_for_the_key() -> None:
    assert "Basic" in ask({}, key=KEY, path="/")[2]["www-authenticate"]


@pytest.mark.parametrize("host", ["localhost:8321", "127.0.0.1", "127.9.9.9:1", "[::1]:8321"])
def test_this_machines_names_may_be_asked_without_a_key(host: str) -> None:
    assert ask({"host": host})[0] == 200


@pytest.mark.parametrize("host", ["", "evil.example:8321", "127.0.0.1.evil.example", "10.0.0.1"])
def test_other_names_may_not(host: str) -> None:
    assert ask({"host": host})[0] == 403
    assert ask({"host": host, "x-api-key": KEY}, key=KEY)[0] == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://127.0.0.1:8321", 200), ("https://evil.example", 403), ("null", 403), ("http://127.0.0.1:80", 403)],
)
def test_a_page_of_another_site_may_not_ask(origin: str, status: int) -> None:
    assert ask({"origin": origin})[0] == status
