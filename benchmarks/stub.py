"""A server on loopback that costs next to nothing: what the client and the chunk program are measured against.

usage: stub.py SECONDS      prints its address, answers every POST after SECONDS with the same chat completion

GET /stats tells how many requests came, how many were in flight at most, and when the first came (seconds since 1970).
It stands on asyncio's protocols alone, so that on a machine with few cores it leaves them to what is measured.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass

MODEL = "stub"
ANSWER = {
    "id": "chatcmpl-0123456789abcdef",
    "object": "chat.completion",
    "created": 1700000000,
    "model": MODEL,
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "The quick brown fox jumps over the lazy dog. " * 6},
            "logprobs": None,
            "finish_reason": "stop",
            "stop_reason": None,
        }
    ],
    "usage": {"prompt_tokens": 40, "completion_tokens": 64, "total_tokens": 104, "prompt_tokens_details": None},
    "prompt_logprobs": None,
}
MODELS = {"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 4096}]}
ROUTES = {"paths": {"/v1/chat/completions": {"post": {"summary": "chat"}}}}


@dataclass
class Stats:
    """What came in since the last look."""

    requests: int = 0
    in_flight: int = 0
    peak: int = 0
    first: float = 0.0


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests on it come one after another."""

    stats = Stats()
    delay = 1.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        """Answer a request once all of it is here."""
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found or len(rest) < _length(head):
            return
        self._buffer = b""
        if head.startswith(b"POST"):
            self._post()
        else:
            self._get(head.split(b" ", 2)[1])

    def _post(self) -> None:
        stats = self.stats
        stats.first = stats.first or time.time()
        stats.requests += 1
        stats.in_flight += 1
        stats.peak = max(stats.peak, stats.in_flight)
        asyncio.get_running_loop().call_later(self.delay, self._answer)

    def _answer(self) -> None:
        self.stats.in_flight -= 1
        self._transport.write(_ANSWER)

    def _get(self, path: bytes) -> None:
        if path == b"/stats":
            reply = _response(asdict(self.stats))
            Connection.stats = Stats()
        else:
            reply = _response({b"/v1/models": MODELS, b"/openapi.json": ROUTES}.get(path, {}))
        self._transport.write(reply)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


def _response(value: object) -> bytes:
    body = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


_ANSWER = _response(ANSWER)


async def serve(delay: float) -> None:
    """Answer until the process is ended."""
    Connection.delay = delay
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
