"""Audio lines: the file that a URL names, and the form in which the server gets it."""

from __future__ import annotations

import asyncio
import email.parser
import email.policy
import json
import threading
from typing import Any

import pytest

from asking import audio
from asking.client import Client
from asking.unanswered import Unanswered
from dialects.exchange import Answer, Ask
from rows.errors import RowError
from support.scripted_server import scripted, status

WAV = bytes(range(256))
ROUTE = "/v1/audio/transcriptions"


def fetch(url: str) -> tuple[str, bytes]:
    return asyncio.run(audio.fetch(url))


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VLLM_BATCH_ROW_HOSTS", "127.0.0.1")  # where the servers of these tests are


@pytest.mark.parametrize(
    ("url", "content"),
    [("data:audio/wav;base64,AAEC", b"\0\1\2"), ("data:,a%20b", b"a b"), ("data:audio/wav;base64,", b"")],
)
def test_a_data_url_is_read(url: str, content: bytes) -> None:
    assert fetch(url) == ("audio", content)


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "/etc/passwd", "data:audio/wav;base64", "data:audio/wav;base64,*", "http://[::1?key=secret"],
)
def test_what_is_no_url_of_audio_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(RowError) as raised:
        fetch(url)
    assert raised.value.code == "invalid_value"
    assert "secret" not in raised.value.message


def test_audio_is_fetched_by_http() -> None:
    with scripted(status(200, WAV)) as server:
        assert fetch(server.base + "/talk/one.wav?key=secret") == ("one.wav", WAV)


CLOSED = ["http://127.0.0.2:{port}/", "http://localhost:{port}/", "http://[::1]:{port}/", "http://169.254.169.254/x"]


@pytest.mark.parametrize("url", CLOSED)
def test_no_row_asks_an_address_that_only_this_machine_should_ask(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(status(200, WAV)) as server:
        monkeypatch.setenv("VLLM_BATCH_ROW_HOSTS", "10.0.0.0/8, files.example")
        with pytest.raises(RowError, match="closed to rows; set VLLM_BATCH_ROW_HOSTS"):
            fetch(url.format(port=server.server_port))
    assert server.seen == []


@pytest.mark.parametrize("url", [url for url in CLOSED if "localhost" not in url])  # which is the servers' own address
def test_no_redirect_leads_there_either(url: str) -> None:
    with scripted(status(200, WAV)) as other:
        target = url.format(port=other.server_port)
        with scripted(status(302, Location=target)) as server, pytest.raises(RowError, match="closed to rows"):
            fetch(server.base + "/a.wav?key=secret")
    assert (len(server.seen), other.seen) == (1, [])


def test_a_redirect_is_followed_and_one_without_an_end_is_given_up() -> None:
    with scripted(status(302, Location="/talk.wav"), status(200, WAV)) as server:
        assert fetch(server.base + "/a.wav")[1] == WAV
    with scripted(status(302, Location="/again")) as server, pytest.raises(Unanswered) as raised:
        fetch(server.base + "/a.wav")
    assert "more than 10 redirects" in raised.value.failure.message


def test_a_redirect_to_a_file_is_refused() -> None:
    with scripted(status(302, Location="file:///etc/passwd")) as server, pytest.raises(RowError):
        fetch(server.base + "/a.wav")


@pytest.mark.parametrize(("code", "passing"), [(503, True), (404, False), (403, False)])
def test_audio_that_is_not_there_may_be_asked_again_or_not(code: int, passing: bool) -> None:
    with scripted(status(code)) as server, pytest.raises(Unanswered) as raised:
        fetch(server.base + "/a.wav?key=secret")
    assert (raised.value.failure.code, raised.value.passing) == ("file_unavailable", passing)
    assert f"HTTP {code}" in raised.value.failure.message
    assert "secret" not in raised.value.failure.message


def test_audio_beyond_what_the_server_takes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audio, "SIZE_LIMIT", 100)
    with scripted(status(200, WAV)) as server, pytest.raises(RowError, match="larger than 100 bytes"):
        fetch(server.base + "/a.wav")


def test_a_download_that_trickles_is_given_up_with_its_row() -> None:
    over = threading.Event()

    def trickle(request: Any) -> None:
        request.send_response(200)
        request.end_headers()
        while not over.wait(0.05):
            request.wfile.write(b"x")

    async def ask(url: str) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(audio.fetch(url), 0.3)

    with scripted(trickle) as server:
        asyncio.run(ask(server.base))  # a thread that reads on would not let it return
        assert not over.is_set()
        over.set()


@pytest.mark.parametrize("name", ["n\u00e4me", "a\rb"])
def test_a_field_that_no_form_can_name_is_refused_at_once(name: str) -> None:
    with scripted(status(200, b"{}")) as server, pytest.raises(RowError, match="cannot be sent beside a file"):
        asyncio.run(post(server.base, Ask(ROUTE, {name: 1}, "data:..."), {"file": ("one.wav", WAV)}))
    assert server.seen == []


def sent_form(request: tuple[str, str, dict[str, str], bytes]) -> list[tuple[str, str | None, bytes]]:
    """Return a form's parts: (name, file name, content)."""
    head = f"Content-Type: {request[2]['Content-Type']}\r\n\r\n".encode()
    form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + request[3])
    return [
        (
            str(part.get_param("name", header="content-disposition")),
            part.get_filename(),
            part.get_payload(decode=True),
        )
        for part in form.iter_parts()
    ]


async def post(url: str, ask: Ask, files: dict[str, Any]) -> Answer:
    async with Client(url, "key-1", 4) as client:
        return await client.post(ask, ask.encode(), files)


def test_the_server_gets_the_file_and_the_lines_other_fields_as_a_form() -> None:
    body = {"model": "whisper", "temperature": 0.5, "prompt": None, "stream": False}
    body |= {"timestamp_granularities": ["word", "segment"], "vad": {"threshold": 0.5}}
    answer = {"text": "Hello.", "usage": {"type": "duration", "seconds": 1}}
    with scripted(status(200, json.dumps(answer).encode(), Content_Type="application/json")) as server:
        made = asyncio.run(post(server.base, Ask(ROUTE, body, "data:..."), {"file": ("one.wav", WAV)}))
        (request,) = server.seen
    assert made.body == answer
    assert (request[0], request[1], request[2]["Authorization"]) == ("POST", ROUTE, "Bearer key-1")
    assert sent_form(request) == [
        ("model", None, b"whisper"),
        ("temperature", None, b"0.5"),
        ("stream", None, b"false"),
        ("timestamp_granularities[]", None, b"word"),
        ("timestamp_granularities[]", None, b"segment"),
        ("vad[threshold]", None, b"0.5"),
        ("file", "one.wav", WAV),
    ]
