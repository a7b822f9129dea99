"""tools/batch_api.py killed hard while a job runs: it goes on, asks no answered row twice, and leaves no process."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import requests
from openai import OpenAI

from support.batch_server import KEY, BatchServer, batch_server, wait_for
from support.fake_server import Asked, FakeServer, Fault
from support.programs import ROOT

ENDED = ("completed", "failed", "cancelled", "expired")
CHAT = "/v1/chat/completions"
TEXTS = ("one", "two", "held")
WAITING = ("IN_QUEUE", "IN_PROGRESS")
FAKE_VLLM = {"PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("tests", "tools", "tests/support/fake_vllm"))}


def client_of(server: BatchServer) -> OpenAI:
    return OpenAI(base_url=f"{server.base}/v1", api_key=KEY, _strict_response_validation=True)


def create(client: OpenAI, *texts: str) -> str:
    line = (
        '{{"custom_id": "{0}", "url": "'
        + CHAT
        + '", "body": {{"messages": [{{"role": "user", "content": "{0}"}}]}}}}\n'
    )
    file = client.files.create(file="".join(line.format(text) for text in texts).encode(), purpose="batch").id
    return client.batches.create(input_file_id=file, endpoint=CHAT, completion_window="24h").id


def finish(client: OpenAI, batch: str) -> Any:
    return wait_for(lambda: client.batches.retrieve(batch), lambda each: each.status in ENDED)


def marked_processes(folder: Path) -> list[str]:
    """Return the command lines of the live processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(folder).encode() in (text := (entry / "cmdline").read_bytes()):
                found.append(text.replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def test_a_killed_program_goes_on_with_its_job(tmp_path: Path) -> None:
    is_free = False

    def script(asked: Asked) -> Fault | None:
        return Fault(until=lambda: is_free) if asked.text == "held" and asked.nth == 1 else None

    with FakeServer(script) as engine, batch_server(tmp_path, "-p", f"ServerUrl={engine.url}") as server:
        client = client_of(server)
        batch = create(client, "one", "two", "held")
        wait_for(lambda: client.batches.retrieve(batch).request_counts, lambda counts: counts.completed == 2)
        server.kill()
        client.close()
        is_free = True
        server.start()
        client = client_of(server)
        ended = finish(client, batch)
        client.close()
        assert (ended.status, ended.request_counts.completed) == ("completed", 3)
        assert (engine.asked["one"], engine.asked["two"]) == (1, 1)


def test_an_engine_stays_for_the_next_batch_and_ends_with_the_program(tmp_path: Path) -> None:
    with batch_server(tmp_path, "-p", "ModelName=fake", "-p", "VllmArgs=", **FAKE_VLLM) as server:
        client = client_of(server)
        for text in ("first", "second"):
            assert finish(client, create(client, text)).request_counts.completed == 1, server.said()
        [log] = (tmp_path / "data" / "engine").glob("*/start.log")
        assert log.read_text().count("model load ") == 1
        client.close()
        server.kill()
        wait_for(lambda: marked_processes(tmp_path / "data" / "engine"), lambda left: not left)
        server.start()
        client = client_of(server)
        assert finish(client, create(client, "third")).request_counts.completed == 1
        client.close()
    assert not marked_processes(tmp_path)


@pytest.mark.parametrize("moment", ["they wait", "they are gathered", "they are asked"])
def test_single_calls_outlive_a_killed_program_and_are_asked_once(tmp_path: Path, moment: str) -> None:
    is_free = False

    def script(asked: Asked) -> Fault | None:
        return Fault(until=lambda: is_free) if asked.text == "held" and asked.nth == 1 else None

    with (
        FakeServer(script) as engine,
        batch_server(tmp_path, "-p", f"ServerUrl={engine.url}", "--gather-seconds=1") as server,
    ):
        names = [run(server, text) for text in TEXTS]
        if moment == "they are gathered":
            wait_for(lambda: batches_of_calls(tmp_path), lambda found: found != [""])
        if moment == "they are asked":
            wait_for(lambda: [engine.asked[text] for text in TEXTS], all)
        server.kill()
        is_free = True
        server.start()
        ended = [wait_for(lambda name=name: look(server, name), lambda told: told not in WAITING) for name in names]
        assert ended == ["COMPLETED"] * len(TEXTS), server.said()
        assert len(batches_of_calls(tmp_path)) == 1
        assert [engine.asked[text] for text in ("one", "two")] == [1, 1]


def run(server: BatchServer, text: str) -> str:
    """Send a call as RunPod's clients do; return its id."""
    asked = {"input": {"messages": [{"role": "user", "content": text}]}}
    answer = requests.post(f"{server.base}/v2/any/run", json=asked, timeout=60)
    return str(answer.json()["id"])


def look(server: BatchServer, name: str) -> str:
    """Return how far a call is."""
    return str(requests.get(f"{server.base}/v2/any/status/{name}", timeout=60).json()["status"])


def batches_of_calls(folder: Path) -> list[str]:
    """Return the batches that calls are bound to, "" for those that wait."""
    with contextlib.closing(sqlite3.connect(folder / "data" / "batches.sqlite", timeout=60)) as database:
        return [batch for (batch,) in database.execute("SELECT DISTINCT batch FROM calls")]
