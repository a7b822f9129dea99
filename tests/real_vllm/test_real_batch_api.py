"""The batch APIs with real vLLM behind them: official clients, and one load of the model for all they ask."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from support.batch_server import JOBS_PYTHON, KEY, batch_server, wait_for
from support.farm import tool

pytestmark = pytest.mark.vllm
MODEL = {"MaxModelLen": "1024", "VllmArgs": "--dtype float32 --enforce-eager"}
ENDED = ("completed", "failed", "cancelled", "expired")


def chat(custom_id: str, **body: Any) -> dict[str, Any]:
    asked = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": {**asked, **body}}


def test_batches_one_after_another_use_one_engine(tmp_path: Path) -> None:
    given = {"ModelName": os.environ["VLLM_BATCH_MODEL"], **MODEL}
    options = [part for name, value in given.items() for part in ("-p", f"{name}={value}")]
    python = str(tool("VLLM_BATCH_RUN_PYTHON"))
    environment = {JOBS_PYTHON: python, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    files = [
        [chat("one"), chat("bad", max_tokens=-1)],
        [{"custom_id": "two", "url": "/v1/completions", "body": {"prompt": "Hello", "max_tokens": 4}}],
    ]
    with batch_server(tmp_path, *options, **environment) as server:
        client = OpenAI(base_url=f"{server.base}/v1", api_key=KEY, _strict_response_validation=True)
        ended = []
        for lines in files:
            content = "".join(json.dumps(line) + "\n" for line in lines).encode()
            file = client.files.create(file=content, purpose="batch").id
            made = client.batches.create(
                input_file_id=file, endpoint="/v1/chat/completions", completion_window="24h"
            ).id
            ended.append(wait_for(lambda made=made: client.batches.retrieve(made), lambda each: each.status in ENDED))
        assert [each.status for each in ended] == ["completed", "completed"], server.said()
        assert [each.request_counts.model_dump() for each in ended] == [
            {"total": 2, "completed": 1, "failed": 1},
            {"total": 1, "completed": 1, "failed": 0},
        ]
        assert ended[0].usage.output_tokens == 8
        [answer] = map(json.loads, client.files.content(ended[1].output_file_id).text.splitlines())
        assert answer["response"]["body"]["choices"][0]["text"]
        [engine] = (tmp_path / "data" / "engine").iterdir()
        assert (engine / "start.log").read_text().count("model load ") == 1
        logs = [*(tmp_path / "data" / "batches").glob("*/results/openjd.log")]
        assert len(logs) == 2
        assert not any("model load " in log.read_text() for log in logs)
        client.close()
    assert not [*(tmp_path / "data" / "engine").iterdir()]
