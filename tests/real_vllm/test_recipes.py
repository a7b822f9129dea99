"""The recipes of docs/recipes.md as they stand there, with real vLLM on the CPU and the small model."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from support.documents import ROOT, commands_of

pytestmark = pytest.mark.vllm
SECONDS = 900  # a hang ends here, a busy machine does not
with (ROOT / "examples" / "reviews.csv").open(encoding="utf-8", newline="") as reviews:
    REVIEWS = list(csv.reader(reviews))
PADDED = 15  # of sixty answers, which so small a model may pad with white space until they are cut


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Run every command of the recipes in a copy of the bundle; the path is short for vLLM's sockets."""
    path = Path(tempfile.mkdtemp(prefix="vr", dir="/tmp"))
    for name in ("template.yaml", "sample_prompts.jsonl"):
        shutil.copy(ROOT / name, path)
    for name in ("scripts", "tools", "examples", "requirements"):
        shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for command in commands_of(ROOT / "docs" / "recipes.md"):
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=path,
            env={**os.environ, "TMPDIR": str(path), "VLLM_CPU_KVCACHE_SPACE": "1"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    yield path
    shutil.rmtree(path)


def sheet(path: Path) -> list[list[Any]]:
    book = openpyxl.load_workbook(path, read_only=True)
    heading, *rows = (list(row) for row in book.worksheets[0].iter_rows(values_only=True))
    book.close()
    return [
        heading,
        *([*row, *[None] * (len(heading) - len(row))] for row in rows),
    ]  # empty cells at an end are left out


def test_sixty_reviews_become_a_sheet_with_what_the_schema_names(folder: Path) -> None:
    heading, *rows = sheet(folder / "reviews.xlsx")
    assert heading == [*REVIEWS[0], "sentiment", "topics"]
    assert [row[: len(REVIEWS[0])] for row in rows] == REVIEWS[1:]
    answered = [row for row in rows if row[-2] is not None]
    assert len(answered) >= len(rows) - PADDED
    assert {row[-2] for row in answered} <= {"positive", "mixed", "negative"}
    topics = json.loads((folder / "examples" / "review_schema.json").read_text())["properties"]["topics"]["items"][
        "enum"
    ]
    assert all(set(json.loads(row[-1])) <= set(topics) for row in answered)


def test_the_sheet_opens_in_libreoffice_where_there_is_one(folder: Path) -> None:
    if office := shutil.which("soffice"):
        command = [office, "--headless", "--convert-to", "csv", "--outdir", str(folder / "opened"), "reviews.xlsx"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=SECONDS)
        with (folder / "opened" / "reviews.csv").open(encoding="utf-8", newline="") as file:
            assert [row[:4] for row in csv.reader(file)] == REVIEWS


def test_a_folder_of_texts_becomes_a_table_of_files_and_answers(folder: Path) -> None:
    with (folder / "notes.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["file"] for row in rows) == ["bees.txt", "canals.md", "tides.txt"]
    assert all(row["generated_text"] for row in rows)


def test_an_openai_batch_file_becomes_a_table_of_its_ids_and_answers(folder: Path) -> None:
    with (folder / "batch.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["custom_id"] for row in rows] == ["request-1", "request-2", "request-3"]
    assert all(row["generated_text"] and row["finish_reason"] in ("stop", "length") for row in rows)
