"""What a file is as a whole, where its lines are no rows: told once, with what to do, before a model is paid for."""

from __future__ import annotations

import json
from pathlib import Path

from rows.row import BOM
from rows.source import Source, SourceError


def refuse_other_text(source: Source) -> None:
    """Raise SourceError for a text whose lines are no rows, such as CSV or JSON over several lines."""
    what = _other_text(Path(source.path))
    if what:
        raise SourceError(
            f"{source.name} {what}; the input is JSONL, one object a line; "
            "tools/make_rows.py makes it from CSV and from JSON"
        )


def _other_text(path: Path) -> str:
    """Return what a text is instead of rows, or "" for rows, good or bad, and for blank lines."""
    firsts: set[bytes] = set()
    opening = b""
    with path.open("rb") as file:
        for line in file:
            text = line.removeprefix(BOM).strip()
            opening = opening or text
            firsts.add(text[:1])
            if text[:1] != b"{" or text == b"{" == opening:
                continue
            if opening == b"[" and text[-1:] == b"," and _is_json(text[:-1]):
                return "is one JSON array over several lines"
            if opening != b"{" or _is_json(text):
                return ""
    if opening == b"{":
        return "holds JSON objects that are printed over several lines each"
    if firsts <= {b""}:
        return ""
    kind = "it is a JSON array" if b"[" in firsts else "it is another text, such as CSV"
    return f"has no line that begins a JSON object ({kind})"


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
