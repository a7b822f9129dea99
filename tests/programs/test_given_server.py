"""ServerUrl: a server of somebody else is asked what it is, and used as it is."""

from __future__ import annotations

import json
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from engine.address import Address
from engine.given import ask_given
from support.fake_server import ROUTES, Asked, FakeServer, Fault
from support.programs import Session, outcome, rows


def answered_by(server: FakeServer, folder: Path) -> str:
    """Return what became of one row of a session with this server."""
    session = Session(folder, rows(["a"]), server.url)
    session.start().check()
    session.chunk().check()
    session.aggregate().check()
    return outcome(session.written()[0])


SERVERS = {
    "nothing but errors": Fault(500, b"no"),
    "a page": Fault(body=b"<html>"),
    "another API": Fault(body=b'{"models": []}'),
    "no models": Fault(body=b'{"data": []}'),
    "a list": Fault(body=b"[]"),
    "garbage": Fault(wire="reset"),
    "a cut body": Fault(body=b'{"data": [1,2,3,4]}', wire="cut"),
}


@pytest.mark.parametrize("page", SERVERS.values(), ids=SERVERS.keys())
def test_a_given_server_that_speaks_something_else_is_refused(page: Fault, tmp_path: Path) -> None:
    with FakeServer(lambda _: page) as server:
        server.pages["*"] = page
        Session(tmp_path, rows("a"), server.url).start(server_start_timeout_seconds="1").refused(
            f"127.0.0.1:{server.port}"
        )


def test_a_given_server_that_wants_a_key_is_given_one_by_the_worker_s_environment(tmp_path: Path) -> None:
    with FakeServer(key="secret") as server:
        session = Session(tmp_path, rows(["a"]), server.url)
        session.start().refused("OPENAI_API_KEY")
        session.environment["OPENAI_API_KEY"] = "secret"
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
    assert outcome(session.written()[0]) == "echo: a"


def test_a_server_s_key_may_be_a_secret_that_is_seen_nowhere(tmp_path: Path) -> None:
    aws = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    aws.start()
    host, port = aws.get_host_and_port()
    place = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_DEFAULT_REGION": "us-west-2"}
    session = Session(tmp_path, rows(["a"]), options={"server_key_secret_id": "my-key"})
    session.environment |= {**place, "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    boto3.client(
        "secretsmanager", "us-west-2", endpoint_url=place["AWS_ENDPOINT_URL"],
        aws_access_key_id="testing", aws_secret_access_key="testing",
    ).create_secret(Name="my-key", SecretString="sk-aKeyNobodySees")  # fmt: skip
    with FakeServer(key="sk-aKeyNobodySees") as server:
        session.url = server.url
        log = session.start().check().text.replace("openjd_redacted_env: VLLM_API_KEY=sk-aKeyNobodySees", "")
        log += session.chunk().check().text
        log += session.aggregate().check().text
    aws.stop()
    assert outcome(session.written()[0]) == "echo: a"
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "NobodySees" not in log
    assert b"NobodySees" not in written


def test_a_model_without_a_chat_template_completes_text(tmp_path: Path) -> None:
    with FakeServer() as server:
        server.chat = False
        session = Session(tmp_path, rows(["a"]), server.url + "/v1/")
        assert "no chat template" in session.start().check().text
        session.chunk().check()
        session.aggregate().check()
    assert session.summary()["endpoints"] == {"/v1/completions": 1}


def test_a_given_server_s_routes_are_those_that_it_lists_and_without_a_list_none_is_refused(tmp_path: Path) -> None:
    with FakeServer() as server:
        address = Address(server.url, "")
        assert ask_given(address, server.model).routes == set(ROUTES)
        server.lists = False
        facts = ask_given(address, server.model)
        assert (facts.routes, facts.has("/v1/score")) == (set(), True)


GATEWAYS = {
    "a catch-all": {"paths": {"/v1/{path}": {"post": {}}}},
    "a prefix": {"paths": {"/api/v1/chat/completions": {"post": {}}}},
    "another page": {"paths": {"/login": {"post": {}}}},
    "names without /v1": {"paths": {"/chat/completions": {"post": {}}, "/rerank": {"post": {}}}},
}


@pytest.mark.parametrize("listed", GATEWAYS.values(), ids=GATEWAYS.keys())
def test_a_gateway_whose_list_names_no_endpoint_is_asked_as_the_rows_say(listed: object, tmp_path: Path) -> None:
    with FakeServer() as server:
        server.pages["/openapi.json"] = Fault(body=json.dumps(listed).encode())
        assert answered_by(server, tmp_path) == "echo: a"


def test_a_server_that_streams_unasked_is_used(tmp_path: Path) -> None:
    event = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    body = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()
    with FakeServer(lambda _: Fault(body=body, headers={"Content-Type": "text/event-stream"})) as server:
        assert answered_by(server, tmp_path) == "Hi"


def test_a_first_request_that_fails_is_made_again(tmp_path: Path) -> None:
    with FakeServer(lambda asked: Fault(503, b"{}") if asked.count < 3 else None) as server:
        Session(tmp_path, rows(["a"]), server.url).start().check()
        assert server.asked.total() == 3


def test_a_context_length_that_is_no_number_is_none(tmp_path: Path) -> None:
    with FakeServer() as server:
        models = {"data": [{"id": server.model, "max_model_len": "4096"}]}
        server.pages["/v1/models"] = Fault(body=json.dumps(models).encode())
        assert answered_by(server, tmp_path) == "echo: a"


def test_empty_and_refused_answers_are_counted(tmp_path: Path) -> None:
    messages = {
        "a": {"content": None, "reasoning": "hm"},
        "b": {"content": None, "refusal": "No."},
        "c": {"content": "yes"},
    }

    def say(asked: Asked) -> Fault | None:
        choice = {"index": 0, "message": messages.get(asked.text), "finish_reason": "stop"}
        return Fault(body=json.dumps({"choices": [choice]}).encode()) if asked.text in messages else None

    with FakeServer(say) as server:
        session = Session(tmp_path, rows("abc"), server.url)
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
    counts = session.summary()
    assert (counts["succeeded"], counts["empty"], counts["refused"]) == (3, 1, 1)
