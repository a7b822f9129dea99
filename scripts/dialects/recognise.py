"""Which dialect a row is written in: a prompt row, the project's own, is what no other dialect claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from dialects import anthropic_batch, bedrock, openai_batch, prompt, runpod
from dialects.base import Dialect

PROMPT = cast("Dialect", prompt)
OTHERS = cast("tuple[Dialect, ...]", (openai_batch, anthropic_batch, runpod, bedrock))


def recognise(fields: Mapping[str, Any]) -> Dialect:
    """Return the dialect of a row with these fields."""
    for dialect in OTHERS:
        if dialect.MARKS.tell(fields):
            return dialect
    return PROMPT
