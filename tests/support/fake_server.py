"""An OpenAI-compatible server on a real socket whose failures are scripted; standard library only.

`FakeServer(script)` asks `script(asked)` what to do with each request: None answers it, a `Fault` spoils it. It records
what was asked, how many requests were in flight at once, and the headers that came. `leave` and `come_back` let it
die and return on the same port.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Self

MODEL = "fake"
ROUTES = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/messages", "/v1/responses")
HANG = 3600.0  # seconds; longer than any test


@dataclass(frozen=True)
class Fault:
    """How to spoil an answer: another status, body or headers, or what happens to the connection.

    `drop` closes it before an answer, `reset` does so rudely, `cut` in the middle of the body, `drip` sends a byte at a
    time and never the last, `close` answers well and then closes without having said so (the keep-alive race), `hang`
    never answers. With `until`, nothing is answered before it holds.
    """

    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    wire: Literal["", "drop", "reset", "cut", "drip", "close", "hang"] = ""
    act: Callable[[], None] | None = None  # called before anything else
    until: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class Asked:
    """One request: `text` is its prompt, `nth` counts the requests with that text, `count` all of them, from 1."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    text: str
    nth: int
    count: int


class FakeServer:
    """`with FakeServer(script) as server`: listens on loopback, on a thread of its own."""

    def __init__(
        self,
        script: Callable[[Asked], Fault | None] = lambda _: None,
        *,
        delay: float = 0.0,
        port: int = 0,
        key: str = "",
    ) -> None:
        self.script, self.delay, self.port, self.key = script, delay, port, key
        self.asked: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.in_flight = self.most_in_flight = 0
        self.model, self.chat, self.lists, self.metrics = MODEL, True, True, ""
        self.pages: dict[str, Fault] = {}  # what a GET of a path answers instead of the usual; "*" is every path
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        """The server's address, as ServerUrl takes it."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self.come_back()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def come_back(self) -> None:
        """Listen, on the same port as before."""
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def leave(self) -> None:
        """Close the port and every connection, as a process that dies does."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        except asyncio.CancelledError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Take one request and answer it; return whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.headers.append(headers)
        if self.key and path.startswith("/v1") and headers.get("authorization") != f"Bearer {self.key}":
            return await _send(writer, Fault(401, b'{"error": "Unauthorized"}'))
        if method == "GET":
            page = self._page(path)
            while not page.until():  # noqa: ASYNC110 - what it tells of may be another thread's
                await asyncio.sleep(0.01)
            return await _send(writer, page)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await _send(writer, await self._answer(path, headers, json.loads(body)))
        finally:
            self.in_flight -= 1

    def _page(self, path: str) -> Fault:
        if changed := self.pages.get(path) or self.pages.get("*"):
            return changed
        pages: dict[str, Any] = {
            "/v1/models": {"data": [{"id": self.model, "max_model_len": 4096}]},
            "/openapi.json": {"paths": {route: {"post": {}} for route in ROUTES}},
            "/health": {},
        }
        if path == "/openapi.json" and not self.lists:
            return Fault(404, b'{"detail": "Not Found"}')
        if path in ROUTES:
            return Fault(405, b'{"detail": "Method Not Allowed"}')
        if path == "/metrics" and self.metrics:
            return Fault(body=self.metrics.encode())
        return Fault(body=json.dumps(pages[path]).encode()) if path in pages else Fault(404, b'{"detail": "Not Found"}')

    async def _answer(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Fault:
        text = text_of(body)
        self.asked[text] += 1
        asked = Asked(path, headers, body, text, self.asked[text], self.asked.total())
        if self.delay:
            await asyncio.sleep(self.delay)
        fault = self.script(asked) or Fault()
        if fault.act:
            fault.act()
        if path == ROUTES[0] and not self.chat:
            return Fault(400, b'{"error": {"message": "no chat template is set", "code": 400}}')
        while not fault.until():  # noqa: ASYNC110 - what it tells of may be another thread's
            await asyncio.sleep(0.01)
        if fault.wire == "hang":
            await asyncio.sleep(HANG)
        return fault if fault.body is not None else Fault(fault.status, answer(path, text), fault.headers, fault.wire)


def know_one_model(asked: Asked) -> Fault | None:
    """Refuse every model but the server's own, as vLLM does; a script."""
    words = f"The model `{asked.body['model']}` does not exist."
    return Fault(404, json.dumps({"error": {"message": words}}).encode()) if asked.body["model"] != MODEL else None


def text_of(body: dict[str, Any]) -> str:
    """Return what a request asks: its last message, prompt or input."""
    messages = body.get("messages")
    found = messages[-1].get("content") if messages else body.get("prompt", body.get("input", ""))
    return found if isinstance(found, str) else json.dumps(found)


def answer(path: str, text: str) -> bytes:
    """Return a good body: the text comes back after "echo: "."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    message = {"role": "assistant", "content": f"echo: {text}"}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
    bodies: dict[str, Any] = {
        ROUTES[0]: {"id": "c", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage},
        ROUTES[1]: {"choices": [{"index": 0, "text": f"echo: {text}", "finish_reason": "stop"}], "usage": usage},
        ROUTES[2]: {"data": [{"index": 0, "embedding": [0.5, 1.0]}], "usage": usage},
        ROUTES[3]: {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": f"echo: {text}"}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 3, "output_tokens": 2},
        },
    }
    return json.dumps(bodies.get(path, bodies[ROUTES[0]])).encode()


async def _send(writer: asyncio.StreamWriter, fault: Fault) -> bool:
    """Write an answer, spoilt as the fault says; return whether the connection goes on."""
    if fault.wire in ("drop", "reset"):
        if fault.wire == "reset":
            writer.transport.abort()
        return False
    body = fault.body or b""
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **fault.headers}
    head = [f"HTTP/1.1 {fault.status} X", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    writer.write("\r\n".join(head).encode("latin-1"))
    if fault.wire == "cut":
        writer.write(body[: len(body) // 2])
    elif fault.wire == "drip":
        for byte in body[:-1]:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.05)
        await asyncio.sleep(HANG)
    else:
        writer.write(body)
    await writer.drain()
    return fault.wire not in ("cut", "close")
