"""What is changed in a row's request before it is sent, and what is left as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dialects.tidy import tidy_request
from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from rows.errors import RowError
from support.dialect_rows import asked

USER = [{"role": "user", "content": "x"}]
TIDE = {"name": "get_tide", "description": "High tide.", "parameters": {"type": "object", "properties": {}}}
WRAPPED = {"type": "function", "function": TIDE}


def sent(**body: Any) -> dict[str, Any]:
    return asked({"custom_id": "a", "url": CHAT, "body": {"messages": USER, **body}}).body


def test_extra_body_is_put_in_its_place_as_the_client_does() -> None:
    body = sent(extra_body={"top_k": 1, "chat_template_kwargs": {"enable_thinking": False}}, top_k=9)
    assert (body["top_k"], body["chat_template_kwargs"]) == (1, {"enable_thinking": False})
    assert "extra_body" not in body


@pytest.mark.parametrize("where", ["column", "sampling_params"])
def test_extra_body_of_a_prompt_row_is_applied(where: str) -> None:
    extra = {"extra_body": {"structured_outputs": {"choice": ["yes", "no"]}, "min_tokens": 2.0}}
    body = asked({"prompt": "x", **(extra if where == "column" else {"sampling_params": extra})}).body
    assert (body["structured_outputs"], body["min_tokens"]) == ({"choice": ["yes", "no"]}, 2)


def test_arguments_of_a_client_and_leftovers_of_streams_are_not_sent() -> None:
    left = {"extra_headers": {"X": "1"}, "extra_query": {"a": "b"}, "timeout": 30, "stream": False}
    assert sent(**left, stream_options={"include_usage": True}, background=False) == sent()


def test_nulls_inside_messages_are_not_sent() -> None:
    padded = {"role": "user", "content": "x", "name": None, "tool_calls": None}
    part = {"type": "text", "text": "x", "image_url": None}
    calls = [{"id": "1", "type": "function", "index": None, "function": {"name": "f", "arguments": {"a": None}}}]
    messages = [
        padded,
        {"role": "user", "content": [part]},
        {"role": "assistant", "content": None, "tool_calls": calls},
    ]
    kept = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": None}}}]
    assert sent(messages=messages)["messages"] == [
        {"role": "user", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "content": None, "tool_calls": kept},
    ]


@pytest.mark.parametrize(
    "tools",
    [
        [WRAPPED],
        json.dumps([WRAPPED]),
        [{"type": "function", "function": {**TIDE, "strict": None}}],
        [TIDE],
        [{"type": "function", **TIDE}],
        [{"name": "get_tide", "description": "High tide.", "input_schema": TIDE["parameters"]}],
    ],
    ids=["as they are", "as text", "padded with nulls", "flat", "as a response has them", "as Anthropic has them"],
)
def test_tools_reach_a_chat_in_the_shape_that_chats_read(tools: Any) -> None:
    assert sent(tools=tools)["tools"] == [WRAPPED]
    assert asked({"prompt": "x", "tools": tools}).body["tools"] == [WRAPPED]


def test_tools_reach_a_response_flat_and_a_message_with_its_schema() -> None:
    assert tidy_request({"tools": [WRAPPED]}, RESPONSES)["tools"] == [{"type": "function", **TIDE}]
    theirs = {"name": "get_tide", "description": "High tide.", "input_schema": TIDE["parameters"]}
    assert tidy_request({"tools": [WRAPPED]}, MESSAGES)["tools"] == [theirs]
    assert tidy_request({"tools": [theirs]}, MESSAGES)["tools"] == [theirs]
    search = {"type": "web_search"}
    assert tidy_request({"tools": [search]}, RESPONSES)["tools"] == [search]


@pytest.mark.parametrize("tools", [[], "[]", "", None])
def test_no_tools_are_not_sent_nor_the_choice_among_them(tools: Any) -> None:
    assert not tidy_request({"tools": tools or [], "tool_choice": "auto"}, CHAT)
    assert "tools" not in sent(tools=tools)


def test_padding_that_another_tool_brought_is_no_parameter() -> None:
    schema = {"type": "object", "properties": {"port": {"type": "string", "enum": None}, "from": None}}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": None}}
    (found,) = sent(tools=[tool])["tools"]
    assert found["function"] == {
        "name": "f",
        "parameters": {"type": "object", "properties": {"port": {"type": "string"}}},
    }


def test_a_plain_list_of_parameters_becomes_a_schema() -> None:
    tool = {
        "name": "f",
        "parameters": {"port": {"type": "str", "description": "A port."}, "day": {"type": "str, optional"}},
    }
    (found,) = sent(tools=[tool])["tools"]
    properties = {"port": {"type": "string", "description": "A port."}, "day": {"type": "string"}}
    assert found["function"]["parameters"] == {"type": "object", "properties": properties}


@pytest.mark.parametrize("tools", ["hammer", 5, ["saw"], {"name": "f"}, '{"name": "f"}', [[1]]])
def test_tools_that_are_none_are_refused_by_name(tools: Any) -> None:
    with pytest.raises(RowError, match='"tools" must be a list of objects'):
        tidy_request({"tools": tools}, CHAT)


def test_a_body_that_needs_nothing_goes_out_as_it_is() -> None:
    body = {"prompt": ["a", "b"], "max_tokens": 24.0, "seed": 7.0, "tools": "x", "logit_bias": {"5": None}}
    assert tidy_request(body, COMPLETIONS) == body


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        (24.0, "max_tokens", 24),
        ("24", "max_tokens", 24),
        (0, "max_tokens", 0),
        (7.0, "seed", 7),
        ([13.0], "stop_token_ids", [13]),
        (1, "ignore_eos", True),
        (0.0, "skip_special_tokens", False),
        ("0.5", "top_p", 0.5),
        ('{"type": "json_object"}', "response_format", {"type": "json_object"}),
        ("[1]", "stop", "[1]"),
    ],
)
def test_a_table_s_value_is_sent_as_what_it_means(given: Any, name: str, value: Any) -> None:
    assert asked({"prompt": "x", name: given}).body[name] == value


def test_columns_that_chats_do_not_read_are_data() -> None:
    plain = asked({"prompt": "x"}).body
    named = ("request_id", "priority", "user", "documents", "session_id", "echo", "suffix", "dimensions", "store")
    assert asked({"prompt": "x", **dict.fromkeys(named, "yes")}).body == plain
