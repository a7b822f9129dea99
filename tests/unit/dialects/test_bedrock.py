"""Bedrock records are asked and answered in the shape of their family of models."""

from __future__ import annotations

from typing import Any

import pytest

from dialects.exchange import Failure
from engine.facts import Served
from support.dialect_rows import (
    CHAT,
    COMPLETIONS,
    ENCODER,
    MESSAGES,
    SERVED,
    answered,
    asked,
    chat_body,
    failed,
    refused,
)

NOVA = {
    "schemaVersion": "messages-v1",
    "system": [{"text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"text": "Hi"}, {"image": {"format": "png", "source": {"bytes": "AA"}}}]}
    ],
    "inferenceConfig": {"maxTokens": 9, "topP": 0.5, "stopSequences": ["END"]},
}
VERSION = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9}
OLDER = Served(model="m", routes=frozenset({CHAT, COMPLETIONS}))  # a server without Anthropic's endpoint
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "sky", "arguments": '{"city": "Bonn"}'}}


def record(**given: Any) -> dict[str, Any]:
    return {"recordId": "R1", "modelInput": given}


def completed(*texts: str, reason: str = "stop") -> dict[str, Any]:
    choices = [{"index": n, "text": text, "finish_reason": reason} for n, text in enumerate(texts)]
    return {"id": "c", "choices": choices, "usage": {"prompt_tokens": 7, "completion_tokens": 42}}


def output(row: dict[str, Any], body: Any, served: Served = SERVED) -> Any:
    made = answered(row, body, served=served)
    assert {name: made[name] for name in row} == row
    return made["modelOutput"]


