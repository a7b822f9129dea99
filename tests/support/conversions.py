"""tools/make_rows.py as a person runs it, for the tests of what it makes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import make_rows


def converted(folder: Path, name: str, content: str | bytes, *arguments: str) -> list[dict[str, Any]]:
    """Convert a file of this name and content; return the rows that were written."""
    source, target = folder / name, folder / "rows.jsonl"
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert make_rows.main([str(source), "-o", str(target), *arguments]) == 0
    return [json.loads(line) for line in target.read_text(encoding="utf-8").split("\n")[:-1]]
