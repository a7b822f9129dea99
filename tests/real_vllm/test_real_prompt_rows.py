"""What prompt rows can ask of a real vLLM with a real chat model, and what they receive."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from engine.routes import CHAT, RESPONSES
from support.real_jobs import SMALL, TOOL, TOOLS, RealServer, openai_line, short_folder

pytestmark = pytest.mark.vllm
MODEL = os.environ["VLLM_BATCH_MODEL"]
LENGTH = 1536  # tokens of the context
CAPITAL = [{"role": "user", "content": "What is the capital of France?"}]
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"enum": ["yes", "no"]}, "sure": {"type": "boolean"}},
    "required": ["answer", "sure"],
    "additionalProperties": False,
}
ASKS: list[tuple[str, dict[str, Any]]] = [
    ("the tutorial's row", {"prompt": "What is photosynthesis?", "id": "001", "max_tokens": 8}),
    ("its options", {"prompt": "Explain gravity to a 5 year old.", "id": "003", "max_tokens": 8, "temperature": 0.9}),
    ("a text", {"text": "Say hi.", "max_completion_tokens": 3}),
    ("guided_choice", {"prompt": "Red or blue?", "guided_choice": ["red", "blue"]}),
    ("guided_regex", {"prompt": "A number:", "sampling_params": {"guided_regex": "[0-9]{3}"}}),
    ("structured_outputs", {"prompt": "Yes or no?", "structured_outputs": {"choice": ["yes", "no"]}}),
    ("two choices", {"prompt": "Tell a joke.", "n": 2, "temperature": 1.0, "seed": 3, "max_tokens": 3}),
    ("beam search", {"messages": CAPITAL, "use_beam_search": True, "n": 3, "max_tokens": 6}),
    ("log-probabilities", {"prompt": "Hi", "logprobs": 2, "max_tokens": 2}),
    ("a required tool", {"prompt": "Use f.", "tools": [TOOL], "tool_choice": "required", "max_tokens": 120}),
    ("an image for a text model", {"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]}),
    ("an unknown adapter", {"prompt": "Hi", "model": "no-adapter"}),
    ("a limit beyond the context", {"prompt": "Hi", "max_tokens": 10 * LENGTH}),
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with short_folder() as folder, RealServer(MODEL, folder, LENGTH, f"{SMALL} {TOOLS}") as started:
        yield started


def test_prompt_rows_ask_for_all_that_vllm_can_do(server: RealServer) -> None:
    # MaxTokens is far beyond the context: a row without a limit of its own must not fail for it
    rows = [row | {"case": name} for name, row in ASKS]
    result = server.job(
        "asks",
        [*rows, {"prompt": "Say yes.", "case": "no limit", "stop": ["e"]}],
        MaxTokens=100_000,
        ModelInRows="error",
    )
    made = {row["case"]: row for row in result.rows}
    failures = {name: row["error"]["status"] for name, row in made.items() if "error" in row}
    assert failures == {"an image for a text model": 400, "an unknown adapter": None, "a limit beyond the context": 400}
    assert made["guided_choice"]["generated_text"] in {"red", "blue"}
    assert made["guided_regex"]["generated_text"].isdigit()
    assert made["structured_outputs"]["generated_text"] in {"yes", "no"}
    two = made["two choices"]
    assert (two["choices"][0]["message"]["content"], len(two["choices"])) == (two["generated_text"], 2)
    assert len(made["beam search"]["choices"]) == 3
    assert len(made["log-probabilities"]["logprobs"]["content"]) == 2
    assert made["a required tool"]["tool_calls"][0]["function"]["name"] == "f"
    assert made["the tutorial's row"].keys() - ASKS[0][1].keys() == {
        *("generated_text", "finish_reason", "prompt_tokens", "completion_tokens", "case"),
    }
    greedy = server.call(CHAT, {"model": MODEL, "messages": CAPITAL, "use_beam_search": True, "n": 3, "temperature": 0,
                                "max_tokens": 6})  # fmt: skip
    assert made["beam search"]["generated_text"] == greedy["choices"][0]["message"]["content"]


@pytest.mark.parametrize("endpoint", ["completions", "responses", "messages"])
def test_every_generating_endpoint_gives_a_row_the_same_fields(endpoint: str, server: RealServer) -> None:
    row = {"prompt": "The capital of France is", "max_tokens": 4, "temperature": 0}
    (made,) = server.job(f"on-{endpoint}", [row], Endpoint=endpoint).rows
    assert made["generated_text"]
    assert (made["finish_reason"], made["completion_tokens"]) == ("length", 4)


def test_every_answer_satisfies_the_jobs_schema(server: RealServer) -> None:
    schema = server.folder / "schema.json"
    schema.write_text(json.dumps(SCHEMA), encoding="utf-8")
    asks = ["Is the sky blue?", "Is water dry?", "Do fish swim?"]
    lines: list[Any] = [{"prompt": ask} for ask in asks]
    lines += [openai_line("o", CHAT, {"messages": CAPITAL}), {"input": {"prompt": "Is ice cold?"}}]
    lines += [
        openai_line("r", RESPONSES, {"input": "Is fire hot?"}),
        {"custom_id": "a", "params": {"messages": CAPITAL}},
    ]
    result = server.job("schema", lines, ResponseSchemaFile=schema, MaxTokens=200, Temperature=0)
    assert result.summary["succeeded"] == len(lines), result.rows
    rows = result.rows
    answers = [row["generated_text"] for row in rows[:3]]
    answers += [
        rows[3]["response"]["body"]["choices"][0]["message"]["content"],
        rows[4]["output"]["choices"][0]["text"],
    ]
    answers += [rows[5]["response"]["body"]["output"][-1]["content"][0]["text"]]
    answers += [rows[6]["result"]["message"]["content"][-1]["text"]]
    for answer in answers:
        jsonschema.validate(json.loads(answer), SCHEMA)


def test_a_second_job_judges_the_answers_of_a_first(server: RealServer) -> None:
    asks = [{"prompt": "What is 2 + 2?", "id": "001"}, {"prompt": "Name a color.", "id": "002", "topic": "colors"}]
    first = server.job("answers", asks, MaxTokens=8)
    template = Path(__file__).resolve().parents[2] / "examples" / "judge.jinja"
    verdicts = json.dumps({"structured_outputs": {"choice": ["good", "bad"]}})
    judged = {"PromptTemplateFile": template, "OutputField": "verdict", "SamplingParams": verdicts}
    second = server.job_over("judged", 2, InputFile=first.folder / "output.jsonl", **judged)
    for before, after in zip(first.rows, second.rows, strict=True):
        assert after["verdict"] in {"good", "bad"}
        kept = ("prompt", "id", "topic", "generated_text")
        assert {name: after.get(name) for name in kept} == {name: before.get(name) for name in kept}
        assert after["previous"]["completion_tokens"] == before["completion_tokens"]
