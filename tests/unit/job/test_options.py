"""The options of a request: what is refused before a GPU is paid for, and what each endpoint is told."""

from __future__ import annotations

from typing import Any

import pytest

from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from job.options import check_options
from job.translation import translate_options
from rows.errors import RowError

SCHEMA = {"type": "object"}
RESPONSE_FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"temperature": "hot"}, 'a number 0 or more, got "hot"'),
        ({"temperature": True}, "got true"),
        ({"top_p": 0}, "more than 0 and at most 1"),
        ({"max_tokens": 1.5}, "a whole number, 0 or more, got 1.5"),
        ({"max_tokens": False}, "got false"),
        ({"seed": 2**63}, "a whole number from -9223372036854775808"),
        ({"stop": [1]}, "a string or a list of strings"),
        ({"repetition_penalty": float("inf")}, "more than 0"),
    ],
)
def test_a_value_that_no_server_would_take_is_refused_by_name(option: dict[str, Any], words: str) -> None:
    with pytest.raises(RowError, match=words) as raised:
        check_options(option)
    assert raised.value.code == "invalid_value"
    assert f'"{next(iter(option))}"' in raised.value.message


def test_null_means_not_set_and_an_unknown_option_is_let_through() -> None:
    assert check_options({"top_p": None, "some_new_option": [1]}) == {"some_new_option": [1]}


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
@pytest.mark.parametrize(
    ("endpoint", "own"),
    [
        (CHAT, "max_tokens"),
        (COMPLETIONS, "max_tokens"),
        (RESPONSES, "max_output_tokens"),
        (MESSAGES, "max_tokens"),
    ],
)
def test_the_limit_of_new_tokens_has_one_meaning_under_each_name(name: str, endpoint: str, own: str) -> None:
    kept = {name: 5} if (name, endpoint) == ("max_completion_tokens", CHAT) else {}
    assert translate_options({name: 5}, endpoint) == {own: 5, **kept}


def test_the_endpoints_own_name_wins_where_two_limits_are_set() -> None:
    both = {"max_tokens": 5, "max_completion_tokens": 9}
    assert translate_options(both, COMPLETIONS) == {"max_tokens": 5}
    assert translate_options(both, RESPONSES) == {"max_output_tokens": 9}


def test_a_chat_keeps_both_names_of_the_limit_and_one_that_refuses_the_first_gets_the_second() -> None:
    both = {"max_tokens": 5, "max_completion_tokens": 9}
    assert translate_options(both, CHAT) == both
    assert translate_options(both, CHAT, "max_completion_tokens") == {"max_completion_tokens": 9}
    assert translate_options({"max_tokens": 5}, CHAT, "max_completion_tokens") == {"max_completion_tokens": 5}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"guided_json": SCHEMA}, {"json": SCHEMA}),
        ({"guided_regex": "a+"}, {"regex": "a+"}),
        ({"guided_choice": ["a", "b"]}, {"choice": ["a", "b"]}),
        ({"guided_grammar": "root ::= 1"}, {"grammar": "root ::= 1"}),
        ({"guided_json_object": True}, {"json_object": True}),
        ({"guided_json": SCHEMA, "guided_whitespace_pattern": " "}, {"json": SCHEMA, "whitespace_pattern": " "}),
    ],
)
@pytest.mark.parametrize("endpoint", [CHAT, COMPLETIONS, RESPONSES])
def test_an_old_guided_name_is_enforced_under_its_new_one(
    old: dict[str, Any], new: dict[str, Any], endpoint: str
) -> None:
    assert translate_options(old, endpoint) == {"structured_outputs": new}


def test_a_backend_for_guided_decoding_is_refused_not_ignored() -> None:
    with pytest.raises(RowError, match="VllmArgs"):
        check_options({"guided_decoding_backend": "xgrammar"})


@pytest.mark.parametrize(
    ("given", "endpoint", "told"),
    [
        ({"logprobs": 3}, CHAT, {"logprobs": True, "top_logprobs": 3}),
        ({"logprobs": 3, "top_logprobs": 1}, CHAT, {"logprobs": True, "top_logprobs": 1}),
        ({"logprobs": True}, CHAT, {"logprobs": True}),
        ({"logprobs": True}, COMPLETIONS, {"logprobs": 1}),
        ({"logprobs": True, "top_logprobs": 4}, COMPLETIONS, {"logprobs": 4}),
        ({"logprobs": 3}, COMPLETIONS, {"logprobs": 3}),
    ],
)
def test_log_probabilities_are_asked_in_the_endpoints_own_way(
    given: dict[str, Any], endpoint: str, told: dict[str, Any]
) -> None:
    assert translate_options(given, endpoint) == told


def test_the_beams_of_older_callers_are_todays_choices() -> None:
    old = {"use_beam_search": True, "best_of": 4, "early_stopping": True, "n": 2}
    assert translate_options(old, COMPLETIONS) == {"use_beam_search": True, "n": 4}


def test_early_stopping_without_beam_search_is_refused() -> None:
    with pytest.raises(RowError, match="use_beam_search"):
        translate_options({"early_stopping": True}, CHAT)


def test_a_chat_response_format_reaches_the_responses_endpoint() -> None:
    told = translate_options({"response_format": RESPONSE_FORMAT}, RESPONSES)
    assert told == {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}}


@pytest.mark.parametrize("given", [{"response_format": RESPONSE_FORMAT}, {"guided_json": SCHEMA}])
def test_a_schema_reaches_the_messages_endpoint_in_its_own_form(given: dict[str, Any]) -> None:
    assert translate_options(given, MESSAGES) == {
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}
    }


@pytest.mark.parametrize("given", [{"guided_regex": "a"}, {"response_format": {"type": "json_object"}}])
def test_a_structure_that_the_messages_endpoint_lacks_is_refused_not_ignored(given: dict[str, Any]) -> None:
    with pytest.raises(RowError, match="enforces JSON schemas only"):
        translate_options(given, MESSAGES)


@pytest.mark.parametrize(("stop", "told"), [("END", ["END"]), (["a", "b"], ["a", "b"])])
def test_stop_texts_reach_the_messages_endpoint(stop: Any, told: list[str]) -> None:
    assert translate_options({"stop": stop}, MESSAGES) == {"stop_sequences": told}


@pytest.mark.parametrize("broken", [{"structured_outputs": 5}, {"response_format": "x"}, {"n": "x"}, {"logprobs": {}}])
@pytest.mark.parametrize("endpoint", [CHAT, COMPLETIONS, RESPONSES, MESSAGES])
def test_a_value_that_was_not_checked_here_is_left_to_the_server(broken: dict[str, Any], endpoint: str) -> None:
    assert translate_options({**broken, "guided_json": SCHEMA}, endpoint)
    assert translate_options({**broken, "use_beam_search": True, "best_of": 2}, endpoint)


@pytest.mark.parametrize(
    "structure",
    [{"guided_choice": ["a"]}, {"structured_outputs": {"json": SCHEMA}}, {"response_format": RESPONSE_FORMAT}],
)
def test_beam_search_with_a_structure_that_it_would_not_enforce_is_refused(structure: dict[str, Any]) -> None:
    with pytest.raises(RowError, match="enforces no structure"):
        translate_options({"use_beam_search": True, **structure}, CHAT)
    assert translate_options({"use_beam_search": True, "response_format": {"type": "text"}}, CHAT)
