"""Rows that mean harm: markup, scripts, links, formulas and control characters in every field, and broken lines."""

from __future__ import annotations

import random

from page.writer import PageRow
from support.pages.page_rows import page_row

HOSTILE_TEXTS = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<iframe src=https://evil.example/></iframe>",
    "<!-- <script>",
    "-->",
    "]]>",
    "[click](javascript:alert(1))",
    "![x](https://evil.example/a.png)",
    "![x](data:text/html;base64,PHNjcmlwdD4=)",
    '[a](https://evil.example/?q=1 "t")',
    "<https://evil.example/auto>",
    "{{ constructor.constructor('alert(1)')() }}",
    "${alert(1)}",
    "javascript:alert(1)",
    '=HYPERLINK("https://evil.example","x")',
    "+1+1",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1,1)",
    "\t=1+1",
    "\r=1+1",
    " =1+1",
    "＝1+1",
    "openjd_fail: no",
    "\u2028\u2029",
    "\ufeff",
    "a\u0000b",
    "\x1b[31mred",
    "\u202eevil\u202c",
    "' \" ` \\ \\u0000",
    "*" * 3000,
    "[" * 3000,
    "`" * 2999,
    "_a_" * 1500,
    "> " * 1500,
    "|a|\n|-|\n" * 500,
    "- " * 1000,
    "x" * 50000,
    "<style>*{display:none}</style>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<link rel=prefetch href=https://evil.example/>",
    "<form action=https://evil.example/><button>",
]
HOSTILE_LINES = [
    b'{"prompt": "lone \\ud800 surrogate", "generated_text": "\\udfff", "id": 1}',
    b'{"__proto__": {"polluted": 1}, "constructor": 5, "prompt": "p", "generated_text": "t"}',
    b'{"prompt": 5, "generated_text": {"a": [1]}, "error": "text"}',
    b"[1,2,3]",
    b"17",
    b'"text"',
    b"null",
    b"",
    b"{broken",
    b"\xff\xfe\x00",
    (
        b'{"messages": [null, 5, {"role": 7, "content": [null, {"type": "image_url", '
        b'"image_url": {"url": "https://evil.example/i.png"}}]}], '
        b'"choices": [null, {"message": 5, "logprobs": {"tokens": [1, null], "token_logprobs": ["x"]}}]}'
    ),
    b'{"prompt": "x", "embedding": ["a", null, 1e999], "data": [{"embedding": "%%%"}]}',
    b'{"prompt": "deep", "generated_text": "t", "nest": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    (
        b'{"prompt": "dup", "prompt": "dup2", "generated_text": "a", "generated_text": "b", '
        b'"n": 1e400, "m": -0.0, "big": 12345678901234567890123}'
    ),
    b'{"custom_id": null, "response": {"status_code": "x", "body": [1]}, "error": {"error": {"error": "deep"}}}',
    b'{"prompt": "score", "score": "high", "scores": [{"score": null}], "results": 5, "data": {"a": 1}}',
    (
        b'{"prompt": "tool", "tool_calls": [{"function": null}, 5, '
        b'{"function": {"name": 5, "arguments": {"a": "</script>"}}}]}'
    ),
]


def hostile() -> list[PageRow]:
    """Return rows with each text in every field that the page shows, and lines that are hardly rows."""
    rand = random.Random(5)
    rows = []
    for text in HOSTILE_TEXTS:
        line = {
            "prompt": text,
            "id": text[:200],
            text[:100] or "k": text[:500],
            "generated_text": text,
            "finish_reason": text[:50],
            "reasoning": text,
            "tool_calls": [{"function": {"name": text[:90], "arguments": text}}],
        }
        rows.append(page_row(len(rows) + 1, line, rand))
        failure = {
            "prompt": text,
            "error": {"code": text[:80], "message": text, "status": text[:9], "attempts": text[:9]},
        }
        rows.append(page_row(len(rows) + 1, failure, rand, failed=True))
    for raw in HOSTILE_LINES:
        for dialect in ("prompt", "openai", "anthropic", "runpod", "bedrock", "none"):
            made = page_row(len(rows) + 1, {}, rand, dialect=dialect, failed=len(rows) % 2 == 0)
            rows.append(
                PageRow(
                    line=made.line,
                    status=made.status,
                    dialect=dialect,
                    endpoint="/v1/<x>",
                    output=raw,
                    input=raw,
                    started=None,
                    seconds=float("nan") if len(rows) % 3 else 1.0,
                    attempts=1,
                    worker="<b>w</b>",
                )
            )
    return rows
