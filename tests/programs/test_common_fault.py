"""A fault of the job, the key or the account is told once, and not by every row in all its attempts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from support.fake_server import Asked, FakeServer, Fault
from support.programs import Session, outcome, rows

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
TEXTS = [f"row {n}" for n in range(40)]
A_FEW_DOZEN = 60


def error(status: int, message: str) -> Fault:
    return Fault(status, json.dumps({"error": {"message": message, "code": status}}).encode())


@pytest.mark.parametrize("status", [400, 500])
def test_a_schema_that_the_engine_cannot_compile_is_told_once(status: int, tmp_path: Path) -> None:
    def compile_schema(asked: Asked) -> Fault | None:
        return error(status, "cannot compile the grammar") if "response_format" in asked.body else None

    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    own = json.dumps({"prompt": "own", "response_format": {"type": "text"}}).encode()
    with FakeServer(
        lambda a: None if a.body.get("response_format") == {"type": "text"} else compile_schema(a)
    ) as server:
        options = {"response_schema_file": str(tmp_path / "schema.json")}
        session = Session(tmp_path / "job", [*rows(TEXTS), own], server.url, options=options)
        session.start().check()
        log = session.chunk(max_concurrency="256", max_attempts="5").check().text
        session.aggregate().check()
    assert server.asked.total() <= A_FEW_DOZEN
    assert log.count("the server refuses ResponseSchemaFile: cannot compile the grammar") == 1
    assert session.summary()["errors"]["schema_refused"] > 30
    assert outcome(session.written()[-1]) == "echo: own"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (error(401, "Invalid key"), "unauthorized"),
        (error(403, "Key expired"), "forbidden"),
        (error(402, "Insufficient Balance"), "quota_used_up"),
        (error(429, "You exceeded your current quota"), "quota_used_up"),
    ],
    ids=["no key", "expired", "no balance", "no quota"],
)
def test_an_account_that_fails_in_the_middle_ends_the_chunk_after_a_few(
    fault: Fault, code: str, tmp_path: Path
) -> None:
    with FakeServer(lambda asked: fault if asked.count > 11 else None) as server:
        session = Session(tmp_path, rows(TEXTS), server.url)
        session.start().check()
        session.chunk(max_concurrency="4").check()
        session.aggregate().check()
    found = Counter(row.get("error", {}).get("code", "") for row in session.written())
    assert found == {"": 10, code: 30}
    assert server.asked.total() <= 11 + 15


def test_rows_that_fail_for_what_they_ask_are_each_asked(tmp_path: Path) -> None:
    def too_long(asked: Asked) -> Fault | None:
        return error(400, f"your prompt contains {asked.count} tokens") if asked.text.startswith("row") else None

    with FakeServer(too_long) as server:
        session = Session(tmp_path, rows([*TEXTS, "good"]), server.url)
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
    assert all(server.asked[text] == 1 for text in TEXTS)
    assert outcome(session.written()[-1]) == "echo: good"


def test_a_system_prompt_stands_before_the_first_user_turn_where_there_is_no_system_role(tmp_path: Path) -> None:
    def refuse(asked: Asked) -> Fault | None:
        has_system = asked.body["messages"][0]["role"] == "system"
        return error(400, "System role not supported") if has_system else None

    own = {"messages": [{"role": "system", "content": "One word."}, {"role": "user", "content": "own"}]}
    with FakeServer(refuse) as server:
        lines = [*rows(["a", "b"]), json.dumps(own).encode(), b'{"prompt": "c", "system": "Mine."}']
        session = Session(tmp_path, lines, server.url, options={"system_prompt": "Be brief."})
        assert "without system messages" in session.start().check().text
        session.chunk().check()
        session.aggregate().check()
    told = [outcome(row) for row in session.written()]
    assert told == ["echo: Be brief.\n\na", "echo: Be brief.\n\nb", "invalid_request", "echo: Mine.\n\nc"]
    assert server.asked.total() == 2 + 4


def test_an_endpoint_that_the_model_does_not_have_is_told_at_the_start(tmp_path: Path) -> None:
    with FakeServer() as server:
        session = Session(tmp_path, rows(["a"]), server.url, options={"endpoint": "rerank"})
        assert "Endpoint rerank is not answered" in session.start().check().text
        session.chunk().check()
        session.aggregate().check()
    assert session.summary()["errors"] == {"invalid_url": 1}
