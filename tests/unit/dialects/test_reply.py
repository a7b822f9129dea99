"""What answers say of themselves: their texts, counts and ends, as servers of every make write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asking.reading import read_answer
from asking.unanswered import Unanswered
from dialects.answers import check_schema, read_results
from dialects.exchange import Answer, Ask
from dialects.reply import CUT_OFF, is_empty, is_refused, read_cached, read_content, read_count, read_end
from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from job.defaults import Defaults
from rows.errors import RowError

TEXT = {"type": "text", "text": "yes"}
IN_PARTS = [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]
HUGE = float("inf")
WHOLE = [
    {"choices": [{"finish_reason": "stop"}]},
    {"choices": []},
    {"choices": None},
    {"stop_reason": "end_turn"},
    [],
    {},
]


def results(route: str, body: dict[str, Any]) -> dict[str, Any]:
    return read_results(Ask(route, {}), Answer(200, "", body, ""), Defaults())


def choice(content: Any = "yes", end: Any = "stop", **message: Any) -> dict[str, Any]:
    return {"message": {"content": content, **message}, "finish_reason": end}


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


@pytest.mark.parametrize(
    ("told", "end"),
    [
        ({}, None),
        ({"finish_reason": None}, None),
        ({"finish_reason": ""}, None),
        ({"finish_reason": "eos_token"}, "eos_token"),
    ],
)
def test_an_end_that_is_missing_is_null_and_a_server_s_own_word_is_kept(told: dict[str, Any], end: str | None) -> None:
    assert results(CHAT, {"choices": [{"message": {"content": "yes"}, **told}]})["finish_reason"] == end
    assert results(COMPLETIONS, {"choices": [{"text": "yes", **told}]})["finish_reason"] == end


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [choice(end="length")]},
        {"choices": [choice(), choice(end="length")]},
        {"choices": [choice(end="max_tokens")]},
        {"choices": [choice(end="MAX_TOKENS")]},
        {"choices": [choice(end="LENGTH")]},
        {"incomplete_details": {"reason": "max_output_tokens"}, "output": []},
        {"stop_reason": "max_tokens", "content": []},
        {"stop_reason": "model_context_window_exceeded", "content": []},
    ],
)
def test_an_answer_that_was_cut_is_counted_as_cut_in_each_api_s_own_way(body: dict[str, Any]) -> None:
    assert read_end(body) in CUT_OFF


@pytest.mark.parametrize("body", WHOLE)
def test_an_answer_that_is_whole_is_not_counted_as_cut(body: Any) -> None:
    assert read_end(body) not in CUT_OFF


def test_a_stop_text_of_a_choice_is_not_the_end_of_a_message() -> None:
    assert read_end({"choices": [choice()], "stop_reason": "max_tokens"}) == "stop"


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


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [choice("The river ru", "abort")]},
        {"choices": [choice(), choice("", "abort")]},
        {"choices": [{"text": "", "finish_reason": "abort"}]},
        {"choices": [choice("x", "cancelled")]},
        {"content": [], "stop_reason": "abort"},
    ],
)
def test_half_an_answer_of_an_engine_that_gave_up_is_asked_again(body: dict[str, Any]) -> None:
    with pytest.raises(Unanswered) as raised:
        read_answer(CHAT, 200, json.dumps(body).encode(), {})
    assert (raised.value.failure.code, raised.value.passing) == ("aborted", True)


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
