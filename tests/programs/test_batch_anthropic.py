"""The official client of Anthropic's Message Batches, strict about every response, against the real application."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest

from batches.batch import State
from batches.models import Model, Models
from support.batch_service import Programs, Service, serve
from support.fake_server import Asked, FakeServer, Fault


def make_requests(count: int, model: str = "fake") -> list[Any]:
    """Return requests that ask `ask 0` and so on."""
    return [make_request(f"q-{n}", f"ask {n}", model) for n in range(count)]


def make_request(name: str, text: str, model: str = "fake") -> Any:
    params = {"model": model, "max_tokens": 16, "messages": [{"role": "user", "content": text}]}
    return {"custom_id": name, "params": params}


def refuse_three(asked: Asked) -> Fault | None:
    """Refuse one request as an Anthropic server would."""
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "three is too many"}}
    return Fault(400, json.dumps(body).encode()) if asked.text == "ask 3" else None


@pytest.fixture
def engine() -> Iterator[FakeServer]:
    with FakeServer(refuse_three) as server:
        yield server


@pytest.fixture
def service(tmp_path: Path, engine: FakeServer) -> Iterator[Service]:
    with serve(tmp_path, engine.url) as one:
        yield one


class Held(Programs):
    """A back-end whose jobs begin once they are let go, or are cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()
        self.before = lambda _: bool(self.let_go.wait(60)) and None


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def held_service(tmp_path: Path, engine: FakeServer, held: Held) -> Iterator[Service]:
    with serve(tmp_path, engine.url, backend=held) as one:
        yield one
        held.is_over = True
        held.let_go.set()


def client_of(service: Service) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=service.url, api_key="any", max_retries=0, _strict_response_validation=True)


def await_end(client: anthropic.Anthropic, name: str) -> Any:
    while (batch := client.messages.batches.retrieve(name)).processing_status != "ended":
        time.sleep(0.05)
    return batch


def test_a_batch_is_made_polled_read_and_deleted_as_at_anthropic(service: Service) -> None:
    client = client_of(service)
    made = client.messages.batches.create(requests=[*make_requests(5), make_request("line\u2028end", "a\u2028b")])
    assert (made.processing_status, made.request_counts.processing, made.results_url) == ("in_progress", 6, None)
    ended = await_end(client, made.id)
    assert (ended.request_counts.succeeded, ended.request_counts.errored) == (5, 1)
    found = {line.custom_id: line.result for line in client.messages.batches.results(made.id)}
    assert sorted(found) == sorted([*(f"q-{n}" for n in range(5)), "line\u2028end"])
    assert found["q-0"].message.content[0].text == "echo: ask 0"
    assert found["q-3"].error.error.message == "three is too many"
    assert found["line\u2028end"].message.content[0].text == "echo: a\u2028b"
    assert client.messages.batches.delete(made.id).type == "message_batch_deleted"
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.retrieve(made.id)


def test_a_batch_that_is_cancelled_before_its_job_asks_ends_canceled(held_service: Service, held: Held) -> None:
    client = client_of(held_service)
    made = client.messages.batches.create(requests=make_requests(3))
    cancelled = client.messages.batches.cancel(made.id)
    assert cancelled.processing_status == "canceling"
    assert cancelled.cancel_initiated_at is not None
    held.let_go.set()
    assert await_end(client, made.id).request_counts.canceled == 3
    assert {line.result.type for line in client.messages.batches.results(made.id)} == {"canceled"}


def test_a_running_batch_has_no_results_and_stays(held_service: Service) -> None:
    client = client_of(held_service)
    made = client.messages.batches.create(requests=make_requests(1))
    with pytest.raises(anthropic.BadRequestError, match="still in progress"):
        client.messages.batches.delete(made.id)
    with pytest.raises(anthropic.AnthropicError, match="results_url"):
        client.messages.batches.results(made.id)
    assert httpx.get(f"{held_service.url}/v1/messages/batches/{made.id}/results").status_code == 404


def test_a_create_that_is_sent_again_is_the_same_batch(held_service: Service, held: Held) -> None:
    client = client_of(held_service)
    first, again = (client.messages.batches.create(requests=make_requests(2)) for _ in range(2))
    other = client.messages.batches.create(requests=make_requests(3))
    assert (first.id == again.id, first.id == other.id) == (True, False)


def test_lists_are_walked_page_by_page_newest_first(held_service: Service) -> None:
    client = client_of(held_service)
    made = [client.messages.batches.create(requests=make_requests(n)).id for n in range(1, 6)]
    assert [batch.id for batch in client.messages.batches.list(limit=2)] == made[::-1]
    page = client.messages.batches.list(limit=2, before_id=made[1])
    assert ([batch.id for batch in page.data], page.has_more) == ([made[3], made[2]], True)


