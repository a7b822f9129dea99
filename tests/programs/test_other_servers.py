"""One suite of rows over servers that are not vLLM: limits, lists of models and errors as each of them has them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.fake_server import FakeServer
from support.other_servers import CONTEXT, KINDS, MODEL, WORDS
from support.programs import Session

MAX_TOKENS, OWN = 16, 5
LONG = " ".join(["word"] * (CONTEXT - 10))  # leaves less room than MaxTokens


def batch(name: str, text: str, **body: Any) -> dict[str, Any]:
    content = {"model": MODEL, "messages": [{"role": "user", "content": text}], **body}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": content}


ROWS: dict[str, tuple[dict[str, Any], int]] = {  # each with the most words that its answer may have
    "the job's limit": ({"id": "job", "prompt": "Count from 1 to 400."}, MAX_TOKENS),
    "the row's own": ({"id": "own", "prompt": "Count from 1 to 300.", "max_tokens": OWN}, OWN),
    "by its newer name": ({"id": "newer", "prompt": "Count from 1 to 200.", "max_completion_tokens": OWN}, OWN),
    "a Batch line": (batch("batch", "Count from 1 to 100."), MAX_TOKENS),
    "a Batch line's own": (batch("batch own", "Count from 1 to 90.", max_tokens=OWN), OWN),
    "a Batch line's newer": (batch("batch newer", "Count from 1 to 80.", max_completion_tokens=OWN), OWN),
    "no room for MaxTokens": ({"id": "long", "prompt": LONG}, MAX_TOKENS),
    "no room, told under 200": ({"id": "odd", "prompt": f"{LONG} x", "seed": 1}, MAX_TOKENS),
}


@dataclass(frozen=True)
class Run:
    """A job over ROWS on one server."""

    server: FakeServer
    written: list[dict[str, Any]]
    summary: dict[str, Any]
    log: str


@pytest.fixture(scope="module", params=KINDS)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    kind = KINDS[request.param]
    with kind.serve() as server:
        lines = [json.dumps(row).encode() for row, _ in ROWS.values()]
        options = {"max_tokens": str(MAX_TOKENS), "max_attempts": "1"}
        folder = tmp_path_factory.mktemp("other")
        session = Session(folder, lines, server.url + kind.base, MODEL, options=options)
        session.environment["OPENAI_API_KEY"] = kind.key
        log = session.start().check().text + session.chunk().check().text
        session.aggregate().check()
        return Run(server, session.written(), session.summary(), log)


def text_of(row: dict[str, Any]) -> str:
    """Return an answer's text, of either dialect."""
    if "custom_id" not in row:
        return str(row["generated_text"])
    content = row["response"]["body"]["choices"][0]["message"]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_every_row_is_answered(ran: Run) -> None:
    assert (ran.summary["succeeded"], ran.summary["errors"]) == (len(ROWS), {})


def test_no_answer_is_longer_than_its_limit(ran: Run) -> None:
    counts = [len(text_of(row).split()) for row in ran.written]
    assert all(0 < count <= most for count, (_, most) in zip(counts, ROWS.values(), strict=True)), counts
    assert counts[:6] == [most for _, most in ROWS.values()][:6]


def test_what_the_server_does_not_take_costs_a_few_requests_and_not_one_a_row_each_time(ran: Run) -> None:
    first, retried = 4, 2 * len(ROWS)
    assert ran.server.asked.total() <= first + len(ROWS) + retried


def test_answers_that_met_their_limit_are_counted_as_cut(ran: Run) -> None:
    assert ran.summary["truncated"] >= 6
    assert WORDS > MAX_TOKENS


def test_a_model_s_name_is_found_as_the_server_lists_it(tmp_path: Path) -> None:
    with KINDS["Ollama"].serve() as server:
        session = Session(tmp_path, [b'{"prompt": "x"}'], server.url, MODEL)
        assert f"lists {MODEL} as {MODEL}:latest" in session.start().check().text


@pytest.mark.parametrize("name", ["Ollama", "OpenAI"])
def test_a_model_that_is_not_there_is_refused_with_the_names_that_are_like_it(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    with kind.serve() as server:
        session = Session(tmp_path, [b'{"prompt": "x"}'], server.url + kind.base, "gpt-88x")
        session.environment["OPENAI_API_KEY"] = kind.key
        session.start().refused("gpt-88x", "gpt-88" if name == "OpenAI" else f"{MODEL}:latest", "ModelName")
