"""The dialects that a line can be written in, and which one it is.

Lines are recognised one by one; what no other dialect claims is a prompt row, the project's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from dialects import anthropic_batch, bedrock, openai_batch, prompt, runpod
from dialects.base import Dialect

_OTHERS = cast("tuple[Dialect, ...]", (openai_batch, anthropic_batch, runpod, bedrock))
PROMPT = cast("Dialect", prompt)


def recognise(fields: Mapping[str, Any]) -> Dialect:
    """Return the dialect of a row with these fields."""
    return next((dialect for dialect in _OTHERS if dialect.recognises(fields)), PROMPT)
