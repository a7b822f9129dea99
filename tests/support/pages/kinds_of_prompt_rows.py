"""One prompt row of every kind that the page knows how to show, and a line that is no row."""

from __future__ import annotations

import json
from typing import Any

ARABIC = "الطقس جميل اليوم، وسوف نذهب إلى الحديقة."
CHINESE = "光合作用是植物利用阳光把水和二氧化碳转化为养分的过程。"
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
Kind = tuple[str, dict[str, Any], dict[str, Any]]  # a name, the line of output.jsonl, arguments of `page_row`


def prompt_kinds() -> list[Kind]:
    """Return every kind of prompt row."""
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
        (
            "conversation as text",
            {"messages": json.dumps(conversation), "generated_text": "A cat.", "finish_reason": "stop"},
            {},
        ),
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
