"""The row that a prompt row becomes: its answer or its failure."""

from __future__ import annotations

from typing import Any

import pytest

from dialects.exchange import Failure
from job.defaults import Defaults
from job.prompt_template import PromptTemplate
from rows.errors import RowError
from support.dialect_rows import (
    COMPLETIONS,
    ENCODER,
    MESSAGES,
    RESPONSES,
    answered,
    asked,
    chat_body,
    failed,
)


def test_an_answer_is_added_to_the_row() -> None:
    row = {"prompt": "Hi", "id": "001"}
    assert answered(row, chat_body("Hello.")) == {
        **row,
        "generated_text": "Hello.",
        "finish_reason": "stop",
        "prompt_tokens": 7,
        "completion_tokens": 42,
    }


def test_reasoning_and_tool_calls_are_kept_apart_from_the_answer() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = answered({"prompt": "Hi"}, chat_body("", reasoning="Hm.", tool_calls=[call], reason="tool_calls"))
    assert (result["generated_text"], result["reasoning"], result["tool_calls"]) == ("", "Hm.", [call])
    older = answered({"prompt": "Hi"}, chat_body("A", reasoning_content="Hm."))
    assert (older["generated_text"], older["reasoning"]) == ("A", "Hm.")


def test_all_choices_are_kept_and_the_first_is_the_text() -> None:
    body = chat_body("one", "two")
    result = answered({"prompt": "Hi", "n": 2}, body)
    assert (result["generated_text"], result["choices"]) == ("one", body["choices"])


def test_log_probabilities_are_kept() -> None:
    body = {
        "choices": [{"text": "x", "finish_reason": "length", "logprobs": {"tokens": ["x"]}, "prompt_logprobs": [None]}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    }
    result = answered({"prompt": "Hi"}, body, Defaults(endpoint=COMPLETIONS))
    assert (result["logprobs"], result["prompt_logprobs"]) == ({"tokens": ["x"]}, [None])


@pytest.mark.parametrize(
    ("endpoint", "body", "extras"),
    [
        (
            MESSAGES,
            {
                "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "A"}],
                "stop_reason": "max_tokens",
                "usage": {"input_tokens": 3, "output_tokens": 4},
            },
            {"reasoning": "Hm."},
        ),
        (
            RESPONSES,
            {
                "output": [
                    {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]},
                    {"type": "message", "content": [{"type": "output_text", "text": "A"}]},
                ],
                "incomplete_details": {"reason": "max_output_tokens"},
                "usage": {"input_tokens": 3, "output_tokens": 4},
            },
            {"reasoning": "Hm."},
        ),
    ],
)
def test_other_generating_endpoints_give_the_same_fields(endpoint: str, body: Any, extras: dict[str, Any]) -> None:
    expected = {"prompt": "Hi", "generated_text": "A", "finish_reason": "length", "prompt_tokens": 3}
    assert answered({"prompt": "Hi"}, body, Defaults(endpoint=endpoint)) == {
        **expected,
        "completion_tokens": 4,
        **extras,
    }


@pytest.mark.parametrize(
    ("row", "body", "results"),
    [
        ({"text": "x"}, {"data": [{"index": 0, "embedding": [0.5]}]}, {"embedding": [0.5]}),
        ({"text_1": "a", "text_2": "b"}, {"data": [{"score": 0.25}]}, {"score": 0.25}),
        ({"text_1": "a", "text_2": ["b", "c"]}, {"data": [{"score": 1.0}, {"score": 0.5}]}, {"scores": [1.0, 0.5]}),
        ({"query": "q", "documents": ["d"]}, {"results": [{"index": 0}]}, {"results": [{"index": 0}]}),
    ],
)
def test_an_encoders_answer_has_its_endpoints_names(row: dict[str, Any], body: Any, results: dict[str, Any]) -> None:
    assert answered(row, {**body, "usage": {"prompt_tokens": 5}}, served=ENCODER) == {
        **row,
        **results,
        "prompt_tokens": 5,
    }


