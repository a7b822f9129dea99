"""The batch APIs in front of a farm: one job for a batch, also where the program is killed while it runs."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import anthropic
import pytest
import runpod
from openai import AsyncOpenAI, OpenAI

from support.batch_server import KEY, batch_server, wait_for
from support.documents import ROOT
from support.farm import Farm
from support.farm.boto3_alone import link_boto3

pytestmark = pytest.mark.farm
ENDED = ("completed", "failed", "cancelled", "expired")
CHAT = "/v1/chat/completions"


def test_a_batch_is_one_job_on_the_farm_whatever_happens_to_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought = [ROOT / "tests" / "support" / "fake_vllm", link_boto3(tmp_path / "boto3")]
    stand_in = {"PYTHONPATH": os.pathsep.join(map(str, brought))}
    lines = [
        {"custom_id": f"r{n}", "url": CHAT, "body": {"messages": [{"role": "user", "content": f"{n}"}]}} for n in (1, 2)
    ]
    content = "".join(json.dumps(line) + "\n" for line in [*lines, {"custom_id": "bad"}]).encode()
    with (
        Farm(tmp_path / "farm", agents=1, job_environment=stand_in) as farm,
        batch_server(tmp_path / "api", "--farm", "-p", "ModelName=fake", **farm.environment) as server,
    ):
        client = OpenAI(base_url=f"{server.base}/v1", api_key=KEY, _strict_response_validation=True)
        file = client.files.create(file=content, purpose="batch").id
        batch = client.batches.create(input_file_id=file, endpoint=CHAT, completion_window="1h").id
        client.close()
        farm.wait_until(lambda: bool(farm.api.scheduler.jobs), "the batch was submitted")
        server.kill()
        server.start()
        client = OpenAI(base_url=f"{server.base}/v1", api_key=KEY, _strict_response_validation=True)
        ended = wait_for(lambda: client.batches.retrieve(batch), lambda each: each.status in ENDED)
        assert ended.status == "completed", server.said()
        assert ended.request_counts.model_dump() == {"total": 3, "completed": 2, "failed": 1}
        answers = map(json.loads, client.files.content(ended.output_file_id).text.splitlines())
        assert {each["custom_id"] for each in answers} == {"r1", "r2"}
        [job] = farm.api.scheduler.jobs.values()
        assert job.name == batch
        client.close()
        _use_other_clients(server.base, monkeypatch)
        assert len(farm.api.scheduler.jobs) == 3, "one for Anthropic's batch, one for both of RunPod's calls"
        asyncio.run(_cancel_list_and_delete(f"{server.base}/v1", content, batch))


async def _cancel_list_and_delete(base: str, content: bytes, earlier: str) -> None:
    """Have a job of the farm cancelled, and do what is left to do with batches that have ended."""
    async with AsyncOpenAI(base_url=base, api_key=KEY, _strict_response_validation=True) as client:
        file = (await client.files.create(file=content, purpose="batch")).id
        made = await client.batches.create(
            input_file_id=file, endpoint=CHAT, completion_window="1h", metadata={"run": "again"}
        )
        await _await(client, made.id, ("in_progress", *ENDED))
        assert (await client.batches.cancel(made.id)).status in ("cancelling", "cancelled")
        batch = await _await(client, made.id, ENDED)
        assert batch.status == "cancelled"
        assert batch.request_counts is not None
        assert batch.request_counts.total == 3
        assert [each.id async for each in client.batches.list(limit=1)] == [made.id, earlier]
        assert (await client.files.delete(file)).deleted
        assert file not in [each.id async for each in client.files.list()]


def _use_other_clients(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a batch and two calls answered by jobs that run side by side."""
    monkeypatch.setattr(runpod, "endpoint_url_base", f"{base}/v2")
    monkeypatch.setattr(runpod, "api_key", KEY)
    message = {"role": "user", "content": "1"}
    params: Any = {"model": "fake", "max_tokens": 8, "messages": [message]}
    calls = [runpod.Endpoint("any").run({"messages": [message], "id": n}) for n in (1, 2)]
    with anthropic.Anthropic(base_url=base, api_key=KEY, _strict_response_validation=True) as client:
        made = client.messages.batches.create(requests=[{"custom_id": "a", "params": params}]).id
        wait_for(lambda: client.messages.batches.retrieve(made), lambda each: each.processing_status == "ended")
        [line] = client.messages.batches.results(made)
        assert line.result.type == "succeeded", line
    assert all(call.output(timeout=600)["choices"][0]["message"]["content"] for call in calls)


async def _await(client: AsyncOpenAI, name: str, states: tuple[str, ...]) -> Any:
    while True:
        batch = await client.batches.retrieve(name)
        if batch.status in states:
            return batch
        await asyncio.sleep(0.2)
