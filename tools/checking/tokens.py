"""About how many tokens a request has, without a tokenizer: four bytes of UTF-8 are taken for one token.

That is close for English and within a factor of two for most other languages and for code. Images and sound count as
nothing.
"""

from __future__ import annotations

from typing import Any

TOKEN_BYTES = 4  # of UTF-8 a token, the estimate's one assumption
MESSAGE_TOKENS = 4  # that a chat template puts around a message
_NOT_TEXT = frozenset({"model", "role", "type", "url", "file_url", "id", "encoding_format"})
_PROMPT = {"messages", "prompt", "input", "system", "instructions", "tools"}
_COMPARED = {"query", "queries", "documents", "items", "text_1", "text_2", "data_1", "data_2"}
_PARTS = frozenset(_PROMPT | _COMPARED)


def of_prompt(body: dict[str, Any]) -> int:
    """Return about how many tokens the texts of a request are."""
    messages = body.get("messages")
    around = MESSAGE_TOKENS * len(messages) if isinstance(messages, list) else 0
    size = 0
    for name in body.keys() & _PARTS:
        size += size_of(body[name])
    return -(-size // TOKEN_BYTES) + around


def size_of(value: Any) -> int:
    """Return the bytes of UTF-8 in all texts of a value, names of fields, roles and URLs left out."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list):
        return sum(map(size_of, value))
    size = 0
    if isinstance(value, dict):
        for name in value.keys() - _NOT_TEXT:
            size += size_of(value[name])
    return size
