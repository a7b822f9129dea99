"""The batch APIs with real vLLM behind them: official clients, and one load of the model for all they ask."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
import runpod
from openai import NotFoundError, OpenAI

from support.batch_server import JOBS_PYTHON, KEY, BatchServer, batch_server, wait_for
from support.farm import tool

pytestmark = pytest.mark.vllm
MODEL = {"MaxModelLen": "1024", "VllmArgs": "--dtype float32 --enforce-eager"}
ENDED = ("completed", "failed", "cancelled", "expired")


def chat(custom_id: str, **body: Any) -> dict[str, Any]:
    asked = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": {**asked, **body}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BatchServer]:
    """Run the program on real vLLM; at its end no engine is left."""
    folder = tmp_path_factory.mktemp("api")
    given = {"ModelName": os.environ["VLLM_BATCH_MODEL"], **MODEL}
    options = [part for name, value in given.items() for part in ("-p", f"{name}={value}")]
    python = str(tool("VLLM_BATCH_RUN_PYTHON"))
    environment = {JOBS_PYTHON: python, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    with batch_server(folder, *options, **environment) as started:
        yield started
    assert not [*(folder / "data" / "engine").iterdir()]


def test_openai_s_client_makes_batches_and_reads_every_page_of_them(server: BatchServer) -> None:
    files = [
        [chat("one"), chat("bad", max_tokens=-1)],
        [{"custom_id": "two", "url": "/v1/completions", "body": {"prompt": "Hello", "max_tokens": 4}}],
    ]
    with OpenAI(base_url=f"{server.base}/v1", api_key=KEY, _strict_response_validation=True) as client:
        made = [create(client, lines) for lines in files]
        ended = [wait_for(lambda name=name: client.batches.retrieve(name), is_ended) for name in made]
        assert [each.status for each in ended] == ["completed", "completed"], server.said()
        assert [each.request_counts.model_dump() for each in ended] == [
            {"total": 2, "completed": 1, "failed": 1},
            {"total": 1, "completed": 1, "failed": 0},
        ]
        assert ended[0].usage.output_tokens == 8
        [wrong] = map(json.loads, client.files.content(ended[0].error_file_id).text.splitlines())
        assert wrong["custom_id"] == "bad"
        [answer] = map(json.loads, client.files.content(ended[1].output_file_id).text.splitlines())
        assert answer["response"]["body"]["choices"][0]["text"]
        cancelled = client.batches.cancel(create(client, [chat("late", max_tokens=500, ignore_eos=True)])).id
        assert wait_for(lambda: client.batches.retrieve(cancelled), is_ended).status == "cancelled"
        assert [each.id for each in client.batches.list(limit=1)] == [cancelled, *reversed(made)]
        assert client.files.delete(ended[1].output_file_id).deleted
        with pytest.raises(NotFoundError):
            client.files.content(ended[1].output_file_id)


def create(client: OpenAI, lines: list[dict[str, Any]]) -> str:
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    file = client.files.create(file=content, purpose="batch").id
    return client.batches.create(input_file_id=file, endpoint="/v1/chat/completions", completion_window="24h").id


def is_ended(batch: Any) -> bool:
    return batch.status in ENDED


def test_anthropic_s_client_makes_a_batch_reads_and_deletes_it(server: BatchServer) -> None:
    asyncio.run(use_anthropic(server))


async def use_anthropic(server: BatchServer) -> None:
    params = {"model": "claude", "max_tokens": 8, "messages": [{"role": "user", "content": "Say hello."}]}
    requests: Any = [{"custom_id": "good", "params": params}, {"custom_id": "bad", "params": {**params, "top_p": 7}}]
    async with anthropic.AsyncAnthropic(
        base_url=server.base, api_key=KEY, max_retries=0, _strict_response_validation=True
    ) as client:
        made = await client.messages.batches.create(requests=requests)
        batch = await await_end(client, made.id)
        assert (batch.request_counts.succeeded, batch.request_counts.errored) == (1, 1), server.said()
        results = {line.custom_id: line.result async for line in await client.messages.batches.results(made.id)}
        assert results["good"].message.content[0].text
        assert results["good"].message.usage.output_tokens == 8
        assert "top_p" in results["bad"].error.error.message
        assert [each.id async for each in client.messages.batches.list()] == [made.id]
        await client.messages.batches.delete(made.id)
        assert [each.id async for each in client.messages.batches.list()] == []


async def await_end(client: anthropic.AsyncAnthropic, name: str) -> Any:
    while True:
        batch = await client.messages.batches.retrieve(name)
        if batch.processing_status == "ended":
            return batch
        await asyncio.sleep(0.2)


def test_runpod_s_client_runs_waits_and_streams(server: BatchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runpod, "endpoint_url_base", f"{server.base}/v2")
    monkeypatch.setattr(runpod, "api_key", KEY)
    asked = {"messages": [{"role": "user", "content": "Say hello."}], "sampling_params": {"max_tokens": 8}}
    endpoint = runpod.Endpoint("any")
    run = endpoint.run(asked)
    whole = endpoint.run_sync({"input": {**asked, "sampling_params": {"max_tokens": 8, "temperature": 0}}})
    pieces = [*endpoint.run({**asked, "stream": True}).stream()]
    assert whole["choices"][0]["message"]["content"]
    assert len(pieces) > 2
    assert run.output(timeout=600)["usage"]["completion_tokens"] == 8


def test_all_that_was_asked_took_one_load_of_the_model(server: BatchServer) -> None:
    [engine] = (server.folder / "data" / "engine").iterdir()
    assert (engine / "start.log").read_text().count("model load ") == 1
    logs = [*(server.folder / "data" / "batches").glob("*/results/openjd.log")]
    assert len(logs) >= 3
    assert not any("model load " in log.read_text() for log in logs)
