"""A server on loopback that answers each request by the next step of a script, and notes what was asked of it."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Scripted(http.server.BaseHTTPRequestHandler):
    """Answers each request by the next function of the server's script, and notes what was asked."""

    protocol_version = "HTTP/1.0"

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        headers = {name.title(): value for name, value in self.headers.items()}
        self.server.seen.append((self.command, self.path, headers, self.rfile.read(length)))  # type: ignore[attr-defined]
        script = self.server.script  # type: ignore[attr-defined]
        (script.pop(0) if len(script) > 1 else script[0])(self)

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


Step = Callable[[Scripted], None]


@contextmanager
def scripted(*script: Step) -> Iterator[Any]:
    """Run a server on loopback whose `seen` lists what was asked of it; the last step repeats."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted) as server:
        server.script, server.seen = list(script), []  # type: ignore[attr-defined]
        server.base = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:  # a test that fails must not wait for the thread
            server.shutdown()
            thread.join()


def status(code: int, body: bytes = b"", **headers: str) -> Step:
    return lambda request: request.reply(code, body, **headers)
