"""What an answer says of itself, in each API's own way: its text, its thought, its counts, and how it ended.

Servers differ in what they leave out and in their words. A text is kept whatever stands beside it, and what is missing
is null; nothing here throws an answer away.
"""

from __future__ import annotations

import json
from typing import Any


def _spellings(*words: str) -> frozenset[str]:
    """Return words as servers spell them: small, in capitals, or with one capital."""
    return frozenset(spelt for word in words for spelt in (word, word.upper(), word.capitalize()))


CUT_OFF = _spellings(  # finish reasons of answers that met a limit
    "length", "max_tokens", "max_output_tokens", "max_new_tokens", "max_length", "token_limit", "error_limit",
    "model_context_window_exceeded", "model_length", "context_length_exceeded", "incomplete",
)  # fmt: skip
GIVEN_UP = _spellings(  # by the engine itself: it is no whole answer
    "abort", "aborted", "cancelled", "canceled", "insufficient_system_resource"
)
_REFUSALS = _spellings(  # ends of answers that were declined or filtered
    "refusal", "content_filter", "content_filtered", "guardrail_intervened", "safety", "recitation",
    "prohibited_content", "blocklist", "spii", "error_toxic",
)  # fmt: skip
_TOKENS_LIMIT = 2**40  # more is no count but a fault of the server
_REASON_LIMIT = 100  # characters
_THOUGHTS = frozenset({"thinking", "reasoning", "reasoning_text"})


def read_count(value: Any) -> int | None:
    """Return a count of tokens, None for what is none: a text, a fraction, a number that nobody counts to."""
    whole = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _TOKENS_LIMIT
    return int(value) if whole and value == int(value) else None


def read_counts(body: Any) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and of the answer."""
    usage = body.get("usage") if isinstance(body, dict) else None
    counts = usage if isinstance(usage, dict) else {}
    return (
        read_count(counts.get("prompt_tokens", counts.get("input_tokens"))),
        read_count(counts.get("completion_tokens", counts.get("output_tokens"))),
    )


def read_cached(body: Any) -> int | None:
    """Return how many of the prompt's tokens the server had computed before, None where it tells of none."""
    usage = body.get("usage") if isinstance(body, dict) else None
    counts = usage if isinstance(usage, dict) else {}
    details = counts.get("prompt_tokens_details", counts.get("input_tokens_details"))
    told = details.get("cached_tokens") if isinstance(details, dict) else counts.get("cache_read_input_tokens")
    return read_count(told) or None


def read_content(content: Any) -> tuple[str, str]:
    """Return the text and the thought of a message's content: a text, null, a list of parts, or any JSON value."""
    if isinstance(content, str | None):
        return content or "", ""
    if not isinstance(content, list):  # one part alone, or a structure that the server has read as JSON
        return _own_text(content) or json.dumps(content, ensure_ascii=False), ""
    parts = [part for part in content if isinstance(part, dict)]
    texts = [part if isinstance(part, str) else _own_text(part) for part in content if part not in _thoughts(parts)]
    return "".join(texts), "".join(map(_thought, _thoughts(parts)))


def _thoughts(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [part for part in parts if part.get("type") in _THOUGHTS]


def _own_text(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


def _thought(part: dict[str, Any]) -> str:
    inner = next((part[name] for name in ("thinking", "reasoning", "text", "content") if part.get(name)), "")
    return inner if isinstance(inner, str) else "".join(map(_own_text, inner)) if isinstance(inner, list) else ""


def read_ends(body: Any) -> list[str]:
    """Return how an answer's texts ended, in the server's words, one for each choice."""
    if not isinstance(body, dict):
        return []
    choices = body.get("choices")
    if isinstance(choices, list):
        told = [read_finish(choice.get("finish_reason")) for choice in _objects(choices)]
    else:
        told = [read_shortfall(body), read_finish(body.get("stop_reason"))]
    return [end for end in told if end]


def read_finish(end: Any) -> str | None:
    """Return how one text ended: a word, or an object whose type is the word; None where none is told."""
    word = end.get("type") if isinstance(end, dict) else end
    return word if isinstance(word, str) and 0 < len(word) < _REASON_LIMIT else None


def read_shortfall(body: dict[str, Any]) -> str | None:
    """Return why a response is not whole, by its details or else by its status; None for a whole one."""
    details = body.get("incomplete_details")
    reason = read_finish(details.get("reason") if isinstance(details, dict) else details)
    status = body.get("status")
    return reason or (status if status in ("incomplete", *GIVEN_UP) else None)


def read_end(body: Any) -> str | None:
    """Return how an answer ended: cut, where any of its texts was; else as the first did."""
    ends = read_ends(body)
    return next((end for end in ends if end in CUT_OFF), ends[0] if ends else None)


def is_given_up(body: Any) -> bool:
    """Tell whether the engine gave the request up by itself, so that what it sent is no whole answer."""
    return any(end in GIVEN_UP for end in read_ends(body))


def is_empty(body: Any) -> bool:
    """Tell whether a generated answer holds no text at all, nor a call of a tool, such as one that only thought."""
    if not isinstance(body, dict):
        return False
    if isinstance(choices := body.get("choices"), list):
        return bool(choices) and not any(map(_says_something, choices))
    if body.get("object") == "response":
        items = _objects(body.get("output"))
        parts = [part for item in items if item.get("type") == "message" for part in _objects(item.get("content"))]
        return not any(map(_own_text, parts)) and not any("call" in str(item.get("type")) for item in items)
    if body.get("type") == "message" and isinstance(blocks := body.get("content"), list):
        calls = any(block.get("type") == "tool_use" for block in _objects(blocks))
        return not calls and not any(_own_text(block).strip() for block in blocks)
    return False


def _says_something(choice: Any) -> bool:
    """Tell whether one choice has a text, a refusal, or a call of a tool; one of another shape is not judged."""
    if not isinstance(choice, dict):
        return True
    message = choice.get("message", choice.get("delta"))
    if not isinstance(message, dict):
        return bool(str(choice.get("text") or "").strip())
    told = read_content(message.get("content"))[0].strip()
    return bool(told or any(message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio")))


def read_texts(body: Any) -> list[str]:
    """Return the texts of a generated answer, in any API's form."""
    whole = body if isinstance(body, dict) else {}
    items = [part for item in _objects(whole.get("output")) for part in _objects(item.get("content"))]
    parts = items + (_objects(whole.get("content")) if whole.get("type") == "message" else [])
    texts = [_own_text(part) for part in parts if part not in _thoughts(parts)]
    for choice in _objects(whole.get("choices")):
        message = choice.get("message")
        texts.append(read_content(message.get("content"))[0] if isinstance(message, dict) else _own_text(choice))
    return [text for text in texts if text.strip()]


def is_refused(body: Any) -> bool:
    """Tell whether the model declined to answer, or its answer was filtered, in any API's way of saying so."""
    if not isinstance(body, dict):
        return False
    if _REFUSALS & set(read_ends(body)):
        return True
    told = [choice.get("message") for choice in _objects(body.get("choices"))]
    told += [part for item in _objects(body.get("output")) for part in _objects(item.get("content"))]
    return any(bool(each.get("refusal")) for each in _objects(told))


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, of any other value none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
