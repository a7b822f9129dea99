"""The job's token limit gives way where it leaves a prompt no room; a row's own never does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asking.budget import lower_budget
from dialects.exchange import Failure
from job.defaults import Defaults
from support.dialect_rows import CHAT, COMPLETIONS, MESSAGES, RESPONSES, asked
from support.fake_server import Asked, FakeServer, Fault
from support.programs import Session

OLD_WORDS = "However, you requested 512 output tokens and your prompt contains at least 3585 input tokens"
NEW_WORDS = "max_completion_tokens=512 cannot be greater than max_model_len=400. Please request fewer output tokens."


@pytest.mark.parametrize("words", [OLD_WORDS, NEW_WORDS])
@pytest.mark.parametrize(
    ("endpoint", "name", "left"),
    [
        (CHAT, "max_tokens", None),
        (RESPONSES, "max_output_tokens", None),
        (COMPLETIONS, "max_tokens", 256),  # without a limit vLLM stops at 16 tokens
        (MESSAGES, "max_tokens", 256),  # which needs one
    ],
)
def test_the_jobs_limit_gives_way_when_it_leaves_the_prompt_no_room(
    words: str, endpoint: str, name: str, left: int | None
) -> None:
    ask = asked({"prompt": "long"}, Defaults(options={"max_tokens": 512}, endpoint=endpoint))
    roomier = lower_budget(ask, Failure("invalid_request", words, 400))
    assert roomier is not None
    assert roomier.body[name] == left


def test_a_rows_own_limit_never_gives_way() -> None:
    assert (
        lower_budget(asked({"prompt": "long", "max_tokens": 512}), Failure("invalid_request", OLD_WORDS, 400)) is None
    )


def test_another_refusal_is_not_about_the_limit() -> None:
    prompt_too_long = "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097"
    assert lower_budget(asked({"prompt": "long"}), Failure("invalid_request", prompt_too_long, 400)) is None


def test_a_row_is_answered_though_the_jobs_limit_left_its_prompt_no_room(tmp_path: Path) -> None:
    def full(asked: Asked) -> Fault | None:
        limit = asked.body.get("max_tokens")
        return Fault(400, json.dumps({"error": {"message": OLD_WORDS, "code": 400}}).encode()) if limit == 512 else None

    lines = [b'{"prompt": "long"}', b'{"prompt": "long, a limit of its own", "max_tokens": 512}']
    with FakeServer(full) as server:
        session = Session(tmp_path, lines, url=server.url)
        session.start().check()
        session.chunk(max_attempts="1").check()
        session.aggregate().check()
    first, second = session.written()
    assert first["generated_text"]
    assert (second["error"]["status"], second["error"]["message"]) == (400, OLD_WORDS)
