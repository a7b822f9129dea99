"""What the check foresees: options that each are fine and that vLLM would refuse together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checking import inspection

CHAT = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions"}
USER = [{"role": "user", "content": "x"}]


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
        ({"prompt": "x", "max_tokens": 0, "echo": True, "logprobs": 1}, {"Endpoint": "completions"}),
        ({"prompt": "x", "temperature": 3}, {"ServerUrl": "http://127.0.0.1:1"}),
        ({**CHAT, "body": {"messages": USER, "seed": 7.0, "max_tokens": 24.0, "n": None}}, {}),
        ({"custom_id": "e", "method": "POST", "url": "/v1/embeddings", "body": {"input": "x", "n": 0}}, {}),
    ],
)
def test_what_vllm_takes_is_not_told(row: dict[str, Any], job: dict[str, str], tmp_path: Path) -> None:
    assert problems(tmp_path, row, **job) == {}
