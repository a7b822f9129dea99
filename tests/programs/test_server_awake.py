"""ServerUrl: a server that is still waking up is waited for, one that never will is told in a sentence."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from support.fake_server import MODEL, FakeServer, Fault, answer
from support.programs import Session, outcome, read_until, rows
from support.scripted_server import Scripted, Step, scripted, status

LOADING = json.dumps({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}).encode()
CHAT = "/v1/chat/completions"


def well(request: Scripted) -> None:
    """Answer as a server does that is awake."""
    if request.command == "GET" and request.path == "/v1/models":
        request.reply(200, json.dumps({"data": [{"id": MODEL}]}).encode())
    elif request.command == "POST":
        request.reply(200, answer(CHAT, "x"))
    else:
        request.reply(404, b"{}")


@pytest.mark.parametrize(
    "steps",
    [
        [status(503, LOADING)] * 2,
        [status(503, b'{"error": "no healthy upstream"}', Retry_After="1")] * 2,
        [status(503, LOADING), status(404, b'{"error": "model not found"}')],
        [status(503, LOADING), *[status(400, b'{"error": "try later"}')] * 2],
        [status(502, b"<html>502</html>")] * 2,
        [status(504, b"")] * 4,
        [status(200, b'{"data": [{"id": "fake"}]}'), status(503, LOADING)],
    ],
    ids=["loading", "from nothing", "no model yet", "no chat yet", "a gateway", "a slow gateway", "its models first"],
)
def test_a_server_that_is_still_waking_up_is_waited_for(steps: list[Step], tmp_path: Path) -> None:
    with scripted(*steps, well) as server:
        session = Session(tmp_path, rows(["a"]), server.base)
        assert "waiting for it" in session.start().check().text
        session.chunk().check()
        session.aggregate().check()
    assert outcome(session.written()[0]) == "echo: x"


def test_a_server_that_does_not_listen_yet_is_waited_for(tmp_path: Path) -> None:
    with FakeServer() as server:
        server.leave()
        session = Session(tmp_path, rows(["a"]), server.url)
        start = session.launch(session.start_argv())
        read_until("waiting for it", start)
        server.come_back()
        session.finish(start).check()


def test_a_server_that_never_wakes_up_is_told_with_its_last_words_and_the_parameter(tmp_path: Path) -> None:
    with scripted(status(503, LOADING)) as server:
        start = Session(tmp_path, rows(["a"]), server.base).start(server_start_timeout_seconds="2")
        start.refused("Loading model", "ServerStartTimeoutSeconds")
        assert len(server.seen) <= 6, "the list and a first request, in three looks"


@pytest.mark.parametrize(
    ("code", "body", "says"),
    [
        (401, b'{"error": {"message": "Invalid key"}}', "ServerKeySecretId"),
        (403, b'{"error": {"message": "no access"}}', "OPENAI_API_KEY"),
        (402, b'{"error": {"message": "Insufficient Balance"}}', "credit"),
        (429, b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}', "quota"),
        (404, b'{"error": {"message": "The model `fake` does not exist"}}', "ModelName"),
        (404, b"404 page not found", "ServerUrl"),
        (200, b"<!doctype html><title>Sign in</title>", "ServerUrl"),
    ],
)
def test_what_waiting_does_not_mend_is_refused_at_once(code: int, body: bytes, says: str, tmp_path: Path) -> None:
    with scripted(status(code, body)) as server:
        message = Session(tmp_path, rows(["a"]), server.base).start().refused(says)
    assert "{" not in message


def test_waiting_ends_at_stop_at_and_the_rows_are_told_so(tmp_path: Path) -> None:
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=4)
    with scripted(status(503, LOADING)) as server:
        session = Session(tmp_path, rows(["a"]), server.base, options={"stop_at": soon.isoformat()})
        assert "StopAt" in session.start().check().text
        session.chunk().check()
        session.aggregate().check()
    assert outcome(session.written()[0]) == "deadline"


def test_a_name_that_no_server_has_is_refused_at_once(tmp_path: Path) -> None:
    Session(tmp_path, rows(["a"]), "http://no-such-host.invalid:8000").start().refused("no-such-host.invalid")


def test_a_key_that_the_server_repeats_is_not_shown(tmp_path: Path) -> None:
    with scripted(status(401, b'{"error": {"message": "Incorrect API key provided: sk-NobodySees."}}')) as server:
        session = Session(tmp_path, rows(["a"]), server.base)
        session.environment["OPENAI_API_KEY"] = "sk-NobodySees"
        assert "NobodySees" not in session.start().text


def test_a_key_that_an_error_under_200_repeats_is_not_shown_or_kept(tmp_path: Path) -> None:
    body = b'{"error": {"message": "Your key sk-NobodySees has no access to this", "code": 403}}'
    with FakeServer(lambda asked: Fault(body=body) if asked.text == "a" else None, key="sk-NobodySees") as server:
        session = Session(tmp_path, rows("ab"), server.url)
        session.environment["OPENAI_API_KEY"] = "sk-NobodySees"
        said = [step().check().text for step in (session.start, session.chunk, session.aggregate)]
    assert "NobodySees" not in "".join(said).replace("openjd_redacted_env: VLLM_API_KEY=sk-NobodySees", "")
    assert "NobodySees" not in json.dumps(session.written())
    assert "Your key *** has no access" in json.dumps(session.written())


def test_a_redirect_is_refused_with_the_address_to_set(tmp_path: Path) -> None:
    with scripted(status(301, Location="https://elsewhere.test/v1/models?token=SECRET")) as server:
        message = Session(tmp_path, rows(["a"]), server.base).start().refused("https://elsewhere.test/v1")
    assert "SECRET" not in message


def test_a_server_beyond_the_network_is_asked_by_the_environment_s_proxy(tmp_path: Path) -> None:
    def forward(request: Scripted) -> None:
        assert request.path.startswith("http://models.test/v1/")
        request.path = request.path.removeprefix("http://models.test")
        well(request)

    with scripted(forward) as proxy:
        session = Session(tmp_path, rows(["a"]), "http://models.test/v1")
        session.environment |= {"http_proxy": proxy.base, "HTTP_PROXY": proxy.base, "no_proxy": "", "NO_PROXY": ""}
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
    assert outcome(session.written()[0]) == "echo: x"


LISTS = {
    "an array": [{"id": MODEL, "type": "chat"}, {"id": "other"}],
    "under another key": {"models": [{"name": MODEL, "model": MODEL}]},
    "a pattern": {"object": "list", "data": [{"id": "fak*", "object": "model"}]},
    "an empty one": {"object": "list", "data": []},
    "another page of it": {"object": "list", "data": [{"id": f"org/model-{n}"} for n in range(400)]},
    "with a tag": {"object": "list", "data": [{"id": f"{MODEL}:latest"}, {"id": "qwen2.5:7b"}]},
}


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS.keys())
def test_a_first_answer_proves_a_model_whatever_the_list_looks_like(listed: object, tmp_path: Path) -> None:
    with FakeServer() as server:
        server.pages["/v1/models"] = Fault(body=json.dumps(listed).encode())
        session = Session(tmp_path, rows(["a"]), server.url)
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
    assert outcome(session.written()[0]) == "echo: a"


@pytest.mark.parametrize(
    "page", [Fault(404, b"{}"), Fault(500, b"no"), Fault(403, b"{}"), Fault(503, b"no"), Fault(body=b"<html>")]
)
def test_a_server_without_a_list_of_models_is_used_and_found_again(page: Fault, tmp_path: Path) -> None:
    """The list is also how a server that went away is looked for."""
    with FakeServer(lambda asked: Fault(wire="reset") if asked.text == "a" and asked.nth == 1 else None) as server:
        server.pages["/v1/models"] = page
        session = Session(tmp_path, rows(["a"]), server.url)
        assert "cannot be read" in session.start().check().text
        session.chunk().check()
        session.aggregate().check()
    assert outcome(session.written()[0]) == "echo: a"


def test_a_server_that_wakes_up_in_the_middle_of_a_chunk_costs_no_row(tmp_path: Path) -> None:
    slept = {"left": 6}

    def sleep(asked: object) -> Fault | None:
        if getattr(asked, "text", "") == "Hi":
            return None
        slept["left"] -= 1
        return Fault(503, LOADING) if slept["left"] >= 0 else None

    with FakeServer(sleep) as server:
        session = Session(tmp_path, rows("ab"), server.url)
        session.start().check()
        session.chunk(max_attempts="2", max_concurrency="2").check()
        session.aggregate().check()
    assert [outcome(row) for row in session.written()] == ["echo: a", "echo: b"]
