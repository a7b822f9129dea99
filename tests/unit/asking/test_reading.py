"""What servers send under 200 beside one JSON object: streams, texts, numbers that are none, and no answer at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asking.reading import read_answer, read_refusal
from asking.stream import join_stream
from asking.unanswered import Unanswered
from dialects.exchange import Answer
from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES

EVENTS = {"content-type": "text/event-stream; charset=utf-8"}
SUBTITLES = "1\n00:00:00,000 --> 00:00:01,000\nHello.\n"
AUDIO = "/v1/audio/transcriptions"
KEY = "sk-NobodySees"


def stream(*events: Any, end: str = "data: [DONE]\n\n") -> bytes:
    return ("".join(f"data: {json.dumps(event)}\n\n" for event in events) + end).encode()


def read(content: bytes, route: str = CHAT, **headers: str) -> Answer:
    return read_answer(route, 200, content, headers, KEY)


def unanswered(content: bytes, route: str = CHAT, status: int = 200, **headers: str) -> Unanswered:
    with pytest.raises(Unanswered) as raised:
        read_answer(route, status, content, headers, KEY)
    return raised.value


def delta(end: str | None = None, **parts: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": parts, "finish_reason": end}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


USAGE = {
    "id": "c",
    "object": "chat.completion.chunk",
    "choices": [],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
}


def test_a_stream_of_a_chat_is_the_whole_answer() -> None:
    body = read(
        stream(delta(role="assistant", content="Hel"), delta(content="lo"), delta("stop"), USAGE), **EVENTS
    ).body
    assert body["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    ]
    assert (body["object"], body["model"], body["usage"]["completion_tokens"]) == ("chat.completion", "m", 2)


def test_thoughts_and_calls_of_tools_are_joined_piece_by_piece() -> None:
    first = {"index": 0, "id": "t1", "function": {"name": "f", "arguments": '{"a"'}}
    events = [
        delta(reasoning_content="h"),
        delta(reasoning_content="m"),
        delta(tool_calls=[first]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]),
        delta("tool_calls"),
    ]
    [choice] = join_stream(stream(*events).decode())["choices"]
    assert choice["message"]["reasoning_content"] == "hm"
    [call] = choice["message"]["tool_calls"]
    assert (call["id"], call["function"]) == ("t1", {"name": "f", "arguments": '{"a": 1}'})


def test_a_stream_of_a_completion_a_response_and_a_message_is_the_whole_answer() -> None:
    text = [{"object": "text_completion", "choices": [{"index": 0, "text": each}]} for each in ("a", "b")]
    ended = {"object": "text_completion", "choices": [{"index": 0, "text": "", "finish_reason": "length"}]}
    assert read(stream(*text, ended), COMPLETIONS).body["choices"][0]["text"] == "ab"
    whole = {"object": "response", "status": "completed", "output": []}
    events = [{"type": "response.created", "response": {}}, {"type": "response.completed", "response": whole}]
    assert read(stream(*events, end=""), RESPONSES).body == whole
    blocks = [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    ]
    body = read(stream(*blocks, end=""), MESSAGES).body
    assert (body["content"], body["stop_reason"]) == ([{"type": "text", "text": "Hi"}], "end_turn")


@pytest.mark.parametrize(
    "content",
    [
        stream(delta(content="Hel"), end=""),
        stream(delta(content="Hel"), end="data: {"),
        stream(end=""),
        b": keep-alive\n\n",
        stream([1], "x"),
        stream({"choices": [5]}),
        stream({"type": "response.completed"}),
    ],
)
def test_a_stream_that_was_cut_off_is_asked_again(content: bytes) -> None:
    failed = unanswered(content, **EVENTS)
    assert (failed.failure.code, failed.passing) == ("invalid_answer", True)


def test_an_error_in_a_stream_is_an_error() -> None:
    failed = unanswered(stream(delta(content="Hel"), {"error": {"message": "bad", "code": 400}}), **EVENTS)
    assert (failed.failure.code, failed.passing) == ("invalid_request", False)


@pytest.mark.parametrize("kind", ["text/plain; charset=utf-8", "text/vtt", ""])
def test_subtitles_are_an_answer_where_they_may_be_asked_for(kind: str) -> None:
    answer = read(SUBTITLES.encode(), AUDIO, **{"content-type": kind})
    assert (answer.body, json.loads(answer.text)) == (SUBTITLES, SUBTITLES)
    assert not unanswered(SUBTITLES.encode(), CHAT, **{"content-type": "text/plain"}).passing


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"id": "r", "status": "queued"}),
        (200, {"id": "r", "status": "IN_QUEUE"}),
        (200, {"object": "response", "status": "in_progress", "output": []}),
        (202, {"requestId": "r"}),
    ],
)
def test_a_request_that_waits_in_the_server_s_queue_is_no_answer_and_not_asked_again(status: int, body: Any) -> None:
    failed = unanswered(json.dumps(body).encode(), RESPONSES, status)
    assert (failed.failure.code, failed.passing) == ("invalid_answer", False)
    assert "queue" in failed.failure.message


def test_a_number_that_is_none_is_null_in_a_text_s_margins() -> None:
    content = (
        b'{"choices": [{"message": {"content": "NaN 1e400"}, "logprobs": NaN}], "usage": {"completion_tokens": 1e400}}'
    )
    answer = read(content)
    assert answer.body["choices"][0] == {"message": {"content": "NaN 1e400"}, "logprobs": None}
    assert json.loads(answer.text)["usage"] == {"completion_tokens": None}


def test_a_body_whose_texts_only_speak_of_such_numbers_stays_as_it_is() -> None:
    content = b'{"choices": [{"message": {"content": "NaN, Infinity and 1e400"}}],  "n": 1e10}'
    assert read(content).text == content.decode()


def test_an_embedding_with_a_hole_is_told_and_not_asked_again() -> None:
    failed = unanswered(b'{"data": [{"embedding": [0.1, NaN]}], "usage": {"total_tokens": 2}}', "/v1/embeddings")
    assert (failed.failure.code, failed.passing) == ("invalid_answer", False)
    assert "NaN" in failed.failure.message
    assert read(b'{"data": [{"embedding": [0.1]}], "usage": {"total_tokens": NaN}}', "/v1/embeddings").status == 200


def test_a_validation_error_under_200_is_the_request_s() -> None:
    failed = unanswered(b'{"error": "Input validation error: too long", "error_type": "validation"}')
    assert (failed.failure.code, failed.failure.status, failed.passing) == ("invalid_request", 422, False)


@pytest.mark.parametrize("code", [401, None])
def test_the_key_is_not_in_an_error_under_200_that_repeats_it(code: int | None) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {KEY}.", "code": code}, "given": KEY}
    failure = unanswered(json.dumps(body).encode()).failure
    assert "Incorrect API key provided: ***." in failure.message
    assert "NobodySees" not in failure.message + failure.body


def test_the_key_is_not_in_the_words_that_repeat_it() -> None:
    content = b'{"error": {"message": "Incorrect API key provided: sk-secret-1."}}'
    failure = read_refusal(401, content, {}, "sk-secret-1").failure
    assert failure.message == "Incorrect API key provided: ***."
    assert "secret" not in failure.body


def test_an_account_that_has_nothing_left_is_not_asked_again() -> None:
    content = b'{"error": {"message": "You exceeded your current quota, please check", "code": "insufficient_quota"}}'
    failed = read_refusal(429, content, {}, "")
    assert (failed.failure.code, failed.failure.status, failed.passing) == ("quota_used_up", 429, False)
