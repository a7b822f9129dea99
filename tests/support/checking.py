"""tools/check.py as a person runs it, for the tests of what it finds and advises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import check

ROOT = Path(__file__).resolve().parents[2]
FINE = '{"id": 1, "prompt": "What is tea?"}'


def file_of(folder: Path, *lines: str) -> str:
    path = folder / "prompts.jsonl"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))
    return str(path)


def found_in(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = check.main([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)
