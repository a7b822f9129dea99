"""The bundle's programs on a farm that loses workers, with a server that answers at once in place of a model.

Real: submission, agents, attachments, download and the bundle. The scheduling is the harness's own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest

from support.farm import Agent, Farm, Job

pytestmark = pytest.mark.farm
BUNDLE = Path(__file__).resolve().parents[2]
HELD = (20, 30)  # the last lines of the second and third chunk of ten
LINES = range(1, 31)


class HoldingServer:
    """An OpenAI-compatible server that answers a chat with its prompt's length; prompts with "held" wait for `go`."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"holding": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.go.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    holding: HoldingServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._reply(200 if self.path == "/v1/models" else 404, {"data": [{"id": "stub", "max_model_len": 4096}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        self.holding.asked.append(prompt)
        if "held" in prompt:
            self.holding.go.wait()
        message = {"role": "assistant", "content": f"{len(prompt)} letters"}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        self._reply(200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})

    def _reply(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except ConnectionError:
            self.close_connection = True  # the worker that asked is gone


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    with Farm(tmp_path_factory.mktemp("farm")) as started:
        yield started


@pytest.fixture
def second(farm: Farm) -> Iterator[Agent]:
    agent = farm.start_agent()
    yield agent
    agent.close()


@pytest.fixture
def server() -> Iterator[HoldingServer]:
    with HoldingServer() as started:
        yield started


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "thirty.jsonl"
    lines = [{"id": n, "prompt": f"prompt {n}{' held' * (n in HELD)}"} for n in LINES]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def submit(farm: Farm, rows: Path, out: Path, server: HoldingServer, *options: str) -> Job:
    values = {
        "InputFile": rows,
        "OutputDir": out,
        "Prompts": "1-30",
        "ChunkSize": 10,
        "ServerUrl": server.url,
        "ModelName": "stub",
    }
    return farm.submit(BUNDLE, values, options=options)


def wait_until_both_are_held(farm: Farm, server: HoldingServer) -> None:
    """Wait until the chunk that nothing holds is done and each agent is in the middle of another."""
    farm.wait_until(lambda: sum("held" in prompt for prompt in server.asked) == len(HELD), "both agents are held")


def output(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "output" / "output.jsonl").read_text(encoding="utf-8").splitlines()]


def expected(rows: Path) -> list[tuple[int, str]]:
    wanted = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    return [(row["id"], f"{len(row['prompt'])} letters") for row in wanted]


def answers(out: Path) -> list[tuple[int, str]]:
    return [(row["id"], row.get("generated_text", "")) for row in output(out)]


def test_what_a_killed_agent_had_in_hand_is_answered_by_the_other(
    farm: Farm, second: Agent, server: HoldingServer, rows: Path, tmp_path: Path
) -> None:
    job = submit(farm, rows, tmp_path, server, "--max-retries-per-task", "0")
    wait_until_both_are_held(farm, server)
    lost = farm.wait_for_running_task(second, percent=1)
    farm.kill(second)
    server.go.set()
    assert farm.wait(job) == "SUCCEEDED"
    farm.download(job)
    assert lost.status == "RECLAIMED"
    assert answers(tmp_path) == expected(rows)
    assert (tmp_path / "output/errors.jsonl").read_bytes() == b""


def test_a_chunk_interrupted_by_a_spot_notice_is_answered_whole_by_another_agent(
    farm: Farm, second: Agent, server: HoldingServer, rows: Path, tmp_path: Path
) -> None:
    job = submit(farm, rows, tmp_path, server, "--max-retries-per-task", "0")
    wait_until_both_are_held(farm, server)
    interrupted = farm.wait_for_running_task(second, percent=1)
    second.give_spot_notice(seconds=20)  # so the agent leaves the chunk 19 at most
    second.wait()
    assert interrupted.status == "INTERRUPTED"
    server.go.set()
    assert farm.wait(job) == "SUCCEEDED"
    farm.download(job)
    assert answers(tmp_path) == expected(rows)


def test_a_cancelled_job_asks_nothing_more_and_its_finished_chunk_can_be_downloaded(
    farm: Farm, server: HoldingServer, rows: Path, tmp_path: Path
) -> None:
    job = submit(farm, rows, tmp_path, server)
    first_two = [f"prompt {n}{' held' * (n in HELD)}" for n in range(1, 21)]
    farm.wait_until(lambda: set(first_two) <= set(server.asked), "the second chunk is held at its last")
    farm.wait_until(lambda: job.counts["SUCCEEDED"] == 1, "the first chunk's end was told")
    running = farm.wait_for_running_task(farm.agents[0])
    farm.cancel(job)
    [session] = farm.sessions(job)
    farm.wait_until(lambda: "canceled: nothing more is sent" in farm.log(session), "the chunk heard of it")
    server.go.set()
    assert farm.wait(job) == "CANCELED"
    assert running.status == "CANCELED"
    asked = [prompt for prompt in server.asked if prompt.startswith("prompt")]  # not what readiness tries
    assert sorted(asked) == sorted(first_two)
    farm.download(job)
    assert len(list((tmp_path / "output/results").iterdir())) == 1


def test_nothing_was_asked_of_the_api_that_it_does_not_know(farm: Farm) -> None:
    assert (farm.api.unknown, farm.api.errors) == ([], [])
