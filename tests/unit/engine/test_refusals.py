"""What refusals mean, in the words of the servers that are known, and what is no refusal of the kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.refusals import (
    find_most,
    find_room,
    has_no_room,
    is_used_up,
    lacks_model,
    lacks_template,
    read_after,
    read_words,
    refused_limit,
    refuses_field,
)

OPENAI_LIMIT = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)
OPENAI_FULL = (
    "This model's maximum context length is 8192 tokens. However, you requested 8500 tokens (4500 in the "
    "messages, 4000 in the completion). Please reduce the length of the messages or completion."
)
VLLM_FULL = (
    "This model's maximum context length is 4096 tokens. However, you requested 512 output tokens and your prompt "
    "contains at least 3585 input tokens, for a total of at least 4097 tokens."
)
SGLANG_FULL = (
    "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 "
    "tokens: 1000 tokens from the input messages and 4000 tokens for the completion."
)
TGI_FULL = "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 6204 `inputs` tokens and 2047 `max_new_tokens`"
ROUTER_FULL = (
    "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens (1000 of text "
    "input, 8000 in the output). Please reduce the length of either one."
)
ANTHROPIC_FULL = "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length"


@pytest.mark.parametrize(
    ("status", "words", "refused"),
    [
        (400, OPENAI_LIMIT, "max_tokens"),
        (400, "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.", "max_tokens"),
        (422, "max_completion_tokens: Extra inputs are not permitted", "max_completion_tokens"),
        (400, "Unrecognized request argument supplied: max_completion_tokens", "max_completion_tokens"),
        (400, "body.max_completion_tokens: unknown field", "max_completion_tokens"),
        (500, OPENAI_LIMIT, ""),
        (400, "max_tokens is too large: 5000. This model supports at most 4096 completion tokens", ""),
        (400, "Could not finish the message because max_tokens or model output limit was reached.", ""),
        (400, "max_tokens must be at least 1, got 0", ""),
        (400, "The temperature is not supported", ""),
    ],
)
def test_a_limit_s_name_is_refused_where_the_words_say_so(status: int, words: str, refused: str) -> None:
    assert refused_limit(status, words) == refused


@pytest.mark.parametrize(
    ("words", "room"),
    [
        (OPENAI_FULL, 3692),
        (ROUTER_FULL, 7192),
        (SGLANG_FULL, 3096),
        (TGI_FULL, 1988),
        (ANTHROPIC_FULL, 241),
        ("max_tokens is too large: 5000. This model supports at most 4096 completion tokens, whereas", 4096),
        ("`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than", 8192),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        ("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude", 8192),
        ("Input validation error: `max_new_tokens` must be <= 192. Given: 500", 192),
        (VLLM_FULL, None),  # "at least": the prompt may be longer
        (
            "max_completion_tokens=512 cannot be greater than max_model_len=400. Please request fewer output tokens.",
            None,
        ),
    ],
)
def test_an_answer_that_has_no_room_is_told_with_the_room_that_there_is(words: str, room: int | None) -> None:
    assert has_no_room(400, words)
    assert find_room(words) == room


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 4097 tokens. However, your messages resulted in 13393 tokens.",
        "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9999>= 4096)",
        "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 4545",
        "temperature must be at most 2",
    ],
)
def test_a_prompt_that_is_too_long_is_not_the_limit_s_fault(words: str) -> None:
    assert not has_no_room(400, words)


def test_the_longest_answer_is_a_limit_of_the_model_and_the_room_beside_a_prompt_is_not() -> None:
    assert (find_most("supports at most 4096 completion tokens"), find_most(OPENAI_FULL)) == (4096, None)


@pytest.mark.parametrize(
    ("status", "words", "used_up"),
    [
        (429, "You exceeded your current quota, please check your plan and billing details.", True),
        (402, "Insufficient Balance", True),
        (400, "Your credit balance is too low to access the API", True),
        (403, "This account is out of credits", True),
        (429, "Rate limit reached for tokens per minute (TPM). Upgrade at https://x/settings/billing", False),
        (429, "Quota exceeded for metric: Generate requests per minute", False),
        (429, "slow down", False),
        (500, "billing service unavailable", False),
    ],
)
def test_an_account_that_has_nothing_left_is_told_from_a_rate(status: int, words: str, *, used_up: bool) -> None:
    assert is_used_up(status, words) == used_up


def test_a_missing_model_and_a_missing_template_are_told_apart() -> None:
    missing = [
        "The model `x` does not exist.",
        'model "x" not found, try pulling it first',
        "No models loaded. Please load",
    ]
    assert all(map(lacks_model, missing))
    assert not any(map(lacks_template, missing))
    templates = [
        "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template",
        "no chat template is set",
    ]
    assert all(map(lacks_template, templates))
    assert not lacks_template("System role not supported")
    assert not lacks_model("Not Found")


def test_a_field_is_refused_in_the_sentence_that_names_it() -> None:
    words = "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default is supported."
    assert refuses_field(words, "temperature")
    assert not refuses_field(words, "top_p")
    assert not refuses_field("temperature must be at most 2", "temperature")


MANY = """19 validation errors for ValidatorIterator
0.ChatCompletionDeveloperMessageParam.content
  Field required [type=missing, input_value={'role': 'user'}, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.11/v/missing
0.ChatCompletionSystemMessageParam.content
  Field required"""
BEHIND = "Provider returned error: m"
LISTED = "[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required', 'input': {'model': 'm'}}]"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "m", "type": "t"}}, "m"),
        ({"error": "m"}, "m"),
        ({"detail": "m"}, "m"),
        ({"object": "error", "message": "m", "code": 400}, "m"),
        ({"errors": [{"message": "m"}, {"message": "n"}]}, "m; n"),
        ({"detail": [{"loc": ["body", "top_p"], "msg": "too high", "type": "x"}]}, "top_p: too high"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": "m"}}}, "Provider returned error: m"),
        ({"error": {"message": "", "type": "InternalServerError", "code": 500}}, "InternalServerError, 500, without a"),
        ({"error": {"message": MANY}}, "0.ChatCompletionDeveloperMessageParam.content: Field required"),
        ({"error": {"message": LISTED}}, "messages: Field required"),
        ({"error": {"message": '{"error": {"message": "m", "code": 3}}'}}, "m"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": '{"error": {"message": "m"}}'}}}, BEHIND),
        ({"error": {"message": "Error code: 400 - {'error': {'message': \"it's m\"}}"}}, "Error code: 400: it's m"),
        ({"fault": {"faultstring": "m", "detail": {"errorcode": "policies.ratelimit"}}}, "m"),
        ({"Message": "m"}, "m"),
        ({"message": {"text": "m"}}, "m"),
        ("{'detail': 'm'}", "m"),
        ({}, "HTTP 500, without a word"),
        ([], "HTTP 500, without a word"),
    ],
)
def test_a_refusal_s_words_are_a_sentence_and_no_json(body: Any, words: str) -> None:
    told = read_words(json.dumps(body).encode(), 500)
    assert told.startswith(words)
    assert "{" not in told
    assert "validation errors" not in told


@pytest.mark.parametrize(
    "words",
    [
        'the schema is not supported: {"type": "object", "title": "Tide"}',
        "no such tool: {'type': 'function', 'text': 'x'}",
        "Expected: {",
        "the answer {1: 2}",
        'bad: {"error": ' + "[" * 9000 + "}",
    ],
)
def test_what_a_refusal_quotes_of_the_request_is_no_server_s_error(words: str) -> None:
    assert read_words(json.dumps({"error": {"message": words}}).encode(), 400) == words[:2000]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code><Message>No &amp; no</Message></Error>', "No & no"),
        (b"{'error': {'message': 'm'}}", "m"),
        (b"<html><head><title>502 Bad Gateway</title></head>", 'a web page, "502 Bad Gateway"'),
        (b"<!doctype html><p>x", "a web page"),
        (b"oops", "oops"),
        (b"", "HTTP 500, without a word"),
    ],
)
def test_what_is_no_json_is_told_in_a_word(content: bytes, words: str) -> None:
    assert read_words(content, 500) == words


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("1.5", 1.5),
        ("0", 0),
        ("86400", 86400),
        ("Fri, 01 Jan 1999 00:00:00 GMT", 0),
        *[(text, None) for text in (None, "", "soon", "-1", "nan", "inf", "1e400", "9" * 400, "1m30s", "\u0663")],
        *[(text, None) for text in ("Mon, 99 Foo 2020 99:99:99 GMT", "2030-01-01T00:00:00Z", "7, 7")],
    ],
)
def test_a_retry_after_that_is_none_says_nothing(text: str | None, seconds: float | None) -> None:
    assert read_after(text) == seconds
