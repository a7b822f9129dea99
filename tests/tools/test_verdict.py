"""A job that answered nothing is told as such, with the most frequent cause and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from submission.verdict import tell_if_nothing


def summary(folder: Path, **counts: Any) -> Path:
    (folder / "summary.json").write_text(json.dumps(counts))
    return folder


def test_nothing_but_failures_is_no_success_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tell_if_nothing(summary(tmp_path, succeeded=0, errors={"not_found": 40, "invalid_json": 1}))
    told = "".join(capsys.readouterr())
    assert "No row was answered. 40 x not_found: The server has no such model or path." in told
    assert "name a model that is served" in told


@pytest.mark.parametrize(
    "counts",
    [
        {"succeeded": 1, "errors": {"x": 9}},
        {"succeeded": 0, "errors": {}},
        {"errors": {}},
        {"succeeded": "x", "errors": 5},
    ],
)
def test_one_answer_or_nothing_to_ask_is_fine(counts: dict[str, Any], tmp_path: Path) -> None:
    assert not tell_if_nothing(summary(tmp_path, **counts))
    assert not tell_if_nothing(tmp_path / "nowhere")
