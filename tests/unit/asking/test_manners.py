"""What a server does not take of a request is learned from one refusal, and only what the job gave gives way."""

from __future__ import annotations

from dataclasses import replace

from asking.manners import Manners
from dialects.exchange import Ask, Failure
from engine.refusals import MAX_COMPLETION_TOKENS, MAX_TOKENS
from engine.routes import CHAT

LIMIT = Failure("invalid_request", "Unsupported parameter: 'max_tokens' is not supported with this model.", 400)
OTHER = Failure("invalid_request", "max_completion_tokens: Extra inputs are not permitted", 422)
HEAT = Failure("invalid_request", "'temperature' does not support 0.7 with this model", 400)
LONGEST = Failure(
    "invalid_request", "max_tokens is too large: 512. This model supports at most 100 completion tokens", 400
)
JOB = Ask(
    CHAT, {"model": "m", "max_tokens": 512, "temperature": 0.7}, lent=MAX_TOKENS, from_job=frozenset({"temperature"})
)


def test_a_refused_name_of_the_limit_is_written_as_the_other_from_then_on() -> None:
    manners = Manners()
    learned = manners.learn(JOB, LIMIT, again=False)
    assert learned is not None
    assert (learned.body[MAX_COMPLETION_TOKENS], learned.lent) == (512, MAX_COMPLETION_TOKENS)
    assert MAX_TOKENS not in learned.body
    assert manners.adapt(JOB) == learned


def test_a_row_s_two_names_become_the_one_that_is_taken() -> None:
    both = replace(JOB, body={"model": "m", "max_tokens": 5, "max_completion_tokens": 5}, lent="")
    learned = Manners().learn(both, OTHER, again=False)
    assert learned is not None
    assert learned.body == {"model": "m", "max_tokens": 5}


def test_a_server_that_refuses_both_names_is_not_asked_for_ever() -> None:
    manners = Manners()
    learned = manners.learn(JOB, LIMIT, again=False)
    assert learned is not None
    assert manners.learn(learned, OTHER, again=False) is None


def test_what_one_model_does_not_take_another_may() -> None:
    manners = Manners()
    manners.learn(JOB, LIMIT, again=False)
    other = replace(JOB, body={**JOB.body, "model": "n"})
    assert manners.adapt(other) is other


def test_the_job_s_temperature_gives_way_and_a_row_s_own_does_not() -> None:
    manners = Manners()
    learned = manners.learn(JOB, HEAT, again=False)
    assert learned is not None
    assert "temperature" not in learned.body
    own = replace(JOB, from_job=frozenset())
    assert manners.adapt(own) is own
    assert manners.learn(own, HEAT, again=False) is None


def test_the_longest_answer_of_a_model_is_asked_for_at_once_from_then_on() -> None:
    manners = Manners()
    learned = manners.learn(JOB, LONGEST, again=False)
    assert learned is not None
    assert learned.body[MAX_TOKENS] == manners.adapt(JOB).body[MAX_TOKENS] == 100
    own = replace(JOB, lent="")
    assert manners.adapt(own) is own


def test_a_field_without_a_name_is_no_limit() -> None:
    odd = Ask(CHAT, {"model": "m", "": 5})
    assert Manners().learn(odd, Failure("invalid_request", "no", 400), again=False) is None
