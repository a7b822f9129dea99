"""One request to the server by aiohttp, and what its outcome means.

aiohttp and not the `openai` client, which takes several times the CPU a row (`benchmarks/run_all.py 4` prints both) and
longer to import: the engine waits for both. There are no retries here and no time limit but the connection's:
`dispatch` decides on both, since only it knows whether the server makes progress.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator, Mapping
from typing import Any, Self

import aiohttp

from asking.reading import read_answer, read_refusal
from asking.unanswered import Unanswered
from dialects.exchange import MESSAGE_LIMIT, Answer, Ask, Failure
from engine.address import find_proxy, locate, make_headers
from rows.errors import RowError
from rows.json_text import shorten

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 2.0  # an idle connection is not used again after this; servers close theirs after 5 and more
OTHER_FILES = 64  # open files beside the connections: the shard, the input, a look at the server
HEADER_LIMIT = 1 << 16  # bytes of one header of an answer
_JSON = {"Content-Type": "application/json"}


def room_for(wanted: int) -> int:
    """Return how many connections may be open at once, `wanted` at most: each takes one of the process's open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + OTHER_FILES
    if 0 <= soft < needed:  # -1 is no limit
        soft = needed if hard < 0 else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft < 0 else max(1, min(wanted, soft - OTHER_FILES))


class Client:
    """Sends asks to one server. Use as an asynchronous context manager.

    A server beyond this machine and its network is asked by the environment's proxy, where that names one.
    """

    def __init__(self, url: str, key: str, concurrency: int) -> None:
        self._base, self._key, self._proxy = url, key, find_proxy(url) or None
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=concurrency + 8, keepalive_timeout=IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            headers=make_headers(url, key),
            cookie_jar=aiohttp.DummyCookieJar(),
            max_field_size=HEADER_LIMIT,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def post(self, ask: Ask, encoded: bytes, files: Mapping[str, tuple[str, bytes]] | None = None) -> Answer:
        """Send one request and return its 2xx answer. Raises Unanswered for everything else."""
        data, headers = (encoded, _JSON) if files is None else (_form(ask.body, files), None)
        try:
            async with self._session.post(
                locate(self._base, ask.route), data=data, headers=headers, allow_redirects=False, proxy=self._proxy
            ) as response:
                content = await response.read()
        except (aiohttp.ClientError, OSError) as error:  # a time limit is an OSError, too
            message = f"the connection to the server failed: {str(error) or type(error).__name__}"[:MESSAGE_LIMIT]
            unsent = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
            lost = not isinstance(error, aiohttp.ClientResponseError)  # there was an answer, though not in HTTP
            raise Unanswered(Failure("connection_lost", message), passing=True, lost=lost, unsent=unsent) from None
        if not 200 <= response.status < 300:
            raise read_refusal(response.status, content, response.headers, self._key)
        return read_answer(ask.route, response.status, content, response.headers, self._key)


def _form(body: Mapping[str, Any], files: Mapping[str, tuple[str, bytes]]) -> aiohttp.FormData:
    """Return a body as the form that OpenAI's API takes: `[]` follows a list's name, brackets hold a member's."""
    form = aiohttp.FormData()
    for name, value in _fields(body):
        if not (name.isascii() and name.isprintable()):
            raise RowError("invalid_value", f"the field {shorten(name)} cannot be sent beside a file; leave it out")
        form.add_field(name, value)
    for name, (file_name, content) in files.items():
        form.add_field(name, content, filename=file_name)
    return form


def _fields(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _fields(member, f"{name}[{key}]" if name else key)
    elif isinstance(value, list):
        for member in value:
            yield from _fields(member, f"{name}[]")
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value)
