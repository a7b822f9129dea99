"""Single rows asked of a running engine at once, for whoever waits: by the worker's own dialects and client.

A row becomes a request, and an answer becomes what a job would have written of it. Unlike a job's rows they are few and
somebody waits: a failure that may pass is tried again a few times, and no engine is brought back for them.
"""

from __future__ import annotations

import asyncio
import codecs
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import aiohttp

import bundle  # noqa: F401  (puts scripts/ on the path)
from asking.client import HEADER_LIMIT, Client
from asking.manners import Manners
from asking.pending import Pending, prepare
from asking.pressure import choose_pause
from asking.reading import read_answer, read_refusal
from asking.unanswered import Unanswered
from dialects.exchange import Answer, Ask, Failure
from dialects.line import RawLine, RowLine, read_line
from engine import routes
from engine.address import find_proxy, locate, make_headers
from engine.facts import Served
from results.terms import Terms

ATTEMPTS = 3
CONCURRENCY = 256  # requests in flight; the engine queues what it has no room for
STREAMED = frozenset({routes.CHAT, routes.COMPLETIONS})


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine: where it answers, its key, what it serves, and the parameters that its jobs have."""

    url: str
    key: str = field(repr=False)
    served: Served
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row: what a job adds to it, name to JSON text, and why it failed if it did."""

    results: dict[str, str]
    failure: Failure | None = None


class Live:
    """Asks one engine. Use as an asynchronous context manager."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._terms = Terms.of(engine.values)
        self._timeout = float(engine.values["RowTimeoutSeconds"])
        self._client = Client(engine.url, engine.key, CONCURRENCY)
        self._streams = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONCURRENCY),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10.0),
            headers=make_headers(engine.url, engine.key),
            cookie_jar=aiohttp.DummyCookieJar(),
            max_field_size=HEADER_LIMIT,
        )
        self._manners = Manners()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__()
        await self._streams.close()

    async def answer(self, raw: bytes) -> Outcome:
        """Ask a row and return what became of it."""
        return await self._settle(raw, self._post)

    async def stream(self, raw: bytes, tell: Callable[[dict[str, Any]], None]) -> Outcome:
        """Ask a row, tell of each piece of its answer as it comes, and return what became of it.

        An endpoint that answers whole tells of nothing.
        """

        async def post(pending: Pending) -> Answer:
            if pending.ask.route not in STREAMED:
                return await self._post(pending)
            return await self._stream(pending.ask, tell)

        return await self._settle(raw, post)

    async def _settle(self, raw: bytes, post: Callable[[Pending], Any]) -> Outcome:
        defaults = self._terms.defaults
        line: RowLine | None = None
        try:
            line = read_line(RawLine(1, raw))
            pending = prepare(line, defaults, self.engine.served, self._terms.server)
            async with asyncio.timeout(self._timeout):
                outcome = await self._ask(pending, post)
            if isinstance(outcome, Answer):
                return Outcome(line.dialect.read_answer(pending.ask, outcome, defaults))
            failure = outcome
        except TimeoutError:
            failure = Failure("request_timeout", f"no answer within {self._timeout:g} s (RowTimeoutSeconds)")
        except Exception as error:  # noqa: BLE001 - a row that cannot be asked, and what nobody thought of: this row's
            failure = Failure.of(error)
        return Outcome(line.dialect.read_failure(failure) if line else {}, failure)

    async def _ask(self, pending: Pending, post: Callable[[Pending], Any]) -> Answer | Failure:
        while True:
            pending.change(self._manners.adapt(pending.ask))
            try:
                answer: Answer = await post(pending)
                return answer
            except Unanswered as error:
                failed = error
            changed = self._manners.learn(pending.ask, failed.failure, again=pending.lowered)
            if changed is not None:
                pending.lowered = True
                pending.change(changed)
                continue
            pending.attempts += 1
            if not failed.passing or pending.attempts >= ATTEMPTS:
                return replace(failed.failure, attempts=pending.attempts)
            await asyncio.sleep(choose_pause(pending.attempts, failed.after))

    async def _post(self, pending: Pending) -> Answer:
        return await self._client.post(pending.ask, pending.encoded)

    async def _stream(self, ask: Ask, tell: Callable[[dict[str, Any]], None]) -> Answer:
        """Send a request for a stream; return the answer that it adds up to. Raises Unanswered."""
        body = {**ask.body, "stream": True, "stream_options": {"include_usage": True}}
        address = locate(self.engine.url, ask.route)
        seen: list[bytes] = []
        try:
            async with self._streams.post(
                address, json=body, allow_redirects=False, proxy=find_proxy(address) or None
            ) as response:
                if not 200 <= response.status < 300:
                    content = await response.read()
                    raise read_refusal(response.status, content, response.headers, self.engine.key)
                async for event in read_events(response.content.iter_any(), seen):
                    tell(event)
        except (aiohttp.ClientError, OSError) as error:
            message = f"the connection to the server failed: {str(error) or type(error).__name__}"
            raise Unanswered(Failure("connection_lost", message), passing=not seen, lost=True) from None
        return read_answer(ask.route, response.status, b"".join(seen), response.headers)


async def read_events(blocks: AsyncIterator[bytes], seen: list[bytes]) -> AsyncIterator[dict[str, Any]]:
    """Yield the JSON objects of an event stream as they come; `seen` receives its bytes."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    rest = ""
    async for block in blocks:
        seen.append(block)
        *lines, rest = (rest + decode(block)).split("\n")
        for line in lines:
            data = line.strip()
            if data.startswith("data:") and data != "data: [DONE]":
                event = _parse(data.removeprefix("data:"))
                if event is not None:
                    yield event


def _parse(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
