"""One line of every kind that the batch APIs' dialects have, as the page knows how to show it."""

from __future__ import annotations

import json
from typing import Any

from support.pages.kinds_of_prompt_rows import Kind

GREET = (
    b'{"custom_id":"a1","params":{"model":"m","max_tokens":64,'
    b'"messages":[{"role":"user","content":"Greet in French"}]}}'
)
PING = (
    b'{"custom_id":"q1","url":"/v1/responses","body":{"instructions":"Be kind.",'
    b'"input":[{"role":"user","content":"Ping"}]}}'
)
TOOL_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Paris", "days": 3}'},
}
LOGPROBS = {
    "content": [
        {
            "token": "Paris",
            "logprob": -0.02,
            "top_logprobs": [{"token": "Paris", "logprob": -0.02}, {"token": "Lyon", "logprob": -4.1}],
        },
        {"token": " is", "logprob": -0.9, "top_logprobs": []},
        {"token": " big", "logprob": -2.3, "top_logprobs": [{"token": " old", "logprob": -1.2}]},
    ]
}


def chat_body(text: str | None, **message: Any) -> dict[str, Any]:
    """Return a chat completion's body."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 34},
    }


def openai_line(custom_id: str, body: dict[str, Any] | None, status: int = 200, error: Any = None) -> dict[str, Any]:
    """Return an OpenAI Batch output line."""
    response = None if body is None else {"status_code": status, "request_id": "req_1", "body": body}
    return {"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": error}


def batch_kinds() -> list[Kind]:
    """Return every kind of line of the batch APIs."""
    asked = {
        "custom_id": "q1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "How is the weather in Paris?"},
            ],
            "tools": [],
        },
    }
    openai = {"dialect": "openai", "given": json.dumps(asked).encode()}
    return [
        ("tool call", openai_line("q1", chat_body(None, tool_calls=[TOOL_CALL])), openai),
        (
            "logprobs",
            openai_line(
                "q1",
                {
                    **chat_body("Paris is big"),
                    "choices": [
                        {
                            "index": 0,
                            "message": {"role": "assistant", "content": "Paris is big"},
                            "logprobs": LOGPROBS,
                            "finish_reason": "stop",
                        }
                    ],
                },
            ),
            openai,
        ),
        (
            "openai 404",
            openai_line(
                "q1", {"error": {"message": "The model `m` does not exist.", "code": 404, "type": "NotFoundError"}}, 404
            ),
            {**openai, "failed": True},
        ),
        (
            "openai timeout",
            openai_line("q1", None, error={"code": "request_timeout", "message": "No answer in 600 s."}),
            {**openai, "failed": True},
        ),
        (
            "anthropic",
            {
                "custom_id": "a1",
                "result": {
                    "type": "succeeded",
                    "message": {
                        "role": "assistant",
                        "content": [{"type": "thinking", "thinking": "Easy."}, {"type": "text", "text": "Bonjour."}],
                        "stop_reason": "end_turn",
                        "usage": {"input_tokens": 5, "output_tokens": 3},
                    },
                },
            },
            {
                "dialect": "anthropic",
                "given": GREET,
            },
        ),
        (
            "anthropic error",
            {
                "custom_id": "a2",
                "result": {
                    "type": "errored",
                    "error": {
                        "type": "error",
                        "error": {"type": "invalid_request_error", "message": "max_tokens is missing"},
                    },
                },
            },
            {"dialect": "anthropic", "failed": True, "given": b'{"custom_id":"a2","params":{"messages":[]}}'},
        ),
        (
            "runpod",
            {
                "input": {"prompt": "The capital of France is", "sampling_params": {"temperature": 0}},
                "status": "COMPLETED",
                "output": {
                    "choices": [{"text": " Paris.", "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 5, "completion_tokens": 2},
                },
            },
            {"dialect": "runpod"},
        ),
        (
            "runpod failed",
            {"input": {"prompt": "x"}, "status": "FAILED", "error": "HTTP 400: temperature must be a number"},
            {"dialect": "runpod", "failed": True},
        ),
        (
            "bedrock",
            {
                "recordId": "R1",
                "modelInput": {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5},
                "modelOutput": chat_body("Hi there."),
            },
            {"dialect": "bedrock"},
        ),
        (
            "bedrock error",
            {
                "recordId": "R2",
                "modelInput": {"prompt": "x"},
                "error": {"errorCode": 400, "errorMessage": "bad record"},
            },
            {"dialect": "bedrock", "failed": True},
        ),
        (
            "responses",
            openai_line(
                "q1",
                {
                    "output": [
                        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Think first."}]},
                        {"type": "message", "content": [{"type": "output_text", "text": "Pong."}]},
                        {"type": "function_call", "name": "ring", "arguments": "{}"},
                    ],
                    "status": "completed",
                    "usage": {"input_tokens": 3, "output_tokens": 2},
                },
            ),
            {
                "dialect": "openai",
                "endpoint": "/v1/responses",
                "given": PING,
            },
        ),
    ]
