"""The README says what is so: its parameters, files and programs are those of the project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

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


def test_every_linked_file_exists() -> None:
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert linked
    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_every_program_that_is_named_exists() -> None:
    named = set(re.findall(r"\b(?:scripts|tools|tests|benchmarks|cloudformation)/[\w/.]+\w", README))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_nothing_was_left_to_fill_in() -> None:
    assert "<!--" not in README
