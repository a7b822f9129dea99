"""Rows that fail alike are not to blame where the job's own settings fail like them; a control request tells."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from asking.common_fault import ALIKE, CommonFault
from asking.unanswered import Unanswered
from dialects.exchange import Ask, Failure
from engine.routes import CHAT, COMPLETIONS

BODY = {"model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}], "top_k": 5}
ROW = Ask(
    CHAT, {**BODY, "temperature": 0.7, "response_format": {}, "max_tokens": 9}, schema=True, lent="max_tokens",
    from_job=frozenset({"messages", "temperature", "top_k", "max_tokens"}),
)  # fmt: skip


def failing(status: int = 400, message: str = "bad", code: str = "invalid_request") -> Unanswered:
    return Unanswered(Failure(code, message, status), passing=status >= 500)


class Server:
    """Answers controls as a rule says, and notes them."""

    def __init__(self, refuses: Callable[[Ask], bool], error: Unanswered) -> None:
        self.refuses, self.error = refuses, error
        self.controls: list[Ask] = []

    async def try_out(self, ask: Ask) -> Unanswered | None:
        self.controls.append(ask)
        return self.error if self.refuses(ask) else None


def run(server: Server, failures: int = ALIKE, ask: Ask = ROW) -> Failure | None:
    """Let rows fail alike; return what is found."""

    async def fail() -> Failure | None:
        common = CommonFault(server.try_out)
        for _ in range(failures):
            await common.note_failure(ask, server.error)
        return common.find(ask)

    return asyncio.run(fail())


PARTS: dict[str, tuple[Callable[[Ask], bool], str, str]] = {
    "the schema": (lambda ask: "response_format" in ask.body, "ResponseSchemaFile", "schema_refused"),
    "the system prompt": (lambda ask: ask.body["messages"][0]["role"] == "system", "SystemPrompt", "job_refused"),
    "an option": (lambda ask: "top_k" in ask.body, "SamplingParams", "job_refused"),
    "the temperature": (lambda ask: "temperature" in ask.body, "Temperature", "job_refused"),
}


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize(("refuses", "name", "code"), PARTS.values(), ids=PARTS.keys())
def test_the_setting_that_is_to_blame_is_named(
    refuses: Callable[[Ask], bool], name: str, code: str, status: int
) -> None:
    found = run(Server(refuses, failing(status)))
    assert found is not None
    assert found.code == code
    assert found.message.startswith(f"the server refuses {name}: bad")


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_server_that_refuses_everything_is_told_in_its_own_code(status: int) -> None:
    found = run(Server(lambda _: True, failing(status, code="x")))
    assert found is not None
    assert (found.code, found.status) == ("x", status)


def test_a_server_that_fails_at_everything_may_be_well_again_soon() -> None:
    assert run(Server(lambda _: True, failing(500))) is None


def test_a_control_that_is_answered_acquits_the_job_and_is_not_asked_for_every_row() -> None:
    server = Server(lambda _: False, failing())
    assert run(server, 100 * ALIKE) is None
    assert len(server.controls) <= 8


def test_a_control_that_fails_for_another_reason_acquits_the_job() -> None:
    class Other(Server):
        async def try_out(self, ask: Ask) -> Unanswered | None:
            return failing(message="min_tokens must be 1 or less")

    assert run(Other(lambda _: True, failing(message="the prompt of 4097 tokens is too long"))) is None


def test_numbers_and_names_do_not_make_failures_another_kind() -> None:
    async def fail() -> Failure | None:
        server = Server(lambda _: True, failing(403, "request req_7f is refused for 'c'"))
        common = CommonFault(server.try_out)
        for number in range(ALIKE):
            await common.note_failure(ROW, failing(403, f"request req_{number}a is refused for 'u{number}'"))
        return common.find(ROW)

    assert asyncio.run(fail()) is not None


def test_few_failures_or_failures_of_several_kinds_ask_no_control() -> None:
    server = Server(lambda _: True, failing())
    assert run(server, ALIKE - 1) is None

    async def alternate() -> None:
        common = CommonFault(server.try_out)
        for number in range(4 * ALIKE):
            await common.note_failure(ROW, failing(message=f"kind {'ab'[number % 2]}"))
            await common.note_failure(ROW, failing(503))
            await common.note_failure(Ask("/tokenize", {}), failing())

    asyncio.run(alternate())
    assert server.controls == []


def test_an_answer_begins_the_count_anew() -> None:
    server = Server(lambda _: True, failing())

    async def mixed() -> None:
        common = CommonFault(server.try_out)
        for _ in range(4):
            for _ in range(ALIKE - 1):
                await common.note_failure(ROW, failing())
            common.note_answer(ROW)

    asyncio.run(mixed())
    assert server.controls == []


def test_rows_of_another_kind_are_still_asked() -> None:
    async def fail() -> tuple[Failure | None, ...]:
        common = CommonFault(Server(lambda ask: "response_format" in ask.body, failing()).try_out)
        for _ in range(ALIKE):
            await common.note_failure(ROW, failing())
        others = (
            Ask(CHAT, ROW.body),
            Ask(COMPLETIONS, {"model": "m"}, schema=True),
            Ask(CHAT, {"model": "n"}, schema=True),
        )
        return tuple(map(common.find, others))

    assert asyncio.run(fail()) == (None, None, None)
