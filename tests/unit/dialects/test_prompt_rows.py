"""What a prompt row asks of the server."""

from __future__ import annotations

from typing import Any

import pytest

from engine.facts import Served
from job.defaults import Defaults
from support.dialect_rows import (
    BASE_MODEL,
    CHAT,
    COMPLETIONS,
    ENCODER,
    MESSAGES,
    RESPONSES,
    USER,
    asked,
    refused,
)


def test_a_prompt_is_a_conversation_of_one_message_with_the_jobs_defaults() -> None:
    ask = asked({"prompt": "Hi", "id": "001", "topic": "x"})
    assert (ask.route, ask.body) == (
        CHAT,
        {"messages": USER, "model": "m", "max_tokens": 512, "temperature": 0.7},
    )


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_rows_own_limit_and_temperature_beat_the_jobs(name: str) -> None:
    body = asked({"text": "Hi", name: 9, "temperature": 0}).body
    assert (body["max_tokens"], body["temperature"]) == (9, 0)


def test_sampling_params_beat_the_same_option_at_the_top() -> None:
    body = asked({"messages": USER, "top_p": 0.5, "sampling_params": {"top_p": 0.9, "seed": 7, "new_option": [1]}}).body
    assert (body["top_p"], body["seed"], body["new_option"]) == (0.9, 7, [1])


def test_a_base_model_completes_a_prompt_as_text() -> None:
    ask = asked({"prompt": "Once"}, served=BASE_MODEL)
    assert (ask.route, ask.body["prompt"], ask.body["max_tokens"]) == (COMPLETIONS, "Once", 512)


def test_a_conversation_for_a_base_model_is_one_clear_error() -> None:
    code, message = refused({"messages": USER}, served=BASE_MODEL)
    assert code == "no_chat_template"
    assert "--chat-template" in message


def test_an_adapter_is_asked_by_its_name() -> None:
    assert asked({"prompt": "Hi", "model": "adapter"}).body["model"] == "adapter"


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("chat", {"messages": [{"role": "system", "content": "Be brief."}, *USER]}),
        ("completions", {"prompt": "Be brief.\n\nHi"}),
        ("responses", {"instructions": "Be brief.", "input": USER}),
        ("messages", {"system": "Be brief.", "messages": USER}),
    ],
)
@pytest.mark.parametrize("where", ["the row", "its options", "the job"])
def test_a_system_prompt_reaches_every_endpoint(route: str, body: dict[str, Any], where: str) -> None:
    endpoint = {"chat": CHAT, "completions": COMPLETIONS, "responses": RESPONSES, "messages": MESSAGES}[route]
    job = Defaults(endpoint=endpoint, system_prompt="Be brief." if where == "the job" else "")
    own = {"the row": {"system": "Be brief."}, "its options": {"sampling_params": {"system": "Be brief."}}}
    row = {"prompt": "Hi", **own.get(where, {})}
    assert asked(row, job).body == {"model": "m", **body}


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_system_message_of_the_row_beats_the_jobs(role: str) -> None:
    own = [{"role": role, "content": "Mine."}, *USER]
    assert asked({"messages": own, "system": "x"}, Defaults(system_prompt="Theirs.")).body["messages"] == own


def test_images_and_tools_go_to_the_server_as_they_are() -> None:
    parts = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    row = {"messages": [{"role": "user", "content": parts}], "tools": tools, "tool_choice": "required"}
    body = asked(row).body
    assert (body["messages"][0]["content"], body["tools"], body["tool_choice"]) == (parts, tools, "required")


def test_beam_search_is_asked_for_the_likeliest_beams() -> None:
    body = asked({"prompt": "Hi", "use_beam_search": True, "n": 3}).body
    assert (body["use_beam_search"], body["n"], body["temperature"]) == (True, 3, 0)


@pytest.mark.parametrize(
    ("row", "route", "body"),
    [
        ({"text": "Hi", "temperature": 0.1}, "/v1/embeddings", {"input": "Hi"}),
        (
            {"text": "Hi", "sampling_params": {"use_activation": False}},
            "/v1/embeddings",
            {"input": "Hi", "use_activation": False},
        ),
        ({"messages": USER, "dimensions": 8}, "/v1/embeddings", {"messages": USER, "dimensions": 8}),
        ({"query": "q", "documents": ["d"], "id": 1}, "/v1/rerank", {"query": "q", "documents": ["d"]}),
        ({"text_1": "a", "text_2": ["b"]}, "/v1/score", {"text_1": "a", "text_2": ["b"]}),
        ({"queries": "a", "documents": ["b"]}, "/v1/score", {"queries": "a", "documents": ["b"]}),
    ],
)
def test_an_encoder_is_asked_what_suits_the_row(row: dict[str, Any], route: str, body: dict[str, Any]) -> None:
    ask = asked(row, served=ENCODER)
    assert (ask.route, ask.body) == (route, {"model": "e", **body})


def test_an_endpoint_that_the_server_lacks_is_the_rows_error() -> None:
    assert refused({"prompt": "Hi"}, Defaults(endpoint="/classify"), ENCODER)[0] == "invalid_url"


@pytest.mark.parametrize("name", ["messages", "prompt", "input"])
def test_what_is_asked_is_no_option(name: str) -> None:
    told = ("invalid_value", f'"{name}" is no option: it says what is asked, and stands outside them')
    assert refused({"prompt": "Hi", "sampling_params": {name: "x"}}) == told
    assert refused({"input": {"prompt": "Hi", "sampling_params": {name: "x"}}}) == told
    assert refused({"recordId": "1", "modelInput": {"prompt": "Hi", "inferenceConfig": {name: "x"}}}) == told


@pytest.mark.parametrize(
    ("row", "route"),
    [
        ({"query": "q", "documents": ["a"]}, "/v1/rerank"),
        ({"queries": "q", "documents": ["a"]}, "/v1/score"),
        ({"text_1": "a", "text_2": "b", "prompt": "x"}, CHAT),
    ],
)
def test_a_server_that_does_not_tell_is_asked_what_the_row_alone_can_be(row: dict[str, Any], route: str) -> None:
    assert asked(row, served=Served(model="m")).route == route


def test_columns_that_the_job_takes_for_data_are_no_options() -> None:
    job = Defaults(options={"max_tokens": 5}, options_in_rows="sampling_params")
    columns = {
        "temperature": 38.5,
        "n": 50,
        "model": "Toyota Corolla",
        "system": "Linux",
        "stop": "Main St",
        "echo": "no",
    }
    plain = asked({"prompt": "x", "sampling_params": {"seed": 7}}, job).body
    assert asked({"prompt": "x", **columns, "sampling_params": {"seed": 7}}, job).body == plain
    assert plain["seed"] == 7
