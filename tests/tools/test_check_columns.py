"""What the check says of columns that may not mean what they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checking import inspection


def notes(folder: Path, *rows: dict[str, Any] | str, **job: str) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return "\n".join(inspection.notes(inspection.check({"InputFile": str(path), "Prompts": "all", **job})))


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"temperator": 0}, '"temperature" meant'),
        ({"topK": 0}, '"top_k" meant'),
        ({"max_new_tokens": 3}, '"max_tokens" meant'),
        ({"maxTokens": 3}, '"max_tokens" meant'),
        ({"repeat_penalty": 1.1}, '"repetition_penalty" meant'),
        ({"generate_kwargs": {"max_tokens": 4}}, "options stand in sampling_params"),
        ({"temperature": 38.5}, 'a column "temperature" that looks like data'),
        ({"extra_body": {"top_k": 1}}, '"extra_body", whose options are put beside the others'),
        ({"sampling_params": {"temperatur": 0}}, '"sampling_params.temperatur", which is no option and is not applied'),
        ({"best_of": 3}, '"best_of", which has no effect without use_beam_search'),
        ({"sampling_params": {"best_of": 3}}, "has no effect without use_beam_search"),
        ({"system": "Linux"}, 'a column "system" that looks like data, such as "Linux" (line 2)'),
        ({"stop": "Main St"}, 'a column "stop" that looks like data'),
        ({"n": 50}, 'a column "n" that looks like data'),
        ({"model": "Toyota Corolla"}, 'a column "model" that looks like data'),
        ({"tools": "hammer, saw"}, 'a column "tools" that looks like data, such as "hammer, saw" (line 2)'),
        ({"seed": "tomato"}, 'a column "seed" that looks like data'),
        ({"logprobs": "n/a"}, 'a column "logprobs" that looks like data'),
    ],
)
def test_a_column_that_gives_pause_is_said_with_its_line(column: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert words in notes(tmp_path, {"prompt": "x"}, {"prompt": "x", **column})


@pytest.mark.parametrize(
    "column",
    [
        {"system": "Answer briefly."},
        {"stop": "END"},
        {"n": 3},
        {"model": "tuned"},
        {"topic": "x"},
        {"seed": 7, "id": 1},
        {"seed": "7", "logprobs": "true", "tools": "[]"},
        {"temperature": None, "model": None},
        {"echo": "yes", "dimensions": "3x4"},
    ],
)
def test_a_column_that_is_an_option_or_plain_data_is_not_said(column: dict[str, Any], tmp_path: Path) -> None:
    assert "a column" not in notes(tmp_path, {"prompt": "x", **column})


def test_a_name_that_stands_twice_with_one_value_is_said(tmp_path: Path) -> None:
    said = notes(tmp_path, '{"prompt": "x", "max_tokens": 4, "max_tokens": 4}')
    assert '"max_tokens" twice with the same value, 4 (line 1)' in said


def test_a_prompt_that_is_a_conversation_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"prompt": [{"role": "user", "content": "x"}]}) + "\n", encoding="utf-8")
    census = inspection.check({"InputFile": str(path), "Prompts": "all"}).census
    assert 'stands in "messages"' in census.examples["invalid_value"][0].message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"extra_headers": {"X": "a"}}, '"body.extra_headers", an argument of a client, which is not sent (line 1)'),
        ({"timeout": 30}, '"body.timeout", an argument of a client'),
        ({"extra_body": {"top_k": 1}}, '"body.extra_body", whose options are put beside the others'),
        ({"max_token": 5}, 'is "max_tokens" meant?'),
        ({"generation_config": {}}, '"body.generation_config", which is no option'),
    ],
)
def test_what_a_request_says_in_vain_is_said_with_its_line(body: dict[str, Any], words: str, tmp_path: Path) -> None:
    whole = {"messages": [{"role": "user", "content": "x"}], **body}
    row = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": whole}
    assert words in notes(tmp_path, row)


def test_with_sampling_params_alone_no_column_is_an_option(tmp_path: Path) -> None:
    row = {"prompt": "x", "temperature": "mild", "n": 50, "model": "Toyota Corolla", "system": "Linux", "stop": 5}
    assert "a column" not in notes(tmp_path, row, OptionsInRows="sampling_params")
