"""The sizes of tasks that the tools choose."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from checking import sizes
from rows import ranges
from support.checking import FINE, ROOT, file_of, found_in

TEMPLATE = yaml.safe_load((ROOT / "template.yaml").read_text(encoding="utf-8"))
BOUNDS = {each["name"]: (each.get("minValue"), each.get("maxValue")) for each in TEMPLATE["parameterDefinitions"]}
LINES = [1, 9, 150, 151, 500, 720, 5_000, 15_000, 50_000, 1_000_000, 50_000_000]


@pytest.mark.parametrize("lines", LINES)
@pytest.mark.parametrize("workers", [None, 1, 8, 64])
def test_the_suggested_sizes_cover_the_file_and_the_template_takes_them(lines: int, workers: int | None) -> None:
    suited = sizes.suit(lines, sizes.Work(workers=workers))
    for name in sizes.NAMES:
        low, high = BOUNDS[name]
        assert low <= getattr(suited, name) <= high
    covered = ranges.of_values(suited.Prompts, suited.BlockSize)
    assert lines <= len(covered) < lines + suited.BlockSize
    per_task = suited.BlockSize * suited.ChunkSize
    assert per_task <= 1.2 * sizes.LARGEST_TASK, "a worker that is lost costs no more"
    assert per_task >= min(lines, sizes.FULL * sizes.ENGINE_ROWS), "an engine gets enough at once"
    assert (suited.BlockSize == 1) == (lines <= sizes.CHUNK_LIMIT)


@pytest.mark.parametrize("lines", [10_000, 100_000, 1_000_000])
def test_no_worker_starts_for_less_than_its_load(lines: int) -> None:
    work = sizes.Work(workers=64)
    suited = sizes.suit(lines, work)
    assert suited.BlockSize * suited.ChunkSize >= work.worth


@pytest.mark.parametrize("workers", [2, 3, 8, 64])
def test_workers_that_are_known_have_as_many_tasks_each(workers: int) -> None:
    tasks = sizes.Work(workers=workers).tasks(1_000_000)
    assert tasks % workers == 0


@pytest.mark.parametrize(
    ("given", "worth"),
    [
        ({}, 2930),
        ({"MaxTokens": "64"}, sizes.LARGEST_TASK),
        ({"MaxTokens": "8192"}, 512),
        ({"MaxTokens": "8192", "MaxConcurrency": "1280"}, 2560),
        ({"MaxTokens": "8192", "VllmArgs": "--max-num-seqs 1024"}, 2048),
        ({"MaxTokens": "8192", "VllmArgs": "'"}, 512),
    ],
    ids=["defaults", "short answers", "long answers", "asked at once", "a larger engine", "arguments that are none"],
)
def test_a_task_is_as_long_as_a_load_and_fills_the_engine(given: dict[str, str], worth: int) -> None:
    assert sizes.Work.of(given).worth == worth


def test_rows_that_ask_for_few_tokens_make_larger_tasks(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = []
    for limit in (4, 900):
        path = file_of(tmp_path, *[json.dumps({"prompt": "x", "max_tokens": limit})] * 6_000)
        suggested = found_in(capsys, path)[1]["suggested"]
        tasks.append(-(-6_000 // (int(suggested["BlockSize"]) * int(suggested["ChunkSize"]))))
    assert tasks == [1, 3]


def test_sizes_that_are_given_stay_in_what_suits_the_whole_file(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--block-size", "100", "--chunk-size", "3", "--prompts", "1")
    suggested = found_in(capsys, file_of(tmp_path, *[FINE] * 250), *given)[1]["suggested"]
    assert [suggested[name] for name in ("Prompts", "BlockSize", "ChunkSize")] == ["1-3", "100", "3"]


def test_a_prime_number_of_lines_is_cut_into_no_blocks_that_would_hold_others() -> None:
    wanted = ranges.Lines([range(1, 49_999 + 1)])
    given = {"Prompts": "1-49999"}
    assert sizes.suggest_for(given, wanted, 60_000, sizes.Work())["BlockSize"] == "1"
    assert sizes.suggest_for(given, wanted, 49_999, sizes.Work())["BlockSize"] == "50", "the file ends there"
