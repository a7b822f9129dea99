"""The worker's rules for a line, one case a line of row_cases.jsonl; the prompt builder answers to the same cases."""

from __future__ import annotations

from typing import Any

import pytest

from support.pages.builder_worker import cases, line_of, verdict


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_the_worker_takes_or_marks_the_line_as_the_case_says(case: dict[str, Any]) -> None:
    found = verdict(line_of(case))
    assert {name: found[name] for name in ("dialect", "ok", "code")} == {n: case[n] for n in ("dialect", "ok", "code")}
    assert (case["message_contains"] or "") in (found["message"] or "")
