"""What the check foresees: options that each are fine and that vLLM would refuse together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checking import inspection
from checking.foresight import KNOWN, Foresight

CHAT = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions"}
COMPLETION = {"custom_id": "a", "method": "POST", "url": "/v1/completions"}
RESPONSE = {"custom_id": "a", "method": "POST", "url": "/v1/responses"}
USER = [{"role": "user", "content": "x"}]
ANTHROPIC = {"model": "m", "max_tokens": 5, "messages": USER}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
OTHER = {"type": "function", "function": {"name": "g"}}
PARSER = {"VllmArgs": "--enable-auto-tool-choice --tool-call-parser hermes"}
SCHEMA = {"schema": {"type": "object"}}
DANGLING = {"properties": {"a": {"$ref": "#/$defs/nothing"}}}


def problems(folder: Path, row: dict[str, Any], **job: str) -> dict[str, str]:
    path = folder / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    census = inspection.check({"InputFile": str(path), "Prompts": "all", **job}).census
    return {each.code: each.message for kept in census.examples.values() for each in kept}


@pytest.mark.parametrize(
    ("row", "job", "words"),
    [
        ({"prompt": "x", "n": 3}, {"Temperature": "0"}, '"n" 3 with temperature 0'),
        ({"prompt": "x", "n": 3, "temperature": 0}, {}, '"n" 3 with temperature 0'),
        ({"prompt": "x", "min_tokens": 600}, {}, "more than the limit of 512"),
        ({"prompt": "x", "min_tokens": 60, "max_tokens": 50}, {}, "more than the limit of 50"),
        ({"prompt": "x", "stop": ""}, {}, "empty text"),
        ({"prompt": "x", "stop": ["a", ""]}, {}, "empty text"),
        ({"prompt": "x", "stop": list("abcde")}, {}, "5 texts"),
        ({"prompt": "x", "temperature": 38.5}, {}, "no more than 2"),
        ({"prompt": "x", "max_tokens": 0}, {}, "leaves no answer"),
        ({"prompt": "x", "max_tokens": 0}, {"Endpoint": "completions"}, "leaves no answer"),
        ({**CHAT, "body": {"messages": USER, "top_p": 0}}, {}, '"top_p" must be'),
        ({**CHAT, "body": {"messages": USER, "temperature": "hot"}}, {}, '"temperature" must be'),
        ({**CHAT, "body": {"messages": USER, "top_logprobs": 3}}, {}, 'needs "logprobs"'),
        ({"input": {"prompt": "x", "sampling_params": {"bad_words": [""]}}}, {}, "empty text"),
        ({"prompt": "x", "tools": [TOOL]}, {}, "the server calls no tools unless VllmArgs has"),
        ({**CHAT, "body": {"messages": USER, "tools": [TOOL], "tool_choice": "auto"}}, {}, "calls no tools"),
        ({"prompt": "x", "tools": [TOOL], "tool_choice": "sometimes"}, PARSER, '"tool_choice" must be'),
        ({"prompt": "x", "tools": [TOOL], "tool_choice": OTHER}, PARSER, 'none of "tools"'),
        ({"prompt": "x", "tool_choice": "required"}, PARSER, '"tool_choice" needs "tools"'),
        ({"custom_id": "a", "params": {**ANTHROPIC, "tools": [{"name": "f"}]}}, PARSER, 'needs "input_schema"'),
        ({"prompt": "x", "response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}, {}, '"schema"'),
        ({"prompt": "x", "response_format": SCHEMA | {"type": "xml"}}, {}, '"type" of text'),
        ({"prompt": "x", "structured_outputs": {"json": DANGLING}}, {}, "is not in the schema"),
        ({"prompt": "x", "guided_json": DANGLING}, {}, "is not in the schema"),
        ({"prompt": "x", "guided_choice": []}, {}, "a list of texts"),
        ({"prompt": "x", "structured_outputs": {"choice": ["a"], "regex": "a"}}, {}, "must hold one of"),
        ({"prompt": "x", "logprobs": True, "top_logprobs": 30}, {}, "--max-logprobs"),
        ({"prompt": "x", "reasoning_effort": "huge"}, {}, '"reasoning_effort" must be none'),
        ({"prompt": "x", "stop_token_ids": [-1]}, {}, "no token of any model"),
        ({"prompt": "x", "logit_bias": {"word": 1}}, {}, "the number of a token"),
        ({"input": {"prompt": "", "sampling_params": {}}}, {}, '"prompt" is empty'),
        ({"recordId": "r", "modelInput": {"inputText": ""}}, {}, '"prompt" is empty'),
        ({**COMPLETION, "body": {"prompt": []}}, {}, "none of them empty"),
        ({**COMPLETION, "body": {}}, {}, '"prompt" is empty'),
        ({**CHAT, "body": {"messages": [{"role": "user", "content": None}]}}, {}, '"content" of message 1'),
        ({**CHAT, "body": {"messages": [{"role": "user", "content": [{"type": "blob"}]}]}}, {}, "does not know"),
        ({**CHAT, "body": {"messages": "Hello"}}, {}, "must be a list of messages"),
        ({**CHAT, "body": {"messages": []}}, {}, '"messages" is empty'),
        ({"custom_id": "a", "params": {**ANTHROPIC, "max_tokens": 0}}, {}, "1 or more"),
        ({"custom_id": "a", "params": {**ANTHROPIC, "stop_sequences": list("abcde")}}, {}, "at most 4 texts"),
        ({**RESPONSE, "body": {"input": [{"role": "user", "content": [{"type": "text"}]}]}}, {}, "input_text"),
    ],
)
def test_a_clash_is_told_before_submission(
    row: dict[str, Any], job: dict[str, str], words: str, tmp_path: Path
) -> None:
    assert words in problems(tmp_path, row, **job)["would_be_refused"]


@pytest.mark.parametrize(
    ("row", "job"),
    [
        ({"prompt": "x", "n": 3}, {}),
        ({"prompt": "x", "n": 3}, {"Temperature": "-1"}),
        ({"prompt": "x", "n": 3, "use_beam_search": True}, {}),
        ({"prompt": "x", "min_tokens": 512}, {}),
        ({"prompt": "x", "stop": []}, {}),
        ({"prompt": "x", "stop": "END"}, {}),
        ({"prompt": "x", "tools": [TOOL]}, PARSER),
        ({"prompt": "x", "tools": [TOOL], "tool_choice": "none"}, {}),
        ({"custom_id": "a", "params": {**ANTHROPIC, "tools": [{"name": "f", "input_schema": {}}]}}, PARSER),
        ({"prompt": "x", "logprobs": True, "top_logprobs": 30}, {"VllmArgs": "--max-logprobs 50"}),
        ({"prompt": "x", "structured_outputs": {"grammar": 'root ::= "a"'}}, {}),
        ({"prompt": "x", "response_format": {"type": "json_schema", "json_schema": {"name": "a", **SCHEMA}}}, {}),
        ({**COMPLETION, "body": {"prompt": [5, 6]}}, {}),
        ({**RESPONSE, "body": {"input": "x", "stop": ""}}, {}),
        ({**CHAT, "body": {"messages": [*USER, {"role": "assistant", "content": None, "tool_calls": []}]}}, {}),
        ({"prompt": "x", "max_tokens": 0, "echo": True, "logprobs": 1}, {"Endpoint": "completions"}),
        ({"prompt": "x", "temperature": 3}, {"ServerUrl": "http://127.0.0.1:1"}),
        ({**CHAT, "body": {"messages": USER, "seed": 7.0, "max_tokens": 24.0, "n": None}}, {}),
        ({"custom_id": "e", "method": "POST", "url": "/v1/embeddings", "body": {"input": "x", "n": 0}}, {}),
    ],
)
def test_what_vllm_takes_is_not_told(row: dict[str, Any], job: dict[str, str], tmp_path: Path) -> None:
    assert problems(tmp_path, row, **job) == {}


def test_options_are_looked_at_once_and_never_taken_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    judge = Foresight._judge
    monkeypatch.setattr(Foresight, "_judge", lambda own, *asked: looked.append(asked) or judge(own, *asked))
    alike = [{"prompt": f"row {number}", "logprobs": True, "top_logprobs": 3} for number in range(40)]
    path = tmp_path / "rows.jsonl"
    rows = [*alike, {"prompt": "x", "logprobs": 30}, {"prompt": "x", "logprobs": False, "top_logprobs": 3}, *alike]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    census = inspection.check({"InputFile": str(path), "Prompts": "all"}).census
    assert [each.line for each in census.examples["would_be_refused"]] == [41, 42]
    assert len(looked) == 3


def test_more_options_than_are_remembered_are_all_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"prompt": "x", "seed": number, "stop": "" if number == 150 else "END"} for number in range(3 * KNOWN)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    census = inspection.check({"InputFile": str(path), "Prompts": "all"}).census
    assert [each.line for each in census.examples["would_be_refused"]] == [151]
