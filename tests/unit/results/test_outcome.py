"""Whatever becomes of a row is one record, in the row's dialect where it has one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest

from dialects.base import Dialect
from dialects.exchange import Answer, Ask, Failure
from dialects.line import RawLine, RowLine, read_line
from dialects.question import Question
from results.outcome import SAYS, Sent, record_answer, record_blank, record_failure
from rows.errors import RowError
from support.dialect_rows import CHAT, JOB, chat_body

LINE = read_line(RawLine(7, b'{"id": 1, "prompt": "a"}'))
SENT = Sent(Ask(CHAT, {}), Question("ab" * 16, repeats=False), 2, 1_000_000.0, 1.5)
ANSWER = Answer(200, json.dumps(chat_body("yes")), chat_body("yes"), "r")
TIMES = {"endpoint": CHAT, "started": 1_000_000.0, "seconds": 1.5}


class Broken:
    """A dialect in which everything fails."""

    NAME = "broken"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def read_answer(self, *_: Any) -> dict[str, str]:
        raise self.error

    def read_failure(self, *_: Any) -> dict[str, str]:
        raise self.error


def broken(error: Exception) -> RowLine:
    return replace(LINE, dialect=cast("Dialect", Broken(error)))


def test_an_answer_is_recorded_with_its_usage_and_its_times() -> None:
    head = record_answer(LINE, SENT, ANSWER, JOB).head
    assert head.pop("row")
    assert len(head.pop("says")) == SAYS
    assert head == TIMES | {
        "line": 7,
        "status": "succeeded",
        "question": "ab" * 16,
        "dialect": "prompt",
        "attempts": 2,
        "added": 4,
        "in": 7,
        "out": 42,
        "finish": "stop",
    }


@pytest.mark.parametrize(
    ("error", "code"), [(RowError("schema_mismatch", "m"), "schema_mismatch"), (ValueError("m"), "invalid_answer")]
)
def test_an_answer_that_cannot_be_used_is_a_failure_with_its_status(error: Exception, code: str) -> None:
    record = record_answer(broken(error), SENT, ANSWER, JOB)
    assert record.head.items() >= (TIMES | {"status": "failed", "code": code, "attempts": 2}).items()
    assert json.loads(record.output)["error"]["status"] == 200


def test_a_failure_is_written_in_the_rows_dialect() -> None:
    record = record_failure(LINE, Failure("server_error", "m", 500, 3), JOB, SENT)
    assert record.head.items() >= (TIMES | {"dialect": "prompt", "code": "server_error", "attempts": 3}).items()
    assert json.loads(record.output) == {
        "id": 1,
        "prompt": "a",
        "error": {"code": "server_error", "message": "m", "status": 500, "attempts": 3},
    }


@pytest.mark.parametrize("line", [RawLine(7, b"no row"), broken(ValueError("m"))], ids=["no row", "a broken dialect"])
def test_a_line_that_no_dialect_can_write_has_a_form_of_its_own(line: RawLine) -> None:
    record = record_failure(line, Failure("invalid_json", "m"), JOB)
    assert record.head["dialect"] == "none"
    assert json.loads(record.output)["line"] == 7


def test_a_row_whose_turn_never_came_has_no_times() -> None:
    head = record_failure(LINE, Failure("missing", "m"), JOB, replace(SENT, started=0.0)).head
    assert not head.keys() & {"started", "seconds"}
    assert head["endpoint"] == CHAT


def test_a_blank_line_has_no_output() -> None:
    assert record_blank(3).encode() == b'{"line":3,"status":"blank"}\n'
