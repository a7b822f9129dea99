"""What answers say of themselves: their texts and counts, as servers of every make write them."""

from __future__ import annotations

from typing import Any

import pytest

from dialects.answers import check_schema
from dialects.exchange import Answer, Ask
from dialects.reply import is_empty, is_refused, read_cached, read_content, read_count
from engine.routes import CHAT, MESSAGES, RESPONSES
from job.defaults import Defaults
from rows.errors import RowError
from support.answers import choice, results

TEXT = {"type": "text", "text": "yes"}


@pytest.mark.parametrize(
    ("content", "text", "thought"),
    [
        ("yes", "yes", ""),
        (None, "", ""),
        ([], "", ""),
        ([TEXT, {"type": "text", "text": " no"}], "yes no", ""),
        ([{"type": "thinking", "thinking": "hm"}, TEXT], "yes", "hm"),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]}, TEXT],
            "yes",
            "hm",
        ),
        ([TEXT, {"type": "thinking", "thinking": []}, TEXT], "yesyes", ""),
        ([{"type": "reasoning", "text": "hm"}], "", "hm"),
        (["yes", TEXT], "yesyes", ""),
        ({"type": "text", "text": "yes"}, "yes", ""),
        ({"colour": "grün"}, '{"colour": "grün"}', ""),
        (5, "5", ""),
        (0, "0", ""),
        (True, "true", ""),
        ([{"type": "image_url", "image_url": {"url": "x"}}, TEXT, 5, None], "yes", ""),
    ],
)
def test_content_is_a_text_and_a_thought_apart(content: Any, text: str, thought: str) -> None:
    assert read_content(content) == (text, thought)
    found = results(CHAT, {"choices": [choice(content)]})
    assert (found["generated_text"], found.get("reasoning", "")) == (text, thought)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (5, 5),
        (5.0, 5),
        (0, 0),
        ("5", None),
        (5.5, None),
        (None, None),
        (float("inf"), None),
        (-1, None),
        (True, None),
        (2**50, None),
    ],
)
def test_a_count_is_a_whole_number_or_null(value: Any, count: int | None) -> None:
    assert read_count(value) == count


@pytest.mark.parametrize("usage", [None, {}, [], "none", {"prompt_tokens": float("inf"), "completion_tokens": "2"}])
def test_an_answer_is_not_lost_to_its_counts(usage: Any) -> None:
    found = results(CHAT, {"choices": [choice()], "usage": usage})
    assert (found["generated_text"], found["prompt_tokens"], found["completion_tokens"]) == ("yes", None, None)


def test_a_refusal_s_words_are_kept_on_every_endpoint() -> None:
    parts = [{"type": "output_text", "text": "Well."}, {"type": "refusal", "refusal": "I will not."}]
    response = results(RESPONSES, {"output": [{"type": "message", "content": parts}]})
    assert (response["generated_text"], response["refusal"]) == ("Well.", "I will not.")
    assert results(CHAT, {"choices": [choice(None, refusal="I will not.")]})["refusal"] == "I will not."
    message = results(MESSAGES, {"content": [], "stop_reason": "refusal"})
    assert (message["generated_text"], message["finish_reason"]) == ("", "refusal")
    assert message["refusal"]


@pytest.mark.parametrize(
    ("route", "body"),
    [
        (CHAT, {"choices": [choice(None, refusal="I will not.")]}),
        (RESPONSES, {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]}]}),
    ],
)
def test_a_refusal_under_a_schema_is_told_in_the_model_s_words(route: str, body: dict[str, Any]) -> None:
    ask = Ask(route, {}, schema=True)
    with pytest.raises(RowError, match=r"the model refused: I will not\."):
        check_schema(ask, Answer(200, "", body, ""), Defaults(schema={"type": "object"}))


def test_parts_are_judged_by_their_text_under_a_schema() -> None:
    body = {"choices": [choice([{"type": "text", "text": '{"a": 1}'}])]}
    check_schema(Ask(CHAT, {}, schema=True), Answer(200, "", body, ""), Defaults(schema={"type": "object"}))


def test_a_stream_of_one_event_that_comes_as_a_whole_is_an_answer() -> None:
    assert (
        results(CHAT, {"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}]})["generated_text"] == "yes"
    )


def test_a_call_in_the_older_api_s_field_is_a_tool_call() -> None:
    call = {"name": "f", "arguments": "{}"}
    found = results(CHAT, {"choices": [choice(None, "function_call", function_call=call)]})
    assert found["tool_calls"] == [{"type": "function", "function": call}]


def response(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"object": "response", "output": [{"type": "message", "content": list(parts)}], **more}


REFUSAL = {"type": "refusal", "refusal": "I cannot."}


@pytest.mark.parametrize(
    ("body", "empty", "refused"),
    [
        ({"choices": [choice("yes")]}, False, False),
        ({"choices": [choice("")]}, True, False),
        ({"choices": [choice(None, reasoning="hm", end="length")]}, True, False),
        ({"choices": [choice([{"type": "thinking", "thinking": "hm"}])]}, True, False),
        ({"choices": [choice(" \n")]}, True, False),
        ({"choices": [choice(""), choice("yes")]}, False, False),
        ({"choices": [choice(None, tool_calls=[{"id": "1"}])]}, False, False),
        ({"choices": [choice(None, refusal="I cannot.")]}, False, True),
        ({"choices": [choice("", end="content_filter")]}, True, True),
        ({"choices": [choice("", end="RECITATION")]}, True, True),
        ({"choices": [choice("", end="guardrail_intervened")]}, True, True),
        ({"choices": [choice("", end="Content_filter")]}, True, True),
        (response(status="incomplete", incomplete_details={"reason": "content_filter"}), True, True),
        ({"choices": [choice({"a": 1})]}, False, False),
        ({"choices": [{"delta": {"content": "yes"}}]}, False, False),
        ({"choices": [{"text": "", "finish_reason": "stop"}]}, True, False),
        ({"choices": [{"text": "yes"}]}, False, False),
        (response({"type": "output_text", "text": "yes"}), False, False),
        (response({"type": "output_text", "text": ""}), True, False),
        (response(REFUSAL), True, True),
        ({"object": "response", "output": [{"type": "function_call", "name": "f"}]}, False, False),
        ({"type": "message", "content": [], "stop_reason": "refusal"}, True, True),
        ({"type": "message", "content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn"}, False, False),
        ({"type": "message", "content": [{"type": "tool_use", "name": "f"}]}, False, False),
        ({"data": [{"embedding": [1.0]}]}, False, False),
        ({"choices": None}, False, False),
        ({"choices": [5]}, False, False),
        ({"object": "response", "output": [{"type": "message", "content": "x"}]}, True, False),
        ("a text", False, False),
        ([], False, False),
    ],
)
def test_answers_that_hold_nothing_or_a_refusal_are_told(body: Any, *, empty: bool, refused: bool) -> None:
    assert (is_empty(body), is_refused(body)) == (empty, refused)


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 16}}, 16),
        ({"input_tokens_details": {"cached_tokens": 3}}, 3),
        ({"cache_read_input_tokens": 5}, 5),
        ({"prompt_tokens_details": None}, None),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, None),
        ({"prompt_tokens_details": {"cached_tokens": "16"}}, None),
        ([], None),
    ],
    ids=["OpenAI", "OpenAI's Responses", "Anthropic", "vLLM without a hit", "none", "a text", "no counts"],
)
def test_tokens_that_a_server_had_computed_before_are_told_in_each_api_s_own_way(
    usage: Any, cached: int | None
) -> None:
    assert read_cached({"usage": usage}) == cached
