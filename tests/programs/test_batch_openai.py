"""tools/batch_api.py through OpenAI's own client, with a server that stands in for vLLM behind the jobs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import APIStatusError, AsyncOpenAI, BadRequestError, NotFoundError, OpenAI
from openai.types import Batch

from support.batch_server import KEY, BatchServer, batch_server, wait_for
from support.fake_server import Asked, FakeServer, Fault

ENDED = ("completed", "failed", "cancelled", "expired")
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def engine() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.fixture(scope="module")
def server(engine: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BatchServer]:
    with batch_server(tmp_path_factory.mktemp("batches"), "-p", f"ServerUrl={engine.url}") as started:
        yield started


@pytest.fixture
def client(server: BatchServer) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.base}/v1", api_key=KEY, _strict_response_validation=True) as made:
        yield made


def line(custom_id: str, text: str, url: str = CHAT) -> dict[str, Any]:
    asked = {"messages": [{"role": "user", "content": text}]} if url == CHAT else {"input": text}
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": {"model": "gpt-4o-mini", **asked}}


def content(*lines: dict[str, Any] | str) -> bytes:
    return "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines).encode()


def upload(client: OpenAI, *lines: dict[str, Any] | str) -> str:
    return client.files.create(file=content(*lines), purpose="batch").id


def create(client: OpenAI, file: str, **more: Any) -> Batch:
    return client.batches.create(input_file_id=file, endpoint=CHAT, completion_window="24h", **more)


def finish(client: OpenAI, batch: Batch) -> Batch:
    found: Batch = wait_for(lambda: client.batches.retrieve(batch.id), lambda each: each.status in ENDED)
    return found


def lines_of(client: OpenAI, file: str | None) -> list[dict[str, Any]]:
    return [json.loads(each) for each in client.files.content(file).text.splitlines()] if file else []


def test_a_batch_goes_from_upload_to_results_and_errors(client: OpenAI) -> None:
    strange = "one\u2028line\u2029only\x85here"
    file = upload(client, line("a", strange), line("e", "vector", "/v1/embeddings"), "no json", line("a", "again"))
    batch = finish(client, create(client, file, metadata={"who": "me"}))

    assert (batch.status, batch.metadata) == ("completed", {"who": "me"})
    assert batch.request_counts
    assert batch.request_counts.model_dump() == {"total": 4, "completed": 2, "failed": 2}
    answers = {each["custom_id"]: each for each in lines_of(client, batch.output_file_id)}
    assert answers["a"]["response"]["body"]["choices"][0]["message"]["content"] == f"echo: {strange}"
    assert answers["e"]["response"]["body"]["data"]
    errors = lines_of(client, batch.error_file_id)
    assert {each["error"]["code"] for each in errors} == {"invalid_json_line", "duplicate_custom_id"}
    assert batch.errors
    assert batch.errors.data
    assert [(each.code, each.line) for each in batch.errors.data] == [
        ("invalid_json_line", 3),
        ("duplicate_custom_id", 4),
    ]
    assert batch.usage
    assert batch.usage.total_tokens == batch.usage.input_tokens + batch.usage.output_tokens > 0
    assert {batch.output_file_id, batch.error_file_id, file} <= {each.id for each in client.files.list()}


def test_a_create_that_is_sent_again_is_the_same_batch(client: OpenAI, engine: FakeServer) -> None:
    file = upload(client, line("once", "asked once only"))
    first, again = create(client, file), create(client, file)
    other = create(client, file, metadata={"run": "2"})
    keyed = [create(client, file, extra_headers={"Idempotency-Key": "k"}, metadata={"run": str(n)}) for n in (3, 4)]
    assert first.id == again.id != other.id
    assert keyed[0].id == keyed[1].id
    for each in (first, other, keyed[0]):
        finish(client, each)
    assert engine.asked["asked once only"] == 3


def test_batches_and_files_are_listed_in_pages(client: OpenAI) -> None:
    file = upload(client, "no line of it can be asked")
    made = [create(client, file, metadata={"n": str(n)}).id for n in range(5)]
    listed = [each.id for each in client.batches.list(limit=2)]
    assert listed[:5] == made[::-1]
    assert len(listed) == len(set(listed))
    files = [each.id for each in client.files.list(limit=1)]
    assert len(files) == len(set(files))
    assert files[0] == file
    assert [each.id for each in client.files.list(order="asc")] == files[::-1]
    assert finish(client, client.batches.retrieve(made[0])).status == "failed"


def test_a_batch_of_which_no_line_can_be_asked_fails_with_the_lines(client: OpenAI, engine: FakeServer) -> None:
    before = engine.asked.total()
    batch = finish(client, create(client, upload(client, line("a", "x", "/v1/nowhere"))))
    assert (batch.status, batch.output_file_id) == ("failed", None)
    assert batch.errors
    assert batch.errors.data
    assert [(each.code, each.line) for each in batch.errors.data] == [("invalid_url", 1)]
    assert engine.asked.total() == before


@pytest.mark.parametrize(
    ("call", "error", "param"),
    [
        (lambda c: c.files.retrieve("file-none"), NotFoundError, "id"),
        (lambda c: c.batches.retrieve("batch_none"), NotFoundError, "id"),
        (lambda c: c.batches.cancel("batch_none"), NotFoundError, "id"),
        (lambda c: create(c, "file-none"), NotFoundError, "id"),
        (lambda c: c.batches.list(limit=101), BadRequestError, "limit"),
        (lambda c: c.batches.list(after="batch_none"), NotFoundError, "id"),
        (lambda c: c.files.create(file=b"x", purpose="evals"), BadRequestError, "purpose"),
        (lambda c: c.post("/batches", cast_to=object, body={"endpoint": CHAT}), BadRequestError, "input_file_id"),
        (lambda c: c.post("/files", cast_to=object, body={}), BadRequestError, None),
    ],
)
def test_errors_are_the_apis_own(client: OpenAI, call: Any, error: type[APIStatusError], param: str | None) -> None:
    with pytest.raises(error) as raised:
        call(client)
    assert raised.value.type == "invalid_request_error"
    assert raised.value.param == param
    assert raised.value.message


def test_a_large_file_comes_in_parts(client: OpenAI, tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    path.write_bytes(content(line("a", "x" * 5000), line("b", "y" * 5000)))
    done = client.uploads.upload_file_chunked(file=path, mime_type="text/jsonl", purpose="batch", part_size=3000)
    assert done.status == "completed"
    assert done.file
    assert client.files.content(done.file.id).content == path.read_bytes()
    client.files.delete(done.file.id)
    with pytest.raises(NotFoundError):
        client.files.retrieve(done.file.id)
    given_up = client.uploads.create(bytes=10, filename="x", mime_type="", purpose="batch")
    assert client.uploads.cancel(given_up.id).status == "cancelled"


def test_what_a_cancelled_batch_did_not_ask_is_in_its_error_file(tmp_path: Path) -> None:
    def script(asked: Asked) -> Fault | None:
        return Fault(wire="hang") if asked.text == "slow" else None

    with FakeServer(script) as engine, batch_server(tmp_path, "-p", f"ServerUrl={engine.url}") as server:
        client = OpenAI(base_url=f"{server.base}/v1", api_key=KEY, _strict_response_validation=True)
        batch = create(client, upload(client, line("fast", "fast"), line("slow", "slow")))
        wait_for(lambda: client.batches.retrieve(batch.id).request_counts, lambda counts: counts.completed == 1)
        assert client.batches.cancel(batch.id).status == "cancelling"
        ended = finish(client, batch)
        assert ended.status == "cancelled"
        assert [each["custom_id"] for each in lines_of(client, ended.output_file_id)] == ["fast"]
        [left] = lines_of(client, ended.error_file_id)
        assert (left["custom_id"], left["error"]["code"]) == ("slow", "batch_cancelled")
        assert client.batches.cancel(batch.id).status == "cancelled"
        client.close()


def test_the_asynchronous_client_reads_the_same(server: BatchServer, client: OpenAI) -> None:
    def read(batch: str) -> str:
        return client.batches.retrieve(batch).status

    async def run() -> str | None:
        async with AsyncOpenAI(base_url=f"{server.base}/v1", api_key=KEY, _strict_response_validation=True) as other:
            file = await other.files.create(file=content(line("a", "async")), purpose="batch")
            made = await other.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="1h")
            await asyncio.to_thread(wait_for, lambda: read(made.id), lambda status: status in ENDED)
            batch = await other.batches.retrieve(made.id)
            assert batch.output_file_id
            return (await other.files.content(batch.output_file_id)).text

    assert "echo: async" in str(asyncio.run(run()))


def test_the_models_are_listed(client: OpenAI) -> None:
    [model] = client.models.list()
    assert client.models.retrieve(model.id) == model
