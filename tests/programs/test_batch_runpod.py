"""RunPod's API: its official client, and programs that post by themselves, with only address and key changed."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest
import requests
import runpod
from runpod.endpoint.asyncio.asyncio_runner import Endpoint as AsyncEndpoint

from batches.calls import Calls
from support.batch_service import Programs, Service, serve
from support.fake_server import Asked, FakeServer, Fault

HEADERS = {"Authorization": "Bearer RUNPOD_API_KEY", "Content-Type": "application/json"}
CHAT = {"messages": [{"role": "user", "content": "Explain quantum computing."}]}
CHUNK = "chat.completion.chunk"
WORDS = ("Once", " upon", " a time")


def write_events(pieces: Any) -> bytes:
    """Return an event stream of a chat."""
    events = [{"object": CHUNK, "choices": [{"index": 0, "delta": {"content": p}}]} for p in pieces]
    events[-1]["choices"][0]["finish_reason"] = "stop"
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"


def stream_or_fail(asked: Asked) -> Fault | None:
    """Answer in pieces where that is asked, and refuse `fail`."""
    if asked.text == "fail":
        return Fault(400, b'{"error": {"message": "no such thing", "code": 400}}')
    if asked.body.get("stream"):
        return Fault(body=write_events(WORDS), headers={"Content-Type": "text/event-stream"})
    return None


@pytest.fixture
def engine() -> Iterator[FakeServer]:
    with FakeServer(stream_or_fail) as server:
        yield server


@pytest.fixture
def service(tmp_path: Path, engine: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with serve(tmp_path, engine.url) as one:
        monkeypatch.setattr(runpod, "endpoint_url_base", f"{one.url}/v2")
        monkeypatch.setattr(runpod, "api_key", "RUNPOD_API_KEY")
        yield one


@pytest.fixture
def farm(tmp_path: Path, engine: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """The APIs without an engine in reach, and jobs that begin when they are let go."""
    backend = Programs(engines=None)
    let_go = threading.Event()
    backend.before = lambda _: bool(let_go.wait(60)) and None
    backend.let_go = let_go.set  # type: ignore[attr-defined]
    with serve(tmp_path, engine.url, backend=backend) as one:
        monkeypatch.setattr(runpod, "endpoint_url_base", f"{one.url}/v2")
        monkeypatch.setattr(runpod, "api_key", "RUNPOD_API_KEY")
        yield one
        backend.is_over = True
        let_go.set()


def await_end(url: str, name: str) -> Any:
    while (told := requests.get(f"{url}/status/{name}", headers=HEADERS, timeout=60).json())["status"] in (
        "IN_QUEUE",
        "IN_PROGRESS",
    ):
        time.sleep(0.05)
    return told


# Programs as RunPod's pages have them


def test_a_program_that_submits_and_polls(service: Service) -> None:
    url = f"{service.url}/v2/ENDPOINT_ID"
    response = requests.post(
        f"{url}/run",
        headers=HEADERS,
        json={"input": {**CHAT, "sampling_params": {"temperature": 0.7, "max_tokens": 200}}},
        timeout=60,
    )
    job_id = response.json()["id"]
    assert response.json() == {"id": job_id, "status": "IN_QUEUE"}
    ended = await_end(url, job_id)
    assert ended["status"] == "COMPLETED"
    assert ended["output"]["choices"][0]["message"]["content"] == "echo: Explain quantum computing."
    assert min(ended["delayTime"], ended["executionTime"]) >= 0


def test_a_program_that_waits_is_answered_at_once(service: Service) -> None:
    asked = {"input": {"prompt": "The capital of France is", "sampling_params": {"temperature": 0.7, "max_tokens": 50}}}
    told = requests.post(f"{service.url}/v2/ENDPOINT_ID/runsync", headers=HEADERS, json=asked, timeout=60).json()
    assert told["status"] == "COMPLETED"
    assert told["output"]["choices"][0]["text"] == "echo: The capital of France is"
    assert service.backend.jobs == []
    assert await_end(f"{service.url}/v2/ENDPOINT_ID", told["id"]) == told


def test_a_program_that_reads_a_stream(service: Service) -> None:
    asked = {"input": {**CHAT, "sampling_params": {"max_tokens": 500}, "stream": True}}
    url = f"{service.url}/v2/ENDPOINT_ID"
    job_id = requests.post(f"{url}/run", headers=HEADERS, json=asked, timeout=60).json()["id"]
    seen: list[Any] = []
    while not seen or seen[-1]["status"] not in ("COMPLETED", "FAILED") or seen[-1]["stream"]:
        with requests.get(f"{url}/stream/{job_id}", headers=HEADERS, stream=True, timeout=60) as response:
            seen += [json.loads(line) for line in response.iter_lines() if line]
    pieces = [each["output"]["choices"][0]["delta"]["content"] for told in seen for each in told["stream"]]
    assert tuple(pieces) == WORDS
    assert await_end(url, job_id)["output"]["choices"][0]["message"]["content"] == "".join(WORDS)


# The official client


def test_the_official_client_runs_polls_and_reads(service: Service) -> None:
    endpoint = runpod.Endpoint("my-endpoint")
    job = endpoint.run(CHAT)
    assert job.output(timeout=60)["choices"][0]["message"]["content"] == "echo: Explain quantum computing."
    assert endpoint.run_sync({"input": CHAT})["choices"][0]["message"]["content"].startswith("echo")
    assert [piece["object"] for piece in endpoint.run({**CHAT, "stream": True}).stream()] == [CHUNK] * len(WORDS)
    assert endpoint.health()["jobs"]["completed"] == 3


def test_the_official_asynchronous_client_runs_and_polls(service: Service) -> None:
    async def run() -> Any:
        async with aiohttp.ClientSession() as session:
            job = await AsyncEndpoint("my-endpoint", session).run(CHAT)
            return await job.output(timeout=60)

    assert asyncio.run(run())["choices"][0]["message"]["content"].startswith("echo")


def test_a_queue_is_purged_and_a_call_cancelled(farm: Service) -> None:
    endpoint = runpod.Endpoint("my-endpoint")
    runs = endpoint.run(CHAT)
    while not farm.backend.jobs:
        time.sleep(0.05)
    assert runs.status() == "IN_PROGRESS"
    waits = endpoint.run(CHAT)
    assert endpoint.health()["jobs"] == {"completed": 0, "failed": 0, "inProgress": 1, "inQueue": 1, "retried": 0}
    assert endpoint.purge_queue() == {"removed": 1, "status": "completed"}
    assert waits.status() == "CANCELLED"
    assert runs.cancel() == {"id": runs.job_id, "status": "CANCELLED"}
    assert [*waits.stream()] == []  # the client knows no end but failed
    batch = farm.core.batches.page("runpod", 1).batches[0]
    assert farm.core.batches.get(batch.id).is_cancelling  # type: ignore[union-attr]


def test_without_an_engine_in_reach_a_stream_is_one_piece_and_comes_once(farm: Service) -> None:
    farm.backend.let_go()  # type: ignore[attr-defined]
    job = runpod.Endpoint("my-endpoint").run({**CHAT, "stream": True})
    assert [piece["choices"][0]["message"]["content"] for piece in job.stream()] == ["echo: Explain quantum computing."]
    assert [*job.stream()] == []


# What fails


def test_a_call_that_fails_says_why_and_can_be_asked_again(service: Service, engine: FakeServer) -> None:
    url = f"{service.url}/v2/ep"
    failing = {"input": {"messages": [{"role": "user", "content": "fail"}]}}
    told = requests.post(f"{url}/runsync", headers=HEADERS, json=failing, timeout=60).json()
    assert (told["status"], "no such thing" in told["error"]) == ("FAILED", True)
    engine.script = lambda _: None
    again = requests.post(f"{url}/retry/{told['id']}", headers=HEADERS, timeout=60).json()
    assert again == {"id": told["id"], "status": "IN_QUEUE"}
    ended = await_end(url, told["id"])
    assert (ended["status"], ended["retries"]) == ("COMPLETED", 1)
    assert requests.post(f"{url}/retry/{told['id']}", headers=HEADERS, timeout=60).status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("status/none", None, 404),
        ("cancel/none", b"", 404),
        ("run", b"{}", 400),
        ("run", b'{"input": {}}', 400),
        ("run", b"[", 400),
        ("run", b'{"input": {"prompt": NaN}}', 400),
        ("run", b'{"input": {"prompt": "x"}, "policy": {"ttl": 5}}', 400),
        ("runsync?wait=soon", b'{"input": {"prompt": "x"}}', 400),
        ("run", b'{"input": {"prompt": "' + b"x" * (10 << 20) + b'"}}', 413),
    ],
    ids=[
        "unknown",
        "cancel unknown",
        "no input",
        "empty input",
        "no JSON",
        "NaN",
        "short ttl",
        "strange wait",
        "large",
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(service: Service, path: str, body: bytes | None, status: int) -> None:
    url = f"{service.url}/v2/ep/{path}"
    told = requests.get(url, timeout=60) if body is None else requests.post(url, data=body, headers=HEADERS, timeout=60)
    assert told.status_code == status
    assert isinstance(told.json()["error"], str)


def test_an_unknown_input_is_a_failed_call_and_not_a_failed_job(service: Service) -> None:
    url = f"{service.url}/v2/ep"
    names = [
        requests.post(f"{url}/run", headers=HEADERS, json={"input": given}, timeout=60).json()["id"]
        for given in ({"image": "x"}, CHAT)
    ]
    strange, known = (await_end(url, name) for name in names)
    assert (strange["status"], known["status"]) == ("FAILED", "COMPLETED")
    assert "missing_field" in strange["error"]


# OpenAI's API below an endpoint


def test_an_openai_client_is_answered_below_an_endpoint(service: Service) -> None:
    client = openai.OpenAI(
        base_url=f"{service.url}/v2/ep/openai/v1", api_key="k", max_retries=0, _strict_response_validation=False
    )
    answer = client.chat.completions.create(model="any", messages=[{"role": "user", "content": "hello"}])
    assert answer.choices[0].message.content == "echo: hello"
    pieces = client.chat.completions.create(model="any", messages=[{"role": "user", "content": "x"}], stream=True)
    assert tuple(piece.choices[0].delta.content for piece in pieces) == WORDS
    assert client.embeddings.create(model="any", input="text", encoding_format="float").data[0].embedding == [0.5, 1.0]
    assert [model.id for model in client.models.list()] == ["fake"]
    for is_stream in (False, True):
        with pytest.raises(openai.BadRequestError, match="no such thing"):
            client.chat.completions.create(
                model="any", messages=[{"role": "user", "content": "fail"}], stream=is_stream
            )


# Gathering, and a program that is killed


def test_calls_that_come_together_are_one_job(farm: Service) -> None:
    endpoint = runpod.Endpoint("my-endpoint")
    jobs = [endpoint.run({"messages": [{"role": "user", "content": f"ask {n}"}]}) for n in range(20)]
    farm.backend.let_go()  # type: ignore[attr-defined]
    said = [job.output(timeout=60)["choices"][0]["message"]["content"] for job in jobs]
    assert said == [f"echo: ask {n}" for n in range(20)]
    assert len(farm.backend.jobs) == 1


def test_a_call_that_was_asked_at_once_when_the_program_was_killed_is_asked_by_a_job(
    tmp_path: Path, engine: FakeServer
) -> None:
    from batches.runpod_shapes import Wanted

    with serve(tmp_path, engine.url) as service:
        left = Calls(service.core.store).add("ep", Wanted(CHAT), live=True)  # as a kill leaves it
    with serve(tmp_path, engine.url) as service:
        assert await_end(f"{service.url}/v2/ep", left.id)["status"] == "COMPLETED"
        assert len(service.backend.jobs) == 1
