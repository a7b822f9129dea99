"""Faults of the job with a real vLLM: a model without a system role, and a schema that only the engine can judge."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.real_jobs import SMALL, RealServer, openai_line, short_folder

NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
PLAIN = [{"id": n, "prompt": f"Name colour number {n}."} for n in range(12)]
OWN = {"id": "own", "messages": [{"role": "system", "content": "One word."}, {"role": "user", "content": "A river?"}]}


pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with short_folder() as folder:
        (folder / "no-system.jinja").write_text(NO_SYSTEM, encoding="utf-8")
        arguments = f"{SMALL} --chat-template {folder / 'no-system.jinja'}"
        with RealServer(os.environ["VLLM_BATCH_MODEL"], folder, 512, arguments) as one:
            yield one


def codes(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(row.get("error", {}).get("code", "") for row in rows)


def test_a_system_prompt_reaches_a_model_without_a_system_role(server: RealServer) -> None:
    job = server.job("system", [*PLAIN, OWN], SystemPrompt="Answer with one word.", MaxTokens=6, Temperature=0)
    assert codes(job.rows) == {"": 12, "invalid_request": 1}
    assert "System role not supported" in job.rows[-1]["error"]["message"]
    assert "without system messages" in job.log


def test_without_a_system_prompt_the_row_that_has_one_fails_alone(server: RealServer) -> None:
    assert codes(server.job("plain", [*PLAIN, OWN], MaxTokens=6).rows) == {"": 12, "invalid_request": 1}


def test_a_schema_that_the_engine_refuses_is_told_once(server: RealServer, tmp_path: Path) -> None:
    broken = tmp_path / "schema.json"
    broken.write_text(json.dumps({"type": "object", "properties": {"people": {"type": "integer", "maximum": 10**20}}}))
    own = openai_line(
        "own", "/v1/chat/completions", {"messages": OWN["messages"][1:], "response_format": {"type": "text"}}
    )
    job = server.job("schema", [*PLAIN, *PLAIN, own], ResponseSchemaFile=broken, MaxTokens=24)
    assert job.log.count("the server refuses ResponseSchemaFile") == 1
    assert job.summary["errors"]["schema_refused"] >= 18
    assert job.rows[-1]["response"]["status_code"] == 200
