"""What the worker makes of a line: the oracle for the prompt builder's checks."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from dialects.line import ask_row
from dialects.recognise import recognise
from engine.facts import Served
from job.defaults import Defaults
from job.prompt_template import PromptTemplate
from rows.errors import RowError
from rows.row import parse

CASES = Path(__file__).resolve().parents[2] / "data" / "row_cases.jsonl"
SERVED = Served(model="m")
OPTIONS = {"max_tokens": 512, "temperature": 0.7}  # as the job's form has them


def cases() -> list[dict[str, Any]]:
    """Return the cases that both implementations of the rules answer to."""
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def line_of(case: dict[str, Any]) -> bytes:
    """Return a case's line as it stands in a file."""
    return base64.b64decode(case["line_base64"]) if "line_base64" in case else case["line"].encode()


def verdict(line: bytes, template: str | None = None, endpoint: str = "auto") -> dict[str, Any]:
    """Return the worker's verdict on a line: dialect, ok, code, message."""
    compiled = PromptTemplate(template) if template is not None else None
    job = Defaults(options=dict(OPTIONS), template=compiled, endpoint=endpoint)
    dialect = "none"
    try:
        row = parse(1, line)
        spoken = recognise(row.fields)
        dialect = spoken.NAME
        ask_row(row, spoken, job, SERVED).encode()
    except RowError as error:
        return {"dialect": dialect, "ok": False, "code": error.code, "message": error.message}
    return {"dialect": dialect, "ok": True, "code": None, "message": None}
