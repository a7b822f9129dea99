"""A stand-in for the EC2 instance metadata service, for one agent, and its only way out.

The agent asks http://169.254.169.254 for a spot notice every second. Started with this server as its HTTP proxy, it
gets an answer here: none until `give_notice`, then an instance that ends in so many seconds, which the agent takes for
what it would be on EC2. Every other address is refused.
"""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BASE = "http://169.254.169.254/latest/"


class InstanceMetadata:
    """The server; `url` is what HTTP_PROXY is set to."""

    def __init__(self) -> None:
        """Start to serve on a free port of 127.0.0.1."""
        self.pages = {f"{BASE}api/token": "loopback-token"}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"pages": self.pages}))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def give_notice(self, seconds: int) -> None:
        """Say from now on that the instance is terminated in so many seconds."""
        end = (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.pages[f"{BASE}meta-data/spot/instance-action"] = json.dumps({"action": "terminate", "time": end})

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    pages: dict[str, str]

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        content = self.pages.get(self.path, "").encode()
        self.send_response(200 if content else 404)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_CONNECT = _serve
