"""Parts of the batch APIs: a large body item by item, a stream piece by piece, and clients that are told."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from batches import json_items
from batches.calls import SCHEMA, Calls
from batches.json_items import NotJson, read_items
from batches.live import Engine, Live
from batches.models import Model
from batches.runpod_shapes import State, Wanted
from batches.store import Store
from batches.warm import Warm, read_all
from batches.webhooks import TRIES, tell_clients
from engine.address import Address
from engine.facts import Served
from engine.note import Engine as NoteEngine
from engine.note import Note, Settings, write_note
from host import addresses
from support.fake_server import FakeServer, Fault

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
CALL = {"messages": [{"role": "user", "content": "x"}]}


# A large body


@given(st.lists(VALUES), VALUES, st.integers(1, 40), st.sampled_from([None, 1]))
def test_items_are_those_of_the_list_however_the_body_is_cut(
    items: list[Any], beside: Any, block: int, indent: int | None
) -> None:
    body = json.dumps({"before": beside, "requests": items, "after": beside}, indent=indent, ensure_ascii=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_items, "_BLOCK", block)
        assert [*read_items(io.BytesIO(body.encode("utf-8", "surrogatepass")), "requests")] == items


@pytest.mark.parametrize(
    "body",
    [
        *("", "[]", "{", '{"requests": [1 2]}', '{"requests": [1]', '{"requests": [1]} x', '{"requests": [1.]}'),
        *('{"requests": [], "requests": []}', '{"requests": {}}', '{"other": []}', '{"requests": [Infinity]}'),
        '{"requests": ' + "[" * 100_000,
    ],
)
def test_a_body_that_is_no_such_object_is_refused_in_words(body: str) -> None:
    with pytest.raises(NotJson):
        list(read_items(io.BytesIO(body.encode()), "requests"))


# A stream


def test_a_piece_is_told_before_the_engine_has_the_next() -> None:
    """The stand-in sends its second piece only once the first one was told."""

    async def ask() -> tuple[list[str], str]:
        told, is_told = list[str](), asyncio.Event()

        async def answer(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await response.write(write_event("one"))
            await is_told.wait()
            await response.write(write_event(" two", "stop") + b"data: [DONE]\n\n")
            return response

        def tell(piece: dict[str, Any]) -> None:
            told.append(piece["choices"][0]["delta"]["content"])
            is_told.set()

        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        values = read_all({"ServerUrl": url, "ModelName": "m"})
        async with Live(Engine(url, "", Served("m"), values)) as live:
            outcome = await live.stream(Wanted(CALL).line, tell)
        await runner.cleanup()
        return told, json.loads(outcome.results["output"])["choices"][0]["message"]["content"]

    assert asyncio.run(ask()) == (["one", " two"], "one two")


def write_event(text: str, end: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": end}
    return b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"


def test_an_engine_that_was_loaded_anew_is_asked_with_its_own_key(tmp_path: Path) -> None:
    served = Note(Settings("m", 4096, 0.9, 0, "", 60.0), (NoteEngine(served=Served("m")),))
    write_note(served, tmp_path)

    @dataclass
    class Kept:
        key: str
        folder: Path = tmp_path

        @property
        def address(self) -> Address:
            return Address("http://127.0.0.1:9", self.key)

        @contextlib.contextmanager
        def use(self, parameters: Any) -> Iterator[Any]:
            yield self

    async def find_keys() -> list[str]:
        keeper = Kept("first")
        warm, keys = Warm(keeper), []
        for keeper.key in ("first", "second"):
            async with warm.use(Model("m", {"ModelName": "m"})) as live:
                keys.append(live.engine.key)
        await warm.close()
        return keys

    assert asyncio.run(find_keys()) == ["first", "second"]


# Clients that are told


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    store = Store(tmp_path, SCHEMA)
    yield Calls(store)
    store.close()


def end_call(calls: Calls, webhook: str) -> str:
    """Keep a call that has ended."""
    job = calls.add("ep", Wanted(CALL, webhook=webhook))
    calls.settle([(job.id, State.COMPLETED, '{"answer": 1}', "")])
    return job.id


@pytest.mark.parametrize("allow", ["", "127.0.0.1"], ids=["closed", "allowed"])
def test_a_client_is_told_once_and_none_on_a_closed_host(
    calls: Calls, allow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(addresses.ALLOW, allow)
    with FakeServer() as client:
        name = end_call(calls, f"{client.url}/told")
        for _ in range(2):
            asyncio.run(tell_clients(calls))
        assert client.asked.total() == (1 if allow else 0)
    assert calls.notices() == []
    assert calls.find("ep", name) is not None


def test_a_client_that_does_not_take_it_is_told_three_times(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(addresses.ALLOW, "127.0.0.1")
    monkeypatch.setattr("batches.webhooks.PAUSE_SECONDS", -1.0)  # due at once
    with FakeServer(lambda _: Fault(500, b"{}")) as client:
        end_call(calls, f"{client.url}/told")
        for _ in range(TRIES + 2):
            asyncio.run(tell_clients(calls))
        assert client.asked.total() == TRIES


def test_an_address_of_another_scheme_is_never_asked(calls: Calls) -> None:
    end_call(calls, "file:///etc/passwd")
    asyncio.run(tell_clients(calls))
    assert calls.notices() == []


# Calls


def test_a_call_that_waits_for_too_long_runs_out_of_time(calls: Calls) -> None:
    job = calls.add("ep", Wanted(CALL, ttl=-1.0))
    calls.expire()
    ended = calls.find("ep", job.id)
    assert ended is not None
    assert (ended.state, "ttl" in ended.error) == (State.TIMED_OUT, True)


def test_a_call_is_bound_to_one_batch_alone_and_ends_once(calls: Calls) -> None:
    job = calls.add("ep", Wanted(CALL))
    assert [calls.bind([job.id], "first"), calls.bind([job.id], "second")] == [1, 0]
    calls.settle([(job.id, State.COMPLETED, "1", "")])
    calls.settle_rest("first", State.FAILED, "late")
    ended = calls.find("ep", job.id)
    assert ended is not None
    assert (ended.state, ended.output, ended.batch) == (State.COMPLETED, "1", "first")
