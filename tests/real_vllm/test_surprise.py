"""The rate of surprise: rows that the check calls fine and real vLLM refuses, and the reverse."""

from __future__ import annotations

import json
import urllib.error
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checking import inspection
from support.real_jobs import SMALL, RealServer, Result, short_folder
from support.run_batch_lines import MODEL
from support.surprise_options import HEAT, LENGTH, LIMIT
from support.surprise_rows import Sample, corpus, lines_of

pytestmark = pytest.mark.vllm
COUNT = 2_000
MOST = 0.01  # of the rows, either way
IN_FLIGHT = 64
JOB = {"MaxTokens": LIMIT, "Temperature": HEAT, "MaxModelLen": LENGTH, "VllmArgs": SMALL, "ModelName": MODEL}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with short_folder() as path:
        yield path


def succeeded(row: dict[str, Any]) -> bool:
    """Tell whether an output line of any dialect holds an answer."""
    if isinstance(row.get("response"), dict):
        return bool(row["response"]["status_code"] == 200)
    if isinstance(row.get("result"), dict):
        return bool(row["result"]["type"] == "succeeded")
    return not row.get("error")


def problems_of(path: Path) -> dict[int, str]:
    """Return what the check says of each line that it does not call fine."""
    job = {name: str(value) for name, value in JOB.items()}
    checked = inspection.check({"InputFile": str(path), "Prompts": "all", **job}, keep=None)
    found = [each for kept in checked.census.examples.values() for each in kept]
    return {each.line: f"{each.code}: {each.message}" for each in found}


def takes(server: RealServer, sample: Sample) -> bool:
    """Tell whether the engine takes the plain request that a sample means."""
    if not sample.route:
        return False
    try:
        server.call(sample.route, {**sample.body, "model": MODEL})
    except urllib.error.HTTPError as error:
        error.close()
        return False
    return True


def test_what_the_check_calls_fine_is_answered_and_what_it_does_not_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = corpus(COUNT)
    path = folder / "corpus.jsonl"
    path.write_text("\n".join(lines_of(samples)) + "\n", encoding="utf-8")
    told = problems_of(path)
    with RealServer(MODEL, folder, LENGTH, SMALL) as server:
        limits = {"MaxConcurrency": IN_FLIGHT, "MaxAttempts": 1}
        result: Result = server.job_over("corpus", COUNT, InputFile=path, **JOB, **limits)
        answered = [succeeded(row) for row in result.rows]
        unasked = [n for n in told if not answered[n - 1]]
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            taken = dict(zip(unasked, pool.map(lambda n: takes(server, samples[n - 1]), unasked), strict=True))
    surprises = [n for n in range(1, COUNT + 1) if n not in told and not answered[n - 1]]
    reverse = [n for n in told if answered[n - 1] or taken[n]]
    with capsys.disabled():
        print(f"\n\n{COUNT:,} rows: {COUNT - len(told):,} called fine, {sum(answered):,} answered")
        print(f"called fine and refused: {len(surprises):,}; refused and taken by the engine: {len(reverse):,}")
        for n in surprises[:40]:
            print("  fine, but refused:", json.dumps(result.rows[n - 1], ensure_ascii=False)[:300])
        for n in reverse[:40]:
            print("  not fine, but taken:", told[n][:100], json.dumps(samples[n - 1].row, ensure_ascii=False)[:200])
        print(Counter(told[n].partition(":")[0] for n in told))
    assert len(surprises) < MOST * COUNT
    assert len(reverse) < MOST * COUNT
