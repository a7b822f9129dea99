"""What a prompt row asks of the server, and the row that it becomes."""

from __future__ import annotations

from typing import Any

import pytest

from dialects.exchange import Failure
from engine.facts import Served
from job.defaults import Defaults
from job.prompt_template import PromptTemplate
from rows.errors import RowError
from support.dialect_rows import (
    BASE_MODEL,
    CHAT,
    COMPLETIONS,
    ENCODER,
    MESSAGES,
    RESPONSES,
    USER,
    answered,
    asked,
    chat_body,
    failed,
    refused,
)


def test_a_prompt_is_a_conversation_of_one_message_with_the_jobs_defaults() -> None:
    ask = asked({"prompt": "Hi", "id": "001", "topic": "x"})
    assert (ask.route, ask.body) == (
        CHAT,
        {"messages": USER, "model": "m", "max_completion_tokens": 512, "temperature": 0.7},
    )


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_rows_own_limit_and_temperature_beat_the_jobs(name: str) -> None:
    body = asked({"text": "Hi", name: 9, "temperature": 0}).body
    assert (body["max_completion_tokens"], body["temperature"]) == (9, 0)


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


@pytest.mark.parametrize("name", ["messages", "prompt", "input"])
def test_what_is_asked_is_no_option(name: str) -> None:
    told = ("invalid_value", f'"{name}" is no option: it says what is asked, and stands outside them')
    assert refused({"prompt": "Hi", "sampling_params": {name: "x"}}) == told
    assert refused({"input": {"prompt": "Hi", "sampling_params": {name: "x"}}}) == told
    assert refused({"recordId": "1", "modelInput": {"prompt": "Hi", "inferenceConfig": {name: "x"}}}) == told


@pytest.mark.parametrize("row", [{"prompt": "Hi"}, {"query": "q", "documents": ["a"]}, {"text_1": "a", "text_2": "b"}])
def test_an_encoders_answer_without_its_results_is_an_error(row: dict[str, Any]) -> None:
    with pytest.raises(RowError, match="lacks 'data'"):
        answered(row, {"detail": "x"}, served=ENCODER)


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