def test_a_converse_conversation_is_asked_as_the_server_reads_it() -> None:
    body = asked(record(**NOVA)).body
    parts = [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    assert (body["max_tokens"], body["top_p"], body["stop"]) == (9, 0.5, ["END"])
    assert not body.keys() & {"schemaVersion", "inferenceConfig"}


def test_converse_s_tools_reach_the_server_and_its_calls_come_back() -> None:
    spec = {"name": "sky", "description": "Says it.", "inputSchema": {"json": WEATHER}}
    used = {"toolUseId": "c0", "name": "sky", "input": {"city": "Ulm"}}
    given = {"toolUseId": "c0", "content": [{"json": {"sky": "grey"}}, {"text": "now"}], "status": "success"}
    row = record(
        messages=[
            {"role": "user", "content": [{"text": "Sky?"}]},
            {"role": "assistant", "content": [{"toolUse": used}]},
            {"role": "user", "content": [{"toolResult": given}]},
        ],
        toolConfig={"tools": [{"toolSpec": spec}, {"cachePoint": {"type": "default"}}], "toolChoice": {"any": {}}},
    )
    body = asked(row).body
    function = {"name": "sky", "description": "Says it.", "parameters": WEATHER}
    assert (body["tools"], body["tool_choice"]) == ([{"type": "function", "function": function}], "required")
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool"]
    assert body["messages"][1]["tool_calls"][0]["function"] == {"name": "sky", "arguments": '{"city": "Ulm"}'}
    assert body["messages"][2] == {"role": "tool", "tool_call_id": "c0", "content": '{"sky": "grey"}\nnow'}
    said = output(row, chat_body("", reason="tool_calls", tool_calls=[CALL]))
    assert said["output"]["message"]["content"] == [
        {"toolUse": {"toolUseId": "c1", "name": "sky", "input": {"city": "Bonn"}}}
    ]
    assert said["stopReason"] == "tool_use"


def test_anthropic_s_records_are_asked_as_they_are_where_the_server_reads_them() -> None:
    tool = {"name": "sky", "input_schema": WEATHER}
    row = record(**VERSION, system="Be brief.", messages=[{"role": "user", "content": "Hi"}], tools=[tool])
    ask = asked(row)
    assert (ask.route, ask.body["system"], ask.body["tools"], ask.body["max_tokens"]) == (
        MESSAGES,
        "Be brief.",
        [tool],
        9,
    )
    assert "anthropic_version" not in ask.body
    said = {"type": "message", "content": [{"type": "text", "text": "Ho"}], "stop_reason": "end_turn"}
    assert output(row, said) == said


def test_anthropic_s_records_are_chats_where_the_server_has_nothing_else() -> None:
    source = {"type": "base64", "media_type": "image/jpeg", "data": "AA"}
    parts = [
        {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": source},
    ]
    row = record(**VERSION, messages=[{"role": "user", "content": parts}], tool_choice={"type": "any"})
    ask = asked(row, served=OLDER)
    image = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AA"}}
    assert (ask.route, ask.body["messages"][0]["content"]) == (CHAT, [{"type": "text", "text": "Hi"}, image])
    assert ask.body["tool_choice"] == "required"
    said = output(row, chat_body("Ho", reason="length"), served=OLDER)
    assert (said["content"], said["stop_reason"]) == ([{"type": "text", "text": "Ho"}], "max_tokens")
    assert said["usage"] == {"input_tokens": 7, "output_tokens": 42}


@pytest.mark.parametrize(
    ("given", "names", "shape"),
    [
        (
            {"inputText": "x", "textGenerationConfig": {"maxTokenCount": 9, "topP": 0.5}},
            {"max_tokens": 9, "top_p": 0.5},
            {"inputTextTokenCount": 7,
             "results": [{"tokenCount": 42, "outputText": "A", "completionReason": "LENGTH"}]},
        ),
        (
            {"prompt": "x", "max_gen_len": 9},
            {"max_tokens": 9},
            {"generation": "A", "prompt_token_count": 7, "generation_token_count": 42, "stop_reason": "length"},
        ),
        (
            {"prompt": "\n\nHuman: x\n\nAssistant:", "max_tokens_to_sample": 9, "stop_sequences": ["H"]},
            {"max_tokens": 9, "stop": ["H"]},
            {"type": "completion", "completion": "A", "stop_reason": "max_tokens", "stop": None},
        ),
        (
            {"prompt": "x", "p": 0.5, "k": 3, "max_tokens": 9, "return_likelihoods": "NONE"},
            {"top_p": 0.5, "top_k": 3, "max_tokens": 9},
            {"id": "c", "prompt": "x", "generations": [{"id": "c-0", "text": "A", "finish_reason": "MAX_TOKENS"}]},
        ),
        (
            {"prompt": "x", "maxTokens": 9, "topP": 0.5},
            {"max_tokens": 9, "top_p": 0.5},
            {"id": "c", "prompt": {"text": "x"},
             "completions": [{"data": {"text": "A"}, "finishReason": {"reason": "length"}}]},
        ),
    ],
    ids=["Titan", "Llama", "Claude's completions", "Cohere", "Jurassic"],
)  # fmt: skip
def test_a_prompt_is_completed_and_comes_back_in_its_family_s_shape(
    given: dict[str, Any], names: dict[str, Any], shape: dict[str, Any]
) -> None:
    ask = asked(record(**given))
    assert (ask.route, {name: ask.body[name] for name in names}) == (COMPLETIONS, names)
    assert output(record(**given), completed("A", reason="length")) == shape


def test_several_answers_are_several_results() -> None:
    said = output(record(prompt="x", num_generations=2), completed("A", "B"))
    assert [each["text"] for each in said["generations"]] == ["A", "B"]
    assert asked(record(prompt="x", num_generations=2)).body["n"] == 2


def test_a_prompt_of_no_other_family_has_mistral_s_outputs_beside_what_the_server_wrote() -> None:
    row = record(prompt="<s>[INST] x [/INST]", max_tokens=9, top_k=3)
    body = completed("A")
    assert output(row, body) == {**body, "outputs": [{"text": "A", "stop_reason": "stop"}]}


def test_a_cohere_chat_is_its_preamble_its_history_and_its_message() -> None:
    turns = [{"role": "USER", "message": "Hi"}, {"role": "CHATBOT", "message": "Ho"}]
    row = record(message="And?", chat_history=turns, preamble="Be brief.", p=0.5)
    ask = asked(row)
    assert [(each["role"], each["content"]) for each in ask.body["messages"]] == [
        ("system", "Be brief."), ("user", "Hi"), ("assistant", "Ho"), ("user", "And?"),
    ]  # fmt: skip
    said = output(row, chat_body("So."))
    assert (said["text"], said["finish_reason"], len(said["chat_history"])) == ("So.", "COMPLETE", 4)


def test_an_openai_conversation_of_bedrock_comes_back_as_the_server_wrote_it() -> None:
    row = record(messages=[{"role": "user", "content": "Hi"}], max_tokens=5)
    assert output(row, chat_body("Ho")) == chat_body("Ho")


def test_embeddings_are_titan_s_and_cohere_s() -> None:
    body = {"id": "e", "data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": 3}}
    plain = record(inputText="x")
    assert asked(plain, served=ENCODER).route == asked(record(inputText="x", normalize=True)).route == "/v1/embeddings"
    assert output(plain, body, served=ENCODER) == {"embedding": [0.5], "inputTextTokenCount": 3}
    many = record(texts=["x"], input_type="search_document")
    assert asked(many, served=ENCODER).body == {"model": "e", "input": ["x"]}
    assert output(many, body, served=ENCODER)["embeddings"] == [[0.5]]


@pytest.mark.parametrize("name", ["inputText", "prompt", "message", "texts"])
def test_what_is_asked_must_be_what_the_family_asks(name: str) -> None:
    code, message = refused(record(**{name: 5}))
    assert code == "invalid_value"
    assert "must be a" in message


def test_further_fields_of_a_model_are_options() -> None:
    row = record(**NOVA | {"additionalModelRequestFields": {"inferenceConfig": {"topK": 20}, "seed": 3}})
    assert (asked(row).body["top_k"], asked(row).body["seed"]) == (20, 3)


def test_an_answer_that_is_none_is_the_record_s_error_and_a_failure_has_its_code() -> None:
    row = record(prompt="x")
    assert failed(row, Failure("c", "m", 503))["error"] == {"errorCode": 503, "errorMessage": "m"}
    assert failed(row, Failure("invalid_value", "m"))["error"]["errorCode"] == 400
