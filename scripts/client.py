"""One request to the server through the `openai` client, and what its outcome means.

The client's own retries are off and its own time limit is off: `dispatch` decides on both, since only it knows whether
the server makes progress. The aiohttp transport is used where it is installed, it costs a third of the CPU time.
"""

from __future__ import annotations

import gc
import inspect
import json
import time
import uuid
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Self

from dialects.base import Answer, Ask, Failure
from rows import RowError

gc.disable()  # openai makes half a million objects that stay: looking through them takes a fifth of its import
import openai  # noqa: E402

gc.freeze()  # later collections leave them out, too: a seventh of the CPU time of a row
gc.enable()
if int(openai.__version__.split(".")[0]) >= 3:
    import httpx2 as http
else:
    import httpx as http  # type: ignore[no-redef]

CONNECT_SECONDS = 10.0
PASSING = frozenset({408, 409, 425, 429})  # what a later attempt can pass, besides every 5xx
IDLE_SECONDS = 2.0  # an idle connection is not used again after this; servers close theirs after 5 and more
_SENDS_BYTES = "content" in inspect.signature(openai.AsyncOpenAI.post).parameters  # spares a second encoding
_TELEMETRY = tuple(  # what the client tells of this machine with each request: a ninth of a row's CPU time
    f"X-Stainless-{name}" for name in ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
)
MESSAGE_LIMIT = 2_000  # characters of a server's words kept in an error
_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 408: "request_timeout", 413: "too_large"}
_CODES |= {429: "rate_limited", 503: "unavailable"}


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


class Client:
    """Sends asks to one server. Use as an asynchronous context manager."""

    def __init__(self, url: str, key: str, concurrency: int) -> None:
        self.url = url.rstrip("/")
        spare = concurrency + 8
        limits = http.Limits(max_connections=spare, max_keepalive_connections=spare, keepalive_expiry=IDLE_SECONDS)
        timeout = http.Timeout(None, connect=CONNECT_SECONDS)
        silenced: dict[str, Any] = dict.fromkeys(_TELEMETRY, openai.Omit())
        self._openai = openai.AsyncOpenAI(
            base_url=self.url,
            api_key=key or "none",
            max_retries=0,
            timeout=timeout,
            default_headers=silenced,
            http_client=_transport(limits, timeout, verify=self.url.lower().startswith("https:")),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._openai.close()

    async def post(self, ask: Ask, encoded: bytes, files: Mapping[str, Any] | None = None) -> Answer:
        """Send one request and return its 2xx answer. Raises Unanswered for everything else."""
        try:
            response = await self._openai.post(
                self.url + ask.route, cast_to=http.Response, **_payload(ask, encoded, files)
            )
        except openai.APIStatusError as error:
            raise _refused(error.status_code, error.response.content, error.response.headers) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            message = f"the connection to the server failed: {str(cause) or type(cause).__name__}"[:MESSAGE_LIMIT]
            unsent = isinstance(cause, http.ConnectError)
            raise Unanswered(Failure("connection_lost", message), passing=True, lost=True, unsent=unsent) from None
        return _answer(response.status_code, response.content, response.headers)


def _transport(limits: Any, timeout: Any, *, verify: bool) -> Any:
    """Return a transport that takes no proxy from the environment: loopback and the key are not for one.

    `verify` is only wanted for https: reading the certificates of all authorities takes a tenth of a second.
    """
    options = {"limits": limits, "timeout": timeout, "trust_env": False, "verify": verify}
    try:
        return openai.DefaultAioHttpClient(**options)
    except (AttributeError, RuntimeError):  # openai without its aiohttp extra
        return openai.DefaultAsyncHttpxClient(**options)


def _payload(ask: Ask, encoded: bytes, files: Mapping[str, Any] | None) -> dict[str, Any]:
    if files is None and _SENDS_BYTES:
        return {"content": encoded, "options": {"headers": {"Content-Type": "application/json"}}}
    if files is None:
        return {"body": ask.body}
    return {"body": ask.body, "files": files, "options": {"headers": {"Content-Type": "multipart/form-data"}}}


def _answer(status: int, content: bytes, headers: Mapping[str, str]) -> Answer:
    try:
        text, value = parsed(content)
    except ValueError:
        message = "the server's answer is not JSON: it was cut off or garbled"
        raise Unanswered(Failure("invalid_answer", message, status), passing=True) from None
    return Answer(status, text, value, headers.get("x-request-id") or f"req_{uuid.uuid4().hex}")


def parsed(content: bytes) -> tuple[str, Any]:
    """Return a JSON body as one line of text, otherwise unchanged, and its value.

    Raises ValueError for what is not JSON (NaN is not) or not an object.
    """
    try:
        text = content.decode("utf-8").strip()
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict | list):
        raise ValueError("not an object")  # noqa: TRY004 - the caller asks whether the bytes are an answer
    one_line = text.replace("\r", " ").replace("\n", " ") if "\n" in text or "\r" in text else text
    return one_line, value


def _refuse(name: str) -> None:
    raise ValueError(name)


def _refused(status: int, content: bytes, headers: Mapping[str, str]) -> Unanswered:
    try:
        body, value = parsed(content)
    except ValueError:
        body, value = "", None
    message = _message(value) or content[:MESSAGE_LIMIT].decode("utf-8", "replace") or f"HTTP {status}"
    code = _CODES.get(status, "server_error" if status >= 500 else "invalid_request")
    failure = Failure(code, message[:MESSAGE_LIMIT], status, body=body if isinstance(value, dict) else "")
    return Unanswered(failure, passing=status in PASSING or status >= 500, after=_retry_after(headers))


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


def surprise(error: Exception) -> Failure:
    """Return the failure of a row that met an error which nobody thought of."""
    return Failure("internal_error", f"{type(error).__name__}: {error}"[:MESSAGE_LIMIT])


def refusal(error: RowError) -> Failure:
    """Return the failure of a row that could not be asked or whose answer cannot be used."""
    return Failure(error.code, error.message)
