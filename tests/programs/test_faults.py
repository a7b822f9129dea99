"""The fault matrix: the real programs against a server that fails, each fault with the results it must end in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.fake_server import Asked, FakeServer, Fault
from support.programs import Session, outcome, rows

OPTIONS = {"max_attempts": "3", "max_concurrency": "64"}


@dataclass(frozen=True)
class Case:
    """What the server does to a row (`times` times, then it answers), and what that row must end in.

    `code`, `says` and `status` are its error's; no code stands for an answer. `asked` is how often it is asked.
    """

    name: str
    fault: Fault
    code: str = ""
    asked: int = 3
    says: str = ""
    status: int | None = None
    times: int = 99


def passing(name: str, fault: Fault) -> Case:
    """Return a case of a fault that passes after one attempt."""
    return Case(f"{name}, then fine", fault, asked=2, times=1)


TOO_LONG = b'{"error": {"message": "This model\'s maximum context length is 4096 tokens", "code": 400}}'
GARBAGE = b"<html>\xff\xfe not json"
UNZIPPED = {"Content-Encoding": "gzip"}
BYTES = {"Content-Type": "application/octet-stream"}
PAGE = {"Content-Type": "text/html; charset=utf-8"}
CASES = [
    passing("429 with Retry-After", Fault(429, b"{}", {"Retry-After": "1"})),
    passing("429 without", Fault(429, b"slow down")),
    Case("429 for ever", Fault(429, b'{"error": {"message": "slow down"}}'), "rate_limited", 3, "slow down", 429),
    passing("500", Fault(500, b"oops")),
    Case("500 for ever", Fault(500, b"oops"), "server_error", 3, "oops", 500),
    Case("503 for ever", Fault(503, b"busy"), "unavailable", 3, "busy", 503),
    Case("529 twice", Fault(529, b"{}"), asked=3, times=2),
    passing("408", Fault(408, b"{}")),
    passing("409", Fault(409, b"{}")),
    passing("connection reset", Fault(wire="reset")),
    Case("connection reset for ever", Fault(wire="reset"), "connection_lost", 3, "connection"),
    passing("connection closed", Fault(wire="drop")),
    passing("cut body", Fault(wire="cut")),
    Case("cut body for ever", Fault(wire="cut"), "connection_lost", 3, "connection"),
    passing("cut body of an error", Fault(500, b'{"error": "x"}', wire="cut")),
    passing("garbage", Fault(body=GARBAGE)),
    Case("garbage for ever", Fault(body=GARBAGE), "invalid_answer", 3, "not JSON", 200),
    Case("bytes", Fault(body=b"\0\1", headers=BYTES), "invalid_answer", 1, "application/octet-stream", 200),
    Case("a page", Fault(body=b"<html>", headers=PAGE), "invalid_answer", 1, "text/html", 200),
    passing("empty body", Fault(body=b"")),
    passing("not what its encoding says", Fault(headers=UNZIPPED)),
    Case("NaN in the answer", Fault(body=b'{"choices": NaN}'), "invalid_answer", 1, "", 200),
    Case("JSON of another shape", Fault(body=b'{"choices": [5]}'), "invalid_answer", 1, "", 200),
    Case("nesting without end", Fault(body=b"[" * 100_000), "invalid_answer", 3, "not JSON", 200),
    Case("400 for context length", Fault(400, TOO_LONG), "invalid_request", 1, "maximum context length", 400),
    Case("413", Fault(413, b""), "too_large", 1, "HTTP 413", 413),
    Case("422 in FastAPI's words", Fault(422, b'{"detail": "bad"}'), "invalid_request", 1, "bad", 422),
    Case("answered well and then closed", Fault(wire="close"), asked=1),
]
HANGING = [
    Case("hang", Fault(wire="hang"), "request_timeout", 3, "RowTimeoutSeconds"),
    Case("slow drip", Fault(wire="drip"), "request_timeout", 3, "RowTimeoutSeconds"),
]


@dataclass(frozen=True)
class Matrix:
    """One job over a row of each case and as many rows without a fault."""

    cases: list[Case]
    asked: Counter[str]
    written: list[dict[str, Any]]
    summary: dict[str, Any]
    retry: bytes
    lines: list[bytes]


def run_over(cases: list[Case], folder: Path, **options: str) -> Matrix:
    """Run a job that meets these cases."""
    by_name = {case.name: case for case in cases}

    def script(asked: Asked) -> Fault | None:
        case = by_name.get(asked.text)
        return case.fault if case and asked.nth <= case.times else None

    texts = [text for number, case in enumerate(cases) for text in (case.name, f"well {number}")]
    with FakeServer(script) as server:
        session = Session(folder, rows(texts), server.url)
        session.start().check()
        session.chunk(**OPTIONS, **options).check()
        session.aggregate().check()
    retry = (session.output / "output" / "retry.jsonl").read_bytes()
    return Matrix(cases, server.asked, session.written(), session.summary(), retry, session.lines)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return run_over(CASES, tmp_path_factory.mktemp("matrix"))


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """Run the cases that only a time limit ends, apart from the rows that a slow machine must not hurt."""
    return run_over(HANGING, tmp_path_factory.mktemp("hanging"), row_timeout_seconds="3")


def check(number: int, matrix: Matrix) -> None:
    """Fail unless a case's row ended as it must."""
    case, row = matrix.cases[number], matrix.written[2 * number]
    assert row["prompt"] == case.name
    assert outcome(row) == (case.code or f"echo: {case.name}")
    assert matrix.asked[case.name] == case.asked
    if case.code:
        assert {**row["error"], "message": ""} == {
            "code": case.code, "message": "", "status": case.status, "attempts": case.asked
        }  # fmt: skip
        assert case.says in row["error"]["message"]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_a_row_that_meets_a_fault_ends_as(number: int, matrix: Matrix) -> None:
    check(number, matrix)


@pytest.mark.parametrize("number", range(len(HANGING)), ids=[case.name for case in HANGING])
def test_a_row_whose_answer_never_comes_ends_as(number: int, hanging: Matrix) -> None:
    check(number, hanging)


def test_the_rows_beside_the_faults_all_have_their_answers(matrix: Matrix) -> None:
    assert [outcome(row) for row in matrix.written[1::2]] == [f"echo: well {n}" for n in range(len(CASES))]
    assert all(matrix.asked[f"well {n}"] == 1 for n in range(len(CASES)))


def test_the_results_are_exactly_one_a_line_in_input_order_and_the_failed_lines_are_there_to_submit(
    matrix: Matrix,
) -> None:
    failed = [place for place, case in enumerate(CASES) if case.code]
    counts = {
        name: matrix.summary[name] for name in ("requested", "succeeded", "failed", "missing", "blank", "past_end")
    }
    assert [row["id"] for row in matrix.written] == list(range(1, 2 * len(CASES) + 1))
    assert counts == {
        "requested": 2 * len(CASES), "succeeded": 2 * len(CASES) - len(failed), "failed": len(failed),
        "missing": 0, "blank": 0, "past_end": 0,
    }  # fmt: skip
    assert matrix.summary["errors"] == Counter(case.code for case in CASES if case.code)
    assert matrix.retry == b"".join(matrix.lines[2 * place] + b"\n" for place in failed)