@pytest.mark.parametrize(
    ("requests", "words"),
    [
        ([], "at least one request"),
        ([*make_requests(1), *make_requests(1)], "requests.1.custom_id"),
        ([{"custom_id": "", "params": {}}], "requests.0.custom_id"),
        ([{"custom_id": "a", "params": 5}], "requests.0.params"),
        ([17], "requests.0"),
    ],
    ids=["none", "twice one name", "no name", "no parameters", "no object"],
)
def test_a_batch_that_cannot_be_is_refused_in_the_apis_words(service: Service, requests: Any, words: str) -> None:
    with pytest.raises(anthropic.BadRequestError, match=words) as told:
        client_of(service).messages.batches.create(requests=requests)
    assert told.value.body["error"]["type"] == "invalid_request_error"  # type: ignore[index]
    assert service.core.batches.active() == []


@pytest.mark.parametrize("body", [b"{", b'{"requests": [NaN]}', b'{"other": 1}', b"\xff", b'{"requests": {}}'])
def test_a_body_that_is_no_batch_is_refused(service: Service, body: bytes) -> None:
    told = httpx.post(f"{service.url}/v1/messages/batches", content=body)
    assert (told.status_code, told.json()["type"]) == (400, "error")


def test_requests_for_a_model_that_is_not_there_are_errored_beside_the_others(
    tmp_path: Path, engine: FakeServer
) -> None:
    parameters = {"ServerUrl": engine.url, "ModelName": "fake"}
    models = Models((Model("claude-mine", parameters, ("claude-alias",)), Model("other", parameters)))
    with serve(tmp_path, engine.url, models=models) as service:
        client = client_of(service)
        asked = [
            make_request("a", "x", "nobody"),
            make_request("b", "y", "claude-alias"),
            make_request("c", "z", "other"),
        ]
        made = client.messages.batches.create(requests=asked)
        ended = await_end(client, made.id)
        found = {line.custom_id: line.result for line in client.messages.batches.results(made.id)}
    assert (ended.request_counts.succeeded, ended.request_counts.errored) == (1, 2)
    assert found["b"].type == "succeeded"
    assert found["a"].error.error.type == found["c"].error.error.type == "not_found_error"


def test_a_job_that_leaves_nothing_errors_every_request(tmp_path: Path, engine: FakeServer) -> None:
    parameters = {"ServerUrl": engine.url, "ModelName": "fake", "SamplingParams": "{broken"}
    with serve(tmp_path, engine.url, models=Models((Model("fake", parameters),), any_name=True)) as service:
        client = client_of(service)
        made = client.messages.batches.create(requests=make_requests(2))
        ended = await_end(client, made.id)
        found = [line.result for line in client.messages.batches.results(made.id)]
        assert service.core.batches.get(made.id).state == State.FAILED  # type: ignore[union-attr]
    assert ended.request_counts.errored == 2
    assert {result.error.error.type for result in found} == {"api_error"}
    assert all("SamplingParams" in result.error.error.message for result in found)


def test_what_was_not_asked_before_the_end_of_time_is_expired(tmp_path: Path, engine: FakeServer) -> None:
    """A batch whose StopAt passes while its job begins: the worker's own programs leave each row unasked."""
    backend = Programs()
    with serve(tmp_path, engine.url, backend=backend) as service:
        backend.before = lambda job: job.parameters.update(StopAt="2020-01-01T00:00:00Z")  # type: ignore[attr-defined]
        client = client_of(service)
        made = client.messages.batches.create(requests=make_requests(2))
        ended = await_end(client, made.id)
        found = {line.result.type for line in client.messages.batches.results(made.id)}
    assert (ended.request_counts.expired, found) == (2, {"expired"})


def test_the_asynchronous_client_walks_the_same_way(service: Service) -> None:
    async def walk() -> list[str]:
        async with anthropic.AsyncAnthropic(
            base_url=service.url, api_key="any", max_retries=0, _strict_response_validation=True
        ) as client:
            made = await client.messages.batches.create(requests=make_requests(2))
            await asyncio.to_thread(await_end, client_of(service), made.id)
            assert (await client.messages.batches.retrieve(made.id)).processing_status == "ended"
            return [line.custom_id async for line in await client.messages.batches.results(made.id)]

    assert asyncio.run(walk()) == ["q-0", "q-1"]


@pytest.mark.parametrize("header", [{"x-api-key": "sesame"}, {"Authorization": "Bearer sesame"}], ids=["old", "new"])
def test_both_ways_of_sending_a_key_are_taken(tmp_path: Path, engine: FakeServer, header: dict[str, str]) -> None:
    with serve(tmp_path, engine.url, key="sesame") as service:
        url = f"{service.url}/v1/messages/batches"
        assert httpx.get(url, headers=header).status_code == 200
        assert (
            httpx.get(url, headers=dict.fromkeys(header, "Bearer no")).json()["error"]["type"] == "authentication_error"
        )
