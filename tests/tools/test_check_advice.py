"""tools/check.py: the times, costs and commands that it advises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import check
from checking import advice
from support.checking import FINE, file_of, found_in


def test_an_earlier_summary_replaces_every_guess(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = tmp_path / "summary.json"
    earlier = {
        "succeeded": 10,
        "seconds": 5,
        "prompt_tokens": 100,
        "completion_tokens": 900,
        "workers": 1,
        "model": "m",
    }
    summary.write_text(json.dumps(earlier), encoding="utf-8")
    path = file_of(tmp_path, *[FINE] * 720)
    guessed = found_in(capsys, path, "--price-per-hour", "2")[1]["estimate"]
    assert "guess" in " ".join(guessed["assumptions"])
    found = found_in(capsys, path, "--price-per-hour", "2", "--summary", str(summary))[1]["estimate"]
    assert (found["prompt_tokens"], found["answer_tokens"]) == (7_200, 64_800)
    assert found["worker_hours"] == round((72_000 / 200 + advice.ASSUMED_LOAD) / 3600, 3)
    assert found["cost"] == round(found["worker_hours"] * 2, 2)
    assert "guess" not in " ".join(found["assumptions"])


FIGURES = {"succeeded": "1", "seconds": "1", "prompt_tokens": "1", "completion_tokens": "1", "workers": "1"}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("value", ["1e400", "NaN", "-1", "1" + "0" * 400], ids=lambda value: value[:9])
def test_a_summary_with_a_figure_that_is_none_is_refused_by_its_name(
    name: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.json"
    summary.write_text("{" + ", ".join(f'"{n}": {v}' for n, v in {**FIGURES, name: value}.items()) + "}")
    status, found = found_in(capsys, file_of(tmp_path, FINE), "--summary", str(summary))
    assert (status, found["error"].partition(";")[0]) == (2, f'{summary}: "{name}" is missing or no count')


@pytest.mark.parametrize("name", ["max_tokens", "n"])
def test_a_row_that_asks_for_more_tokens_than_there_are_is_estimated(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, f'{{"prompt": "x", "{name}": {"9" * 400}}}')
    assert found_in(capsys, path, "--server-url", "http://127.0.0.1/v1")[0] == 0


def test_no_cost_is_named_without_a_price(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of(tmp_path, FINE)
    assert found_in(capsys, path)[1]["estimate"]["cost"] is None
    check.main([path])
    assert "cost: " not in capsys.readouterr().out


def test_the_trial_s_commands_carry_the_parameters_that_were_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, *[FINE] * 30)
    farm, here = found_in(capsys, path, "--max-tokens", "64", "--system-prompt", "Be brief")[1]["trial"]
    assert "--parameter Prompts=1-10" in farm
    assert "--parameter MaxTokens=64 " in farm
    assert "'SystemPrompt=Be brief'" in here
    assert here.startswith(f"python3 tools/run_local.py --input {path} --prompts 1-10")


def test_a_value_of_several_lines_is_tried_by_the_command_that_keeps_it_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, FINE)
    farm, _ = found_in(capsys, path, "--system-prompt", "Be brief.\nBe kind.")[1]["trial"]
    assert farm.startswith(f"python3 tools/submit.py {path} --prompts 1-1 --output-dir trial")
    assert "'SystemPrompt=Be brief.\nBe kind.' -p ChunkSize=1" in farm
