"""The README's tables say what is so: parameters, outputs and, on their own page, the summary's fields."""

from __future__ import annotations

import re
from pathlib import Path

from support.merge_job import Job

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_read_in_one_sitting() -> None:
    assert len(README.splitlines()) <= 270


def test_the_outputs_named_are_those_that_a_merge_writes(job: Job) -> None:
    job.shard({1: "A", 2: "!timeout", 3: "", 4: "D", 5: "E"})
    assert job.merge() == 0
    table = README.partition("## Outputs")[2].partition("\n## ")[0]
    named = {name.rstrip("/") for name in re.findall(r"^\| `([\w./]+)` \|", table, re.MULTILINE)}
    assert named == {path.name for path in job.output.iterdir()}


def test_the_summary_has_the_fields_that_its_page_explains(job: Job) -> None:
    job.shard({1: "A", 2: "!timeout", 3: "", 4: "D", 5: "E"})
    assert job.merge("--unfinished", "1 of 2 tasks done") == 0
    page = (ROOT / "docs" / "outputs.md").read_text(encoding="utf-8")
    table = page.partition("## The summary")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert named == list(dict.fromkeys(named))
    assert set(named) == set(job.summary())
