"""One request: what a server's unusual answers mean, and how many connections there may be."""

from __future__ import annotations

import asyncio
import resource

import pytest

from asking.client import OTHER_FILES, Client, room_for
from asking.unanswered import Unanswered
from dialects.exchange import Answer, Ask
from engine.address import Address
from engine.given import ask_given
from engine.key import read_key
from engine.note import ServerError
from support.scripted_server import scripted, status

ASK = Ask("/v1/chat/completions", {"messages": []})


def post(url: str) -> Answer:
    async def once() -> Answer:
        async with Client(url, "key-1", 4) as client:
            return await client.post(ASK, ASK.encode())

    return asyncio.run(once())


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_refusal_that_names_where_to(code: int) -> None:
    with scripted(status(200, b"{}")) as other:
        with scripted(status(code, Location=f"{other.base}/v1")) as first, pytest.raises(Unanswered) as raised:
            post(first.base)
        assert not raised.value.passing
        assert f"{other.base}/v1; set ServerUrl" in raised.value.failure.message
        assert (len(first.seen), other.seen) == (1, [])


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        pytest.param(b'{"a":1}', {"X_Long": "a" * 20_000}, id="a long header"),
        pytest.param(b'\xef\xbb\xbf{"a":1}', {}, id="a byte order mark"),
    ],
)
def test_an_unusual_answer_is_read(body: bytes, headers: dict[str, str]) -> None:
    with scripted(status(200, body, **headers)) as given:
        assert post(given.base).body == {"a": 1}


def test_the_key_does_not_follow_a_redirect_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    with scripted(status(200, b"{}")) as other:
        with scripted(status(302, Location=other.base)) as first, pytest.raises(ServerError, match="HTTP 302"):
            ask_given(Address(first.base, read_key()), "m")
        assert (len(first.seen), other.seen) == (1, [])


@pytest.mark.parametrize("text", ["sk-1\n", "sk-1\r\n", " sk-1"])
def test_white_space_around_a_key_is_not_the_keys(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", text)
    assert read_key() == "sk-1"


@pytest.mark.parametrize("text", ["sk-secret\rx", "sk-secr\u00e9t"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", text)
    with pytest.raises(ServerError, match="OPENAI_API_KEY") as raised:
        read_key()
    assert "secr" not in str(raised.value)


@pytest.mark.parametrize(
    ("soft", "hard", "room", "raised_to"),
    [
        pytest.param(1024, 4096, 1024, 1024 + OTHER_FILES, id="the soft limit is raised"),
        pytest.param(1024, 1024, 1024 - OTHER_FILES, 1024, id="the hard limit bounds"),
        pytest.param(1024, -1, 1024, 1024 + OTHER_FILES, id="no hard limit"),
        pytest.param(8192, 8192, 1024, None, id="enough"),
        pytest.param(-1, -1, 1024, None, id="no limit"),
    ],
)
def test_there_are_no_more_connections_than_open_files(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, room: int, raised_to: int | None
) -> None:
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: limits.append(both))
    assert room_for(1024) == room
    assert limits == ([] if raised_to is None else [(raised_to, hard)])


def test_a_query_of_a_redirect_is_not_shown() -> None:
    with (
        scripted(status(307, Location="http://127.0.0.1:9/x?token=SECRET")) as given,
        pytest.raises(Unanswered) as raised,
    ):
        post(given.base)
    assert "at http://127.0.0.1:9/x; set ServerUrl" in raised.value.failure.message
    assert "SECRET" not in raised.value.failure.message


FAILED = b'{"status": "failed", "error": {"code": "server_error", "message": "m"}, "output": []}'


@pytest.mark.parametrize(
    ("body", "code", "http", "passing"),
    [
        (b'{"error": {"message": "quota exceeded", "code": 429}}', "rate_limited", 429, True),
        (b'{"error": {"message": "no such model", "code": "model_not_found"}}', "server_error", None, True),
        (b'{"error": {"message": "bad", "code": 400}, "choices": null}', "invalid_request", 400, False),
        (b'{"error": "overloaded"}', "server_error", None, True),
        (b'{"error": {"message": "x"}, "choices": []}', "server_error", None, True),
        (b'{"object": "error", "message": "bad", "code": 400}', "invalid_request", 400, False),
        (FAILED, "server_error", None, True),
    ],
)
def test_an_error_under_a_200_is_an_error(body: bytes, code: str, http: int | None, *, passing: bool) -> None:
    with scripted(status(200, body)) as given, pytest.raises(Unanswered) as raised:
        post(given.base)
    failure = raised.value.failure
    assert (failure.code, failure.status, raised.value.passing) == (code, http, passing)
    assert failure.message.startswith("under HTTP 200 the server sent an error: ")
    assert failure.body == (body.decode() if http else "")


@pytest.mark.parametrize(
    "body", [b'{"error": null, "choices": [{}]}', b'{"error": {"code": "x"}, "status": "completed", "output": [{}]}']
)
def test_an_answer_that_has_a_result_beside_an_error_is_an_answer(body: bytes) -> None:
    with scripted(status(200, body)) as given:
        assert post(given.base).text == body.decode()
