"""tools/to_table.py as a person runs it, and results to make tables of, for its tests."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import to_table


def result(fields: dict[str, Any], answer: Any, **more: Any) -> dict[str, Any]:
    """Return the output line of a prompt row; an answer that is no text is its JSON."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    counts = {"finish_reason": "stop", "prompt_tokens": 7, "completion_tokens": 9}
    return {**fields, "generated_text": text, **counts, **more}


def failure(fields: dict[str, Any], code: str = "too_many_failures", message: str = "not asked") -> dict[str, Any]:
    """Return the output line of a prompt row that failed."""
    return {**fields, "error": {"code": code, "message": message, "status": None, "attempts": 1}}


def write_results(folder: Path, lines: Iterable[dict[str, Any] | str]) -> Path:
    """Write an output.jsonl of objects, or of lines as they are; return the OutputDir."""
    file = folder / "run" / "output" / "output.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    texts = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return folder / "run"


def tabled(folder: Path, lines: Iterable[dict[str, Any] | str], name: str, *arguments: str) -> Path:
    """Make a table of results; return its file."""
    target = folder / name
    assert to_table.main([str(write_results(folder, lines)), "-o", str(target), *arguments]) == 0
    return target


def table(folder: Path, lines: Iterable[dict[str, Any] | str], *arguments: str) -> list[list[str]]:
    """Return a CSV table's rows of cells, its headings first."""
    file = tabled(folder, lines, "table.csv", *arguments)
    with file.open(encoding="utf-8-sig", newline="") as text:
        return list(csv.reader(text))
