"""One row of every kind that the page knows how to show."""

from __future__ import annotations

import json
import math
import random
from typing import Any

from page.writer import PageRow
from support.pages.page_rows import SUBJECTS, page_row

ARABIC = "الطقس جميل اليوم، وسوف نذهب إلى الحديقة."
CHINESE = "光合作用是植物利用阳光把水和二氧化碳转化为养分的过程。"
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


def unit_vector(rand: random.Random, size: int = 64, centre: int = 0) -> list[float]:
    """Return a vector of length one, near one of a few centres so that a map has groups."""
    raw = [rand.gauss(0, 0.4) + (2.0 if i % 5 == centre % 5 else 0) for i in range(size)]
    length = math.sqrt(sum(value * value for value in raw))
    return [round(value / length, 6) for value in raw]


def kinds() -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return (name, output line, page_row arguments) of every kind."""
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
    documents = ["Tides follow the moon.", "Bread needs yeast.", "The sea rises twice a day."]
    rank = {
        "results": [
            {"index": 2, "relevance_score": 0.91, "document": {"text": documents[2]}},
            {"index": 0, "relevance_score": 0.97, "document": {"text": documents[0]}},
            {"index": 1, "relevance_score": 0.02, "document": {"text": documents[1]}},
        ]
    }
    conversation = [
        {"role": "system", "content": "You are a guide."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello! Where to?"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is in this picture?"},
                {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
            ],
        },
    ]
    return [
        (
            "markdown",
            {"prompt": "Show everything", "generated_text": MARKDOWN, "finish_reason": "stop", "completion_tokens": 90},
            {},
        ),
        (
            "conversation",
            {"messages": conversation, "id": "c1", "generated_text": "A cat on a *bridge*.", "finish_reason": "stop"},
            {},
        ),
        ("tool call", openai_line("q1", chat_body(None, tool_calls=[TOOL_CALL])), openai),
        (
            "reasoning",
            {"prompt": "2+2?", "generated_text": "4", "reasoning": "Two and two make four.", "finish_reason": "stop"},
            {},
        ),
        (
            "choices",
            {
                "prompt": "Name a colour",
                "generated_text": "red",
                "finish_reason": "stop",
                "choices": [
                    {"index": 0, "text": "red", "finish_reason": "stop"},
                    {"index": 1, "text": "blue", "finish_reason": "length"},
                ],
            },
            {},
        ),
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
            "json",
            {
                "prompt": "As JSON",
                "generated_text": '{"name": "tide", "big": 12345678901234567890, "tags": ["a", {"b": null}]}',
                "finish_reason": "stop",
            },
            {},
        ),
        ("arabic", {"prompt": "كيف الطقس؟", "generated_text": ARABIC, "finish_reason": "stop"}, {}),
        ("chinese", {"prompt": "什么是光合作用？", "generated_text": CHINESE * 12, "finish_reason": "stop"}, {}),
        (
            "long",
            {
                "prompt": "Long",
                "generated_text": "A long line of text that goes on. " * 400,
                "finish_reason": "length",
                "completion_tokens": 4000,
            },
            {},
        ),
        (
            "big number",
            {"prompt": "Count", "order": 12345678901234567890, "generated_text": "done", "finish_reason": "stop"},
            {},
        ),
        ("rank", {"query": "What moves the sea?", "documents": documents, **rank}, {"endpoint": "/v1/rerank"}),
        (
            "score",
            {
                "text_1": "sea",
                "text_2": documents,
                "data": [{"index": i, "object": "score", "score": s} for i, s in enumerate([0.9, 0.1, 0.8])],
            },
            {"endpoint": "/v1/score"},
        ),
        (
            "class",
            {
                "text": "I love this bridge",
                "data": [{"index": 0, "label": "positive", "probs": [0.03, 0.97], "num_classes": 2}],
            },
            {"endpoint": "/classify"},
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
        (
            "previous",
            {"prompt": "p", "generated_text": "new", "finish_reason": "stop", "previous": {"error": "old"}},
            {},
        ),
        (
            "no row",
            {"line": 99, "error": {"code": "invalid_json", "message": "line 99 is no JSON: Expecting value"}},
            {"dialect": "none", "failed": True, "given": b"{broken"},
        ),
    ]


MARKDOWN = """# Heading

Some **bold**, *italic*, ~~struck~~ and `code` with a [link](https://example.com/a_(b)) and <b>no markup</b>.

- one
  - nested
- [x] done

1. first
2. second

| a | b |
|---|--:|
| 1 | **2** |

```python
print("<script>alert(1)</script>")
```

> quoted
> twice

---
The end."""


def gallery() -> list[PageRow]:
    """Return a page's rows: every kind once, then embeddings enough for a map."""
    rand = random.Random(3)
    rows = [page_row(n + 1, line, rand, **more) for n, (_, line, more) in enumerate(kinds())]
    for n in range(40):
        line = {
            "text": f"A note about {SUBJECTS[n % 5]}",
            "topic": SUBJECTS[n % 5],
            "embedding": unit_vector(rand, centre=n),
            "prompt_tokens": 6,
        }
        rows.append(page_row(len(rows) + 1, line, rand, endpoint="/v1/embeddings"))
    return rows
