"""One request to the server by aiohttp, and what its outcome means.

aiohttp and not the `openai` client, which takes several times the CPU a row (`benchmarks/run_all.py 4` prints both) and
longer to import: the engine waits for both. There are no retries here and no time limit but the connection's:
`dispatch` decides on both, since only it knows whether the server makes progress.
"""

from __future__ import annotations

import json
import resource
import time
import uuid
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Self

import aiohttp

from dialects.exchange import MESSAGE_LIMIT, Answer, Ask, Failure
from dialects.reply import is_given_up
from host import transfer
from rows.errors import CODES, RowError
from rows.row import escape_separators, shorten

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 2.0  # an idle connection is not used again after this; servers close theirs after 5 and more
OTHER_FILES = 64  # open files beside the connections: the shard, the input, a look at the server
HEADER_LIMIT = 1 << 16  # bytes of one header of an answer
_JSON = {"Content-Type": "application/json"}
_RESULTS = frozenset({"choices", "data", "output", "content", "results"})  # one of these is in an answer
_CODES = {code.status: name for name, code in CODES.items() if code.status}


class Unanswered(Exception):
    """An attempt without an answer. `passing` tells whether another may succeed, `after` the seconds to wait first.

    `lost` tells that the connection failed, so that the server itself may be gone; `unsent` that there never was one,
    so that the server did not see the request.
    """

    def __init__(
        self,
        failure: Failure,
        *,
        passing: bool,
        after: float | None = None,
        lost: bool = False,
        unsent: bool = False,
    ) -> None:
        super().__init__(failure.message)
        self.failure, self.passing, self.after, self.lost, self.unsent = failure, passing, after, lost, unsent

    @property
    def doubtful(self) -> bool:
        """Tell whether the server itself may be gone."""
        return self.lost or (self.failure.status or 0) >= 500


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

    No proxy is taken from the environment: loopback and the key are not for one.
    """

    def __init__(self, url: str, key: str, concurrency: int) -> None:
        self.url = url.rstrip("/")
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=concurrency + 8, keepalive_timeout=IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            headers={"Authorization": f"Bearer {key or 'none'}"},
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
                self.url + ask.route, data=data, headers=headers, allow_redirects=False
            ) as response:
                content = await response.read()
        except (aiohttp.ClientError, OSError) as error:  # a time limit is an OSError, too
            message = f"the connection to the server failed: {str(error) or type(error).__name__}"[:MESSAGE_LIMIT]
            unsent = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
            lost = not isinstance(error, aiohttp.ClientResponseError)  # there was an answer, though not in HTTP
            raise Unanswered(Failure("connection_lost", message), passing=True, lost=lost, unsent=unsent) from None
        if not 200 <= response.status < 300:
            raise _refused(response.status, content, response.headers)
        return _answer(response.status, content, response.headers)


def _means_error(value: dict[str, Any]) -> bool:
    """Tell whether a body under a 2xx is an error, as gateways send, or a response that failed (OpenAI's Responses)."""
    if value.get("object") == "error" or value.get("status") == "failed":
        return True
    return bool(value.get("error")) and not any(value.get(name) for name in _RESULTS)


def _error_inside(status: int, text: str, value: dict[str, Any]) -> Unanswered:
    inner = value["error"] if isinstance(value.get("error"), dict) else value
    told = inner.get("code")
    own = told if isinstance(told, int) and 400 <= told < 600 else None
    code, passing = _meaning(own or 500)
    message = f"under HTTP {status} the server sent an error: {_message(value) or text}"[:MESSAGE_LIMIT]
    return Unanswered(Failure(code, message, own, body=text if own else ""), passing=passing)


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


def _answer(status: int, content: bytes, headers: Mapping[str, str]) -> Answer:
    try:
        text, value = parsed(content)
    except ValueError:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        another = bool(kind) and not kind.endswith("json")  # the server means it, and would send the same again
        message = f"the server answered in {shorten(kind)}" if another else "it was cut off or garbled"
        failure = Failure("invalid_answer", f"the server's answer is not JSON: {message}", status)
        raise Unanswered(failure, passing=not another) from None
    if isinstance(value, dict) and _means_error(value):
        raise _error_inside(status, text, value)
    if is_given_up(value):
        message = "the engine gave the request up before its answer was whole"
        raise Unanswered(Failure("aborted", message, status), passing=True)
    return Answer(status, text, value, headers.get("x-request-id") or f"req_{uuid.uuid4().hex}")


def parsed(content: bytes) -> tuple[str, Any]:
    """Return a JSON body as one line of text to every reader, otherwise unchanged, and its value.

    Raises ValueError for what is not JSON (NaN is not) or not an object.
    """
    try:
        text = content.decode("utf-8-sig").strip()
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict | list):
        raise ValueError("not an object")  # noqa: TRY004 - the caller asks whether the bytes are an answer
    one_line = text.replace("\r", " ").replace("\n", " ") if "\n" in text or "\r" in text else text
    return escape_separators(one_line), value


def _refuse(name: str) -> None:
    raise ValueError(name)


def _refused(status: int, content: bytes, headers: Mapping[str, str]) -> Unanswered:
    try:
        body, value = parsed(content)
    except ValueError:
        body, value = "", None
    message = _message(value)
    if 300 <= status < 400:
        elsewhere = headers.get("location", "?").partition("?")[0]  # a query may hold a secret
        message = f"the server answers elsewhere, at {elsewhere}; set ServerUrl to that address"
    message = message or content[:MESSAGE_LIMIT].decode("utf-8", "replace") or f"HTTP {status}"
    code, passing = _meaning(status)
    failure = Failure(code, message[:MESSAGE_LIMIT], status, body=body if isinstance(value, dict) else "")
    return Unanswered(failure, passing=passing, after=_retry_after(headers))


def _meaning(status: int) -> tuple[str, bool]:
    """Return an HTTP status's error code, and whether a later attempt may pass."""
    code = _CODES.get(status, "server_error" if status >= 500 else "invalid_request")
    return code, transfer.may_pass(status)


def _message(value: Any) -> str:
    """Return the server's words: OpenAI's `error.message`, or FastAPI's `detail`."""
    error = value.get("error", value) if isinstance(value, dict) else value
    found = error.get("message") or error.get("detail") if isinstance(error, dict) else error
    return found if isinstance(found, str) else json.dumps(found) if found else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the server asks for, in either form of RFC 9110, section 10.2.3."""
    text = headers.get("retry-after", "")
    try:
        seconds = float(text) if text.isdecimal() else parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds)