def test_an_embedding_of_an_earlier_answer_leaves_that_answer_where_it_is() -> None:
    row = {"prompt": "Hi", "generated_text": "Hello."}
    job = Defaults(template=PromptTemplate("{{ generated_text }}"))
    assert asked(row, job, ENCODER).body["input"] == "Hello."
    result = answered(row, {"data": [{"embedding": [1.0]}]}, job, ENCODER)
    assert result == {**row, "embedding": [1.0]}


def test_a_failure_keeps_the_row_and_has_no_answer_field() -> None:
    result = failed({"id": 1, "prompt": "Hi", "generated_text": "old"}, Failure("rate_limited", "slow down", 429, 3))
    error = {"code": "rate_limited", "message": "slow down", "status": 429, "attempts": 3}
    assert result == {"id": 1, "prompt": "Hi", "error": error, "previous": {"generated_text": "old"}}


def test_an_answer_without_what_its_endpoint_promises_is_an_error() -> None:
    with pytest.raises(RowError, match="the server's answer lacks 'choices'"):
        answered({"prompt": "Hi"}, {"object": "nothing"})


@pytest.mark.parametrize("row", [{"prompt": "Hi"}, {"query": "q", "documents": ["a"]}, {"text_1": "a", "text_2": "b"}])
def test_an_encoders_answer_without_its_results_is_an_error(row: dict[str, Any]) -> None:
    with pytest.raises(RowError, match="lacks 'data'"):
        answered(row, {"detail": "x"}, served=ENCODER)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"choices": []}, "the server's answer is not built as this endpoint's answers are"),
        ({"choices": [[]]}, "the server's answer is not built as this endpoint's answers are"),
        ({"usage": {}}, "the server's answer lacks 'choices'"),
    ],
)
def test_an_answer_of_another_shape_is_told_in_words(body: Any, told: str) -> None:
    with pytest.raises(RowError) as raised:
        answered({"prompt": "Hi"}, body)
    assert (raised.value.code, raised.value.message) == ("invalid_answer", told)


def test_a_second_job_takes_the_results_of_the_first_for_data() -> None:
    """No option is read from them, and none stays where it would be taken for the second job's result."""
    first: dict[str, Any] = {"choices": [{"index": 0, "text": "old"}], "reasoning": "r", "refusal": "no"}
    first |= {"tool_calls": [{"function": {"name": "f"}}], "logprobs": {"content": []}, "prompt_logprobs": [None]}
    first |= {"finish_reason": "length", "prompt_tokens": 1, "completion_tokens": 2}
    row = {"prompt": "x", "id": 7, "generated_text": "kept", **first}
    assert not asked(row).body.keys() & first.keys()
    written = answered(row, chat_body("good"), Defaults(output_field="verdict"))
    assert written.pop("previous") == first
    assert {name: written[name] for name in row if name in written} == {
        "prompt": "x",
        "id": 7,
        "generated_text": "kept",
        "finish_reason": "stop",
        "prompt_tokens": 7,
        "completion_tokens": 42,
    }
    assert written["verdict"] == "good"


@pytest.mark.parametrize("answered_before", [{}, {"finish_reason": "stop", "prompt_tokens": 1, "completion_tokens": 2}])
def test_a_field_named_like_a_result_stays_while_no_result_needs_it(
    answered_before: dict[str, Any],
) -> None:
    row = {"prompt": "x", "choices": ["A", "B"], "tool_calls": 3, "logprobs": True}
    written = answered({**row, **answered_before}, chat_body("good"))
    assert {name: written[name] for name in row} == row
    assert written.get("previous", {}) == answered_before
    if not answered_before:
        assert answered({**row, "reasoning": "mine"}, chat_body("good"))["reasoning"] == "mine"


def test_an_option_named_like_a_result_stays_an_option() -> None:
    row = {"prompt": "x", "logprobs": True}
    assert asked(row).body["logprobs"] is True
    assert answered(row, chat_body("good"))["logprobs"] is True


def test_a_number_that_no_double_holds_is_null_in_the_row() -> None:
    body = chat_body("yes")
    body["choices"][0]["logprobs"] = {"content": [{"logprob": float("-inf")}]}
    assert answered({"prompt": "x"}, body)["logprobs"] == {"content": [{"logprob": None}]}
