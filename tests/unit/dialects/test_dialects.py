"""What RunPod, Anthropic and Bedrock lines ask of the server, and what they become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dialects.exchange import Failure
from dialects.recognise import recognise
from job.defaults import Defaults
from support.dialect_rows import (
    CHAT,
    COMPLETIONS,
    ENCODER,
    MESSAGES,
    USER,
    answered,
    asked,
    chat_body,
    failed,
    refused,
)


@pytest.mark.parametrize(
    ("given", "route", "part"),
    [
        ({"messages": USER, "prompt": "ignored"}, CHAT, {"messages": USER}),
        ({"prompt": "Hi"}, COMPLETIONS, {"prompt": "Hi"}),
        ({"prompt": "Hi", "apply_chat_template": True}, CHAT, {"messages": USER}),
        ({"prompt": "Hi", "apply_chat_template": False, "stream": True}, COMPLETIONS, {"prompt": "Hi"}),
        ({"openai_route": CHAT, "openai_input": {"messages": USER, "stream": True}}, CHAT, {"messages": USER}),
        ({"route": "/v1/embeddings", "method": "POST", "body": {"input": "x"}}, "/v1/embeddings", {"input": "x"}),
    ],
)
def test_each_runpod_shape_is_asked_whole(given: dict[str, Any], route: str, part: dict[str, Any]) -> None:
    ask = asked({"input": given})
    assert ask.route == route
    assert ask.body.items() >= part.items()
    assert "stream" not in ask.body


def test_runpod_sampling_params_have_the_servers_names() -> None:
    params = {"temperature": 0.1, "max_tokens": 9, "logprobs": 2, "stream": True, "best_of": 3, "use_beam_search": True}
    body = asked({"input": {"messages": USER, "sampling_params": params}}).body
    assert body == {
        "messages": USER,
        "model": "m",
        "temperature": 0.1,
        "max_tokens": 9,
        "use_beam_search": True,
        "logprobs": True,
        "top_logprobs": 2,
        "n": 3,
    }


def test_a_runpod_answer_is_the_line_with_the_whole_response() -> None:
    row = {"id": 7, "input": {"prompt": "x"}}
    assert answered(row, chat_body("A")) == {**row, "status": "COMPLETED", "output": chat_body("A")}
    assert failed(row, Failure("c", "m"))["status"] == "FAILED"


def test_an_anthropic_line_is_asked_with_what_its_api_knows() -> None:
    params = {"model": "m", "max_tokens": 64, "messages": USER}
    job = Defaults(options={"max_tokens": 512, "temperature": 0.7, "seed": 7, "stop": "END"}, system_prompt="Be brief.")
    ask = asked({"custom_id": "a1", "params": params}, job)
    extras = {"temperature": 0.7, "stop_sequences": ["END"], "system": "Be brief."}
    assert (ask.route, ask.body) == (MESSAGES, {**params, **extras})


def test_an_anthropic_answer_has_that_apis_shape() -> None:
    row = {"custom_id": "a1", "params": {"messages": USER}}
    message = {"type": "message", "content": [{"type": "text", "text": "A"}]}
    assert answered(row, message) == {"custom_id": "a1", "result": {"type": "succeeded", "message": message}}


VLLM_OWN = '{"type": "error", "error": {"type": "NotFoundError", "message": "m"}}'


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure("invalid_value", "m"), "invalid_request_error"),
        (Failure("rate_limited", "m", 429), "rate_limit_error"),
        (Failure("server_error", "m", 500), "api_error"),
        (Failure("not_found", "m", 404, body='{"error": {"message": "m", "code": 404}}'), "not_found_error"),
        (Failure("not_found", "m", 404, body=VLLM_OWN), "not_found_error"),
        (Failure("overloaded", "m", 529, body=VLLM_OWN.replace("NotFoundError", "custom_error")), "custom_error"),
    ],
)
def test_an_anthropic_failure_has_that_apis_shape(failure: Failure, kind: str) -> None:
    result = failed({"custom_id": "a1", "params": {}}, failure)
    error = {"type": "error", "error": {"type": kind, "message": "m"}}
    assert result == {"custom_id": "a1", "result": {"type": "errored", "error": error}}


def test_a_server_without_the_messages_endpoint_is_the_lines_error() -> None:
    assert refused({"custom_id": "a", "params": {"messages": USER}}, served=ENCODER)[0] == "invalid_url"


@pytest.mark.parametrize(
    ("failure", "status", "kind"),
    [
        (Failure("missing", "m"), 500, "api_error"),
        (Failure("connection_lost", "m"), 500, "api_error"),
        (Failure("invalid_answer", "m", 200), 500, "api_error"),
        (Failure("server_error", "m"), 500, "api_error"),
        (Failure("invalid_request", "m", 302), 500, "api_error"),
        (Failure("missing_field", "m"), 400, "invalid_request_error"),
        (Failure("rate_limited", "m", 429), 429, "rate_limit_error"),
    ],
    ids=lambda value: getattr(value, "code", None),
)
def test_a_failure_that_may_pass_does_not_tell_to_mend_the_request(failure: Failure, status: int, kind: str) -> None:
    assert failed({"recordId": "R1", "modelInput": {"prompt": "x"}}, failure)["error"]["errorCode"] == status
    line = {"custom_id": "1", "params": {"messages": [{"role": "user", "content": "x"}], "max_tokens": 5}}
    assert failed(line, failure)["result"]["error"]["error"]["type"] == kind


@pytest.mark.parametrize("stream", [True, "false"])
def test_a_bedrock_record_is_answered_whole(stream: object) -> None:
    record = {"recordId": "b1", "modelInput": {"prompt": "Hello", "stream": stream}}
    told = f'"stream": {json.dumps(stream)} has no place in a batch; leave it out'
    assert refused(record) == ("stream_not_supported", told)


@pytest.mark.parametrize(
    "line",
    [
        {"input": {"prompt": "x"}, "status": "FAILED", "error": "no"},
        {"recordId": "R1", "modelInput": {"prompt": "x"}, "error": {"errorCode": 500, "errorMessage": "m"}},
    ],
)
def test_a_line_that_failed_before_is_data_for_a_second_job(line: dict[str, Any]) -> None:
    """Asked again it would be the first job's question, under the second job's options."""
    assert recognise(line).NAME == "prompt"
