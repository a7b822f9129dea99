"""examples/: each file is what its name says, and the tools take it as it is."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import make_rows
from checking import inspection
from job.prompt_template import PromptTemplate
from support.documents import ROOT

EXAMPLES = ROOT / "examples"


def fine(path: Path, **parameters: str) -> int:
    """Return how many rows of a file the check finds nothing wrong with."""
    return inspection.check({"InputFile": str(path), "Prompts": "all", **parameters}).census.sound


def test_the_reviews_become_rows_that_can_be_asked_under_the_schema(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    assert make_rows.main([str(EXAMPLES / "reviews.csv"), "-o", str(rows), "--template", "Judge: {{review}}"]) == 0
    assert fine(rows, ResponseSchemaFile=str(EXAMPLES / "review_schema.json")) == 60


def test_the_schema_is_one() -> None:
    schema = json.loads((EXAMPLES / "review_schema.json").read_text(encoding="utf-8"))
    jsonschema.validators.validator_for(schema).check_schema(schema)
    jsonschema.validate({"sentiment": "mixed", "topics": ["price"]}, schema)


def test_the_notes_become_a_row_each(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    assert make_rows.main([str(EXAMPLES / "notes"), "-o", str(rows), "--template", "Sum up: {{text}}"]) == 0
    assert fine(rows) == 3


def test_the_batch_file_can_be_asked() -> None:
    assert fine(EXAMPLES / "openai_batch.jsonl") == 3


@pytest.mark.parametrize("row", [{"prompt": "p"}, {"text": "p"}, {"messages": [{"role": "user", "content": "p"}]}])
def test_the_judge_asks_about_every_kind_of_row(row: dict[str, object]) -> None:
    template = PromptTemplate((EXAMPLES / "judge.jinja").read_text(encoding="utf-8"))
    assert "Question: p\nAnswer: a" in str(template.render({**row, "generated_text": "a"}))
