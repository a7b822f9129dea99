"""Values as JSON text: exact, encodable as UTF-8, on one line for every reader, or short enough for a message."""

from __future__ import annotations

import json
import math
from typing import Any

QUOTE_LIMIT = 60  # characters of a user's value shown in a message
_SEPARATORS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode  # made once: several times for every row


def quote(value: Any) -> str:
    """Return the JSON text of a value, encodable as UTF-8. Raises ValueError for NaN and infinity."""
    text = _encode(value)
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate stays an escape
        return json.dumps(value, allow_nan=False)
    return escape_separators(text)


def quote_finite(value: Any) -> str:
    """Return the JSON text of a value, NaN and infinity in it as null."""
    try:
        return quote(value)
    except ValueError:
        return quote(_make_finite(value))


def _make_finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _make_finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return list(map(_make_finite, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def escape_separators(text: str) -> str:
    """Return a JSON text in which the characters are escaped at which some readers end a line."""
    for character, escape in _SEPARATORS.items():
        text = text.replace(character, escape)
    return text


def shorten(value: Any) -> str:
    """Return a user's value as JSON, short enough for a message."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= QUOTE_LIMIT else text[: QUOTE_LIMIT - 3] + "..."
