"""tools/make_rows.py: which columns and layouts become which prompt, message and option."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checking import inspection
from support.conversions import converted


def test_a_template_is_filled_from_columns_and_a_cell_is_never_a_template(tmp_path: Path) -> None:
    rows = converted(tmp_path, "a.csv", "id,t\n1,{{id}}\n", "--template", "Translate to French: {{ t }} ({{id}})")
    assert rows == [{"id": "1", "t": "{{id}}", "prompt": "Translate to French: {{id}} (1)"}]


def test_a_conversation_becomes_messages_and_its_last_answer_is_kept_aside(tmp_path: Path) -> None:
    turns = [("system", "S"), ("human", "Q"), ("gpt", "A"), ("human", "Q2"), ("gpt", "A2")]
    record = {"id": 1, "conversations": [{"from": who, "value": text} for who, text in turns]}
    [row] = converted(tmp_path, "a.json", json.dumps([record]))
    assert row["reference"] == "A2"
    assert "conversations" not in row
    roles = [(message["role"], message["content"]) for message in row["messages"]]
    assert roles == [("system", "S"), ("user", "Q"), ("assistant", "A"), ("user", "Q2")]


@pytest.mark.parametrize(("given_input", "prompt"), [("Hi", "Translate\n\nHi"), ("", "Translate"), (None, "Translate")])
def test_an_instruction_and_its_input_become_the_prompt_and_stay(
    tmp_path: Path, given_input: str | None, prompt: str
) -> None:
    record = {"instruction": "Translate", "input": given_input, "output": "Salut"}
    [row] = converted(tmp_path, "a.jsonl", json.dumps(record))
    assert row == {**record, "prompt": prompt}


def test_columns_named_like_request_options_become_numbers_and_empty_ones_no_option(tmp_path: Path) -> None:
    rows = converted(tmp_path, "a.csv", "prompt,temperature,seed\nx,0.5,7\ny,,\n")
    assert rows == [{"prompt": "x", "temperature": 0.5, "seed": 7}, {"prompt": "y"}]


def test_batch_lines_pass_as_they_are(tmp_path: Path) -> None:
    lines = [
        {"custom_id": "a", "method": "POST", "url": "/v1/embeddings", "body": {"input": "x"}},
        {"custom_id": "a", "method": "POST", "url": "/v1/embeddings"},
        {"custom_id": "a", "params": {"messages": []}},
        {"recordId": "r", "modelInput": {"prompt": "x"}},
        {"modelInput": {"prompt": "x"}},
        {"input": {"prompt": "x"}},
    ]
    assert converted(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines))) == lines


def test_every_layout_gives_rows_that_the_worker_takes(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"text": "x"},
        {"conversations": [{"from": "human", "value": "x"}]},
        {"instruction": "x", "input": "y", "output": "z"},
        {"instruction": "x", "input": {"prompt": "y"}, "output": "z"},
        {"custom_id": "x", "body": {}, "text": "y"},
        {"question": "x", "answer": "y"},
    ]
    converted(tmp_path, "a.json", json.dumps(records))
    assert inspection.check({"InputFile": str(tmp_path / "rows.jsonl"), "Prompts": "all"}).census.sound == len(records)


def test_messages_beside_a_prompt_are_kept_and_not_asked(tmp_path: Path) -> None:
    assert converted(tmp_path, "a.jsonl", '{"prompt": "p", "messages": [1], "messages_beside": 2}') == [
        {"messages_beside_": [1], "messages_beside": 2, "prompt": "p"},
    ]
    record = {"prompt": "p", "messages": [{"role": "user", "content": "m"}]}
    assert converted(tmp_path, "a.jsonl", json.dumps(record)) == [
        {"messages_beside": record["messages"], "prompt": "p"},
    ]


def test_columns_stay_in_their_order_and_a_prompt_of_which_another_is_made_is_kept(tmp_path: Path) -> None:
    [row] = converted(tmp_path, "a.csv", "stars,text,id\n5,Good.,7\n")
    assert list(row) == ["stars", "text", "id"]
    [row] = converted(tmp_path, "a.csv", "prompt,id\nGood.,7\n", "--template", "Judge: {{prompt}}")
    assert list(row.items()) == [("prompt_beside", "Good."), ("id", "7"), ("prompt", "Judge: Good.")]


def test_a_cell_becomes_what_its_option_takes(tmp_path: Path) -> None:
    cells = 'text,stop,seed\na,12,7\nb,"[""x"", ""y""]",\n'
    assert converted(tmp_path, "a.csv", cells) == [
        {"stop": "12", "seed": 7, "text": "a"},
        {"stop": ["x", "y"], "text": "b"},
    ]


@pytest.mark.parametrize("cell", ["[" * 5_000, '{"1": NaN}', '{"1": 1e400}', "9" * 5_000], ids=lambda cell: cell[:9])
def test_a_cell_that_is_no_json_value_stays_a_text(tmp_path: Path, cell: str) -> None:
    quoted = cell.replace('"', '""')
    assert converted(tmp_path, "a.csv", f'text,logit_bias\na,"{quoted}"\n') == [{"logit_bias": cell, "text": "a"}]
