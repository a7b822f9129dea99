"""OpenAI Batch lines: what they ask of the server, and what they become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dialects.exchange import Failure
from engine.facts import Served
from support.dialect_rows import (
    BASE_MODEL,
    CHAT,
    RESPONSES,
    USER,
    answered,
    asked,
    chat_body,
    failed,
    refused,
)


def openai_line(url: str, **changed: Any) -> dict[str, Any]:
    return {"custom_id": "request-1", "method": "POST", "url": url, "body": {"model": "m", "input": "x"}, **changed}


@pytest.mark.parametrize(
    ("url", "route"),
    [
        (CHAT, CHAT),
        ("/chat/completions", CHAT),
        ("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", CHAT),
        ("/openai/v1/responses", RESPONSES),
        ("/v1/embeddings", "/v1/embeddings"),
        ("/embeddings", "/v1/embeddings"),
        ("/v1/score", "/v1/score"),
        ("/score", "/score"),
        ("/rerank", "/v1/rerank"),
        ("/v1/classify", "/classify"),
        ("/tokenize", "/tokenize"),
    ],
)
def test_every_endpoint_that_the_server_lists_can_be_asked(url: str, route: str) -> None:
    assert asked(openai_line(url)).route == route


@pytest.mark.parametrize("url", ["/v2/rerank", "/classify/", "/v1/audio/translations"])
def test_a_url_that_the_server_does_not_list_is_the_lines_error(url: str) -> None:
    told = ("invalid_url", f'"url" "{url}" is not answered by this model\'s server')
    assert refused(openai_line(url), served=BASE_MODEL) == told


OTHERS = """/v1/images /v1/files / /../etc /v1/../shutdown /v1/%2e%2e/shutdown //v1/chat/completions /key/generate
/model/delete /scale_elastic_ep /v1/load_lora_adapter /v1/%73leep /v1/responses/{response_id}/cancel
/v1/chat/completions/../../slots"""


@pytest.mark.parametrize("url", OTHERS.split())
@pytest.mark.parametrize("lists", [True, False])
def test_a_line_asks_nothing_of_a_server_but_answers(url: str, *, lists: bool) -> None:
    served = Served(model="m", routes=frozenset({url, CHAT} if lists else ()))
    what = "is no endpoint that answers rows; all of them are ROUTES in scripts/engine/routes.py"
    told = ("invalid_url", f'"url" "{url}" {what}')
    assert refused(openai_line(url), served=served) == told
    assert refused({"input": {"route": url, "body": {}}}, served=served) == told


def test_a_server_that_lists_nothing_is_asked_as_the_line_says() -> None:
    plain = Served(model="m")
    assert asked(openai_line("/v2/rerank"), served=plain).route == "/v2/rerank"
    assert asked(openai_line("/chat/completions"), served=plain).route == CHAT


def test_the_model_of_a_line_is_kept_and_filled_in_where_there_is_none() -> None:
    assert asked(openai_line("/v1/embeddings", body={"model": "other", "input": "x"})).body["model"] == "other"
    assert asked(openai_line("/v1/embeddings", body={"input": "x"})).body["model"] == "m"


def test_audio_is_sent_as_the_file_that_its_url_names() -> None:
    served = Served(model="w", routes=frozenset({"/v1/audio/transcriptions"}))
    line = openai_line("/v1/audio/transcriptions", body={"file_url": "data:audio/wav;base64,AA==", "language": "en"})
    ask = asked(line, served=served)
    assert (ask.file_url, ask.body) == ("data:audio/wav;base64,AA==", {"language": "en", "model": "w"})


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"method": "GET"}, "invalid_method"),
        ({"body": {"stream": True}}, "stream_not_supported"),
        ({"custom_id": 5}, "invalid_value"),
        ({"body": "x"}, "invalid_value"),
    ],
)
def test_a_line_that_the_batch_api_refuses_is_refused(changed: dict[str, Any], code: str) -> None:
    assert refused(openai_line(CHAT, **changed))[0] == code


def test_a_success_is_exactly_the_batch_apis_line() -> None:
    body = chat_body("Hello.", extra={"kept": 1.0})
    result = answered(openai_line(CHAT, body={"messages": USER}), body)
    assert list(result) == ["id", "custom_id", "response", "error"]
    assert result["response"] == {"status_code": 200, "request_id": "req_7", "body": body}
    assert (result["custom_id"], result["error"]) == ("request-1", None)
    assert result["id"].startswith("batch_req_")


def test_an_http_failure_is_a_response_with_its_status_and_body() -> None:
    body = '{"error": {"message": "no such model", "type": "NotFoundError", "code": 404}}'
    result = failed(openai_line(CHAT), Failure("not_found", "no such model", 404, 1, body))
    assert (result["error"], result["response"]["status_code"]) == (None, 404)
    assert result["response"]["body"] == json.loads(body)


def test_any_other_failure_is_an_error_without_a_response() -> None:
    result = failed(openai_line(CHAT), Failure("request_timeout", "no answer in 5 s", None, 2))
    assert result["response"] is None
    assert result["error"] == {"code": "request_timeout", "message": "no answer in 5 s"}
