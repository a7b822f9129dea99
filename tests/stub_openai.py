"""A server on loopback that answers every chat at once: what farm tests give as ServerUrl where no model matters."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MODEL = "stub"


class StubServer:
    """`with StubServer() as server`: answers "echo: " and the last message; `asked` holds the messages it answered."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"stub": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    stub: StubServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        known = {"/v1/models": {"data": [{"id": MODEL, "max_model_len": 4096}]}}
        self._reply(known.get(self.path))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["messages"][-1]["content"]
        self.stub.asked.append(text)
        message = {"role": "assistant", "content": f"echo: {text}"}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        self._reply({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})

    def _reply(self, value: Any) -> None:
        data = json.dumps(value or {"error": {"message": "no such path"}}).encode()
        self.send_response(200 if value else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: object) -> None:
        """Keep quiet."""
