"""The dispatcher by itself, where the programs around it would hide who asked first."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

import pytest

from asking.client import Client, Unanswered
from asking.dispatcher import Dispatcher, Limits
from asking.patience import Patience
from asking.pending import prepare
from dialects.exchange import Answer, Failure
from dialects.line import RawLine, read_line
from engine.note import ServerGone
from support.dialect_rows import JOB, SERVED

ROW = b'{"prompt": "x"}'


class Gone:
    """A server that is gone for good, and the client that finds no connection to it."""

    def __init__(self) -> None:
        self.recoveries = 0

    async def find_death(self) -> float | None:
        return time.monotonic()

    async def recover(self) -> str:
        self.recoveries += 1
        await asyncio.sleep(0)
        raise ServerGone("gone")

    def abandon(self) -> None:
        """End nothing: a recovery does not last."""

    async def post(self, *_: Any) -> None:
        raise Unanswered(Failure("connection_lost", "no connection"), passing=True, lost=True, unsent=True)

    async def __aexit__(self, *_: object) -> None:
        """Close nothing."""

    async def metrics(self) -> str:
        return ""


@pytest.mark.parametrize("concurrency", [1, 2, 30])
def test_a_server_that_cannot_be_brought_back_is_tried_once(concurrency: int) -> None:
    gone = Gone()

    async def asked() -> None:
        dispatcher = Dispatcher(
            lambda _: cast("Client", gone),
            "",
            Limits(concurrency, 3, 60.0),
            gone,
            Patience(gone.metrics, gone.metrics),  # type: ignore[arg-type]
            lambda *_: None,
        )
        await dispatcher.run(prepare(read_line(RawLine(line, ROW)), JOB, SERVED) for line in range(1, 31))

    with pytest.raises(ServerGone):
        asyncio.run(asked())
    assert gone.recoveries == 1


class Mortal:
    """A server that dies twice with all rows in flight, which notice it one after another."""

    def __init__(self, rows: int) -> None:
        self._rows, self._arrived, self.deaths = rows, 0, 0

    async def find_death(self) -> float | None:
        self.deaths += 1
        return time.monotonic()

    async def recover(self) -> str:
        self._arrived = 0
        return ""

    def abandon(self) -> None:
        """End nothing: a recovery does not last."""

    async def post(self, *_: Any) -> Answer:
        place, self._arrived = self._arrived, self._arrived + 1
        if self.deaths == 2:
            return Answer(200, "{}", {}, "")
        while self._arrived < self._rows:  # noqa: ASYNC110 - the others are on their way
            await asyncio.sleep(0)
        for _ in range(100 * place):
            await asyncio.sleep(0)
        raise Unanswered(Failure("connection_lost", "lost"), passing=True, lost=True)

    async def __aexit__(self, *_: object) -> None:
        """Close nothing."""

    async def metrics(self) -> str:
        return ""


def test_the_last_row_to_notice_a_death_is_not_blamed_for_it() -> None:
    server = Mortal(4)
    outcomes: list[Answer | Failure] = []

    async def asked() -> None:
        dispatcher = Dispatcher(
            lambda _: cast("Client", server),
            "",
            Limits(4, 3, 60.0),
            server,
            Patience(server.metrics, server.metrics),  # type: ignore[arg-type]
            lambda _, outcome: outcomes.append(outcome),
        )
        await dispatcher.run(prepare(read_line(RawLine(line, ROW)), JOB, SERVED) for line in range(1, 5))

    asyncio.run(asked())
    assert [type(outcome) for outcome in outcomes] == [Answer] * 4
    assert server.deaths == 2
