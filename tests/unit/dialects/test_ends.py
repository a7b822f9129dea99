"""How answers ended, in the words of servers of every make: whole, cut, given up; and ends that are no words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asking.reading import read_answer
from asking.unanswered import Unanswered
from dialects.answers import check_schema
from dialects.exchange import Answer, Ask
from dialects.reply import CUT_OFF, read_end
from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from job.defaults import Defaults
from rows.errors import RowError
from support.answers import choice, results

TEXT = {"type": "text", "text": "yes"}
WHOLE = [
    {"choices": [{"finish_reason": "stop"}]},
    {"choices": []},
    {"choices": None},
    {"stop_reason": "end_turn"},
    [],
    {},
]


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
        {"choices": [choice(end="Length")]},
        {"choices": [choice(end="ERROR_LIMIT")]},
        {"choices": [choice(end={"type": "length", "length": 16})]},
        {"choices": [choice(end=["stop"]), choice(end={"type": "length"})]},
        {"status": "incomplete", "incomplete_details": None, "output": []},
        {"status": "incomplete", "incomplete_details": "max_output_tokens", "output": []},
    ],
)
def test_an_answer_that_was_cut_is_counted_as_cut_in_each_api_s_own_way(body: dict[str, Any]) -> None:
    assert read_end(body) in CUT_OFF


@pytest.mark.parametrize("body", WHOLE)
def test_an_answer_that_is_whole_is_not_counted_as_cut(body: Any) -> None:
    assert read_end(body) not in CUT_OFF


@pytest.mark.parametrize(
    ("details", "status", "end"),
    [
        ({"reason": "max_output_tokens"}, "incomplete", "length"),
        (None, "incomplete", "length"),
        ("max_output_tokens", "incomplete", "length"),
        (["why"], "completed", "stop"),
        ({"reason": None}, "completed", "stop"),
        ({"reason": "content_filter"}, "incomplete", "content_filter"),
        (5, 7, "stop"),
    ],
)
def test_a_response_is_not_lost_to_its_margins(details: Any, status: Any, end: str) -> None:
    thought = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": None}]}
    message = {"type": "message", "content": [{"type": "output_text", "text": "yes"}]}
    body = {"output": [thought, message], "incomplete_details": details, "status": status}
    found = results(RESPONSES, body)
    assert (found["generated_text"], found["finish_reason"]) == ("yes", end)


def test_a_message_is_not_lost_to_its_margins() -> None:
    blocks = [{"type": "thinking", "thinking": None}, TEXT]
    found = results(MESSAGES, {"content": blocks, "stop_reason": ["end"], "stop_details": "x", "usage": 5})
    assert (found["generated_text"], found["finish_reason"]) == ("yes", None)


@pytest.mark.parametrize("end", [{"type": "length", "length": 5}, ["length"], 5])
def test_an_end_that_is_no_word_costs_no_answer_under_a_schema(end: Any) -> None:
    answer = Answer(200, "", {"choices": [choice("no JSON", end)]}, "")
    with pytest.raises(RowError, match="the answer is not JSON"):
        check_schema(Ask(CHAT, {}, schema=True), answer, Defaults(schema={"type": "object"}))


def test_a_stop_text_of_a_choice_is_not_the_end_of_a_message() -> None:
    assert read_end({"choices": [choice()], "stop_reason": "max_tokens"}) == "stop"


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [choice("The river ru", "abort")]},
        {"choices": [choice(), choice("", "abort")]},
        {"choices": [{"text": "", "finish_reason": "abort"}]},
        {"choices": [choice("x", "cancelled")]},
        {"content": [], "stop_reason": "abort"},
        {"choices": [choice("x", "ABORT")]},
        {"choices": [choice("x", {"type": "abort", "message": "Aborted"})]},
        {"choices": [choice("x", "insufficient_system_resource")]},
        {"object": "response", "status": "cancelled", "output": [], "error": None},
    ],
)
def test_half_an_answer_of_an_engine_that_gave_up_is_asked_again(body: dict[str, Any]) -> None:
    with pytest.raises(Unanswered) as raised:
        read_answer(CHAT, 200, json.dumps(body).encode(), {})
    assert (raised.value.failure.code, raised.value.passing) == ("aborted", True)
