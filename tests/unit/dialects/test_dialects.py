"""What the lines of other batch APIs ask of the server, and what they become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dialects.exchange import Failure
from dialects.recognise import recognise
from engine.facts import Served
from job.defaults import Defaults
from support.dialect_rows import (
    BASE_MODEL,
    CHAT,
    COMPLETIONS,
    ENCODER,
    MESSAGES,
    RESPONSES,
    USER,
    answered,
    asked,
    chat_body,
    failed,
    refused,
)

# ---- OpenAI Batch lines


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


# ---- RunPod lines


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
        "max_completion_tokens": 9,
        "use_beam_search": True,
        "logprobs": True,
        "top_logprobs": 2,
        "n": 3,
    }


def test_a_runpod_answer_is_the_line_with_the_whole_response() -> None:
    row = {"id": 7, "input": {"prompt": "x"}}
    assert answered(row, chat_body("A")) == {**row, "status": "COMPLETED", "output": chat_body("A")}
    assert failed(row, Failure("c", "m"))["status"] == "FAILED"


# ---- Anthropic lines


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


# ---- Bedrock records


def test_a_bedrock_conversation_is_asked_as_the_server_reads_it() -> None:
    nova = {
        "schemaVersion": "messages-v1",
        "system": [{"text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"text": "Hi"}, {"image": {"format": "png", "source": {"bytes": "AA"}}}]}
        ],
        "inferenceConfig": {"maxTokens": 9, "topP": 0.5, "stopSequences": ["END"]},
    }
    body = asked({"recordId": "R1", "modelInput": nova}).body
    parts = [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    assert body["messages"] == messages
    assert (body["max_completion_tokens"], body["top_p"], body["stop"]) == (9, 0.5, ["END"])


def test_an_anthropic_image_of_a_bedrock_record_is_sent_as_a_data_url() -> None:
    source = {"type": "base64", "media_type": "image/jpeg", "data": "AA"}
    message = {"role": "user", "content": [{"type": "image", "source": source}]}
    body = asked({"modelInput": {"anthropic_version": "bedrock-2023-05-31", "messages": [message]}}).body
    assert body["messages"][0]["content"] == [{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AA"}}]
    assert "anthropic_version" not in body


def test_a_bedrock_prompt_is_completed_as_text() -> None:
    ask = asked({"recordId": "R1", "modelInput": {"prompt": "x", "max_gen_len": 64}})
    assert (ask.route, ask.body["prompt"], ask.body["max_tokens"]) == (COMPLETIONS, "x", 64)


def test_a_bedrock_outcome_is_the_record_with_its_output_or_error() -> None:
    row = {"recordId": "R1", "modelInput": {"prompt": "x"}}
    assert answered(row, {"choices": [{"text": "A"}]}) == {**row, "modelOutput": {"choices": [{"text": "A"}]}}
    assert failed(row, Failure("c", "m", 503))["error"] == {"errorCode": 503, "errorMessage": "m"}
    assert failed(row, Failure("invalid_value", "m"))["error"]["errorCode"] == 400


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
