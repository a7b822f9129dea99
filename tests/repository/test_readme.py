"""The README's tables say what is so: parameters, outputs and, on their own page, the summary's fields."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.merge_job import Job

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PARAMETERS = yaml.safe_load((ROOT / "template.yaml").read_text(encoding="utf-8"))["parameterDefinitions"]


def table_row(parameter: dict[str, Any]) -> str:
    """Return the README's row of a parameter, as the template has it."""
    kind = parameter["type"] + {"IN": " in", "OUT": " out"}.get(parameter.get("dataFlow", ""), "")
    default = f"`{parameter['default']}`" if parameter.get("default", "") != "" else "empty"
    default = default if "default" in parameter else "required"
    bounds = f", {parameter['minValue']} to {parameter['maxValue']}" if "minValue" in parameter else ""
    return f"| `{parameter['name']}` | {kind}, {default}{bounds} | {parameter['description']} |"


@pytest.mark.parametrize("parameter", PARAMETERS, ids=[parameter["name"] for parameter in PARAMETERS])
def test_the_parameter_table_says_what_the_template_says(parameter: dict[str, Any]) -> None:
    assert table_row(parameter) in README.splitlines()


def test_the_parameter_table_names_nothing_else() -> None:
    table = README.partition("## Parameters")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [parameter["name"] for parameter in PARAMETERS]


def test_the_readme_is_read_in_one_sitting() -> None:
    assert len(README.splitlines()) <= 300


def test_the_outputs_named_are_those_that_a_merge_writes(job: Job) -> None:
    job.shard({1: "A", 2: "!timeout", 3: "", 4: "D", 5: "E"})
    assert job.merge() == 0
    table = README.partition("## Outputs")[2].partition("\n## ")[0]
    named = {name.rstrip("/") for name in re.findall(r"^\| `([\w./]+)` \|", table, re.MULTILINE)}
    assert named == {path.name for path in job.output.iterdir()}


def test_the_summary_has_the_fields_that_its_page_explains(job: Job) -> None:
    job.shard({1: "A", 2: "!timeout", 3: "", 4: "D", 5: "E"})
    assert job.merge() == 0
    page = (ROOT / "docs" / "outputs.md").read_text(encoding="utf-8")
    table = page.partition("## The summary")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert named == list(dict.fromkeys(named))
    assert set(named) == set(job.summary())
