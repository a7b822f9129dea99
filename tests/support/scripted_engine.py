"""The engines of a dispatcher's tests: they answer, die as scripted, and load again; no socket and no process."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest import mock

from asking import link as link_module
from asking import patience as patience_module
from asking.dispatcher import Dispatcher, Limits
from asking.fleet import Fleet
from asking.link import Link
from asking.patience import Patience
from asking.pending import Pending
from asking.trust import Trust
from asking.unanswered import Unanswered
from dialects.exchange import Answer, Ask, Failure
from engine.note import ServerGone
from support.scripted_time import ScriptedLoop, run

LOST = Failure("connection_lost", "the connection to the server failed")


@dataclass
class Engine:
    """`kills(line, nth)` tells whether a request is the engine's death; `nth` counts its requests since the load.

    A request is answered after up to `seconds`; one that kills does so after as long. Rows notice a death one after
    another, within `notice` seconds and in any order. It is ready after `late` seconds.
    """

    kills: Callable[[int, int], bool]
    seed: int = 0
    seconds: float = 10.0
    notice: float = 0.5
    loads: int = 1
    asked: Counter[int] = field(default_factory=Counter)
    blamed_at: list[tuple[int, ...]] = field(default_factory=list)
    alive: bool = True
    comes_back: Callable[[int], bool] = lambda load: True
    late: float = 0.0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.nth, self.died = 0, 0.0
        self.death = asyncio.Event()

    async def post(self, ask: Ask, *_: Any) -> Answer:
        if not self.alive:
            raise Unanswered(LOST, passing=True, lost=True, unsent=True)
        line, self.nth = ask.body["line"], self.nth + 1
        self.asked[line] += 1
        death, deadly = self.death, self.kills(line, self.nth)
        try:
            await asyncio.wait_for(death.wait(), self.random.uniform(0, self.seconds))
        except TimeoutError:
            if not deadly:
                return Answer(200, "{}", {"line": line}, "r")
            self.alive, self.died = False, asyncio.get_running_loop().time()
            death.set()
        await asyncio.sleep(self.random.uniform(0, self.notice))
        raise Unanswered(LOST, passing=True, lost=True)

    async def find_death(self) -> float | None:
        await asyncio.sleep(0.1)
        return None if self.alive else self.died

    async def recover(self) -> str:
        await asyncio.sleep(60)
        self.loads += 1
        if not self.comes_back(self.loads):
            raise ServerGone("it does not start")
        self.alive, self.nth, self.death = True, 0, asyncio.Event()
        return ""

    def abandon(self) -> None:
        """End nothing: a recovery ends by itself."""

    async def __aexit__(self, *_: object) -> None:
        """Close nothing."""

    async def metrics(self) -> str:
        return ""


@dataclass
class Report:
    """What a run left. `outcomes` is each line's code, "" for an answer."""

    engine: Engine  # the first of them
    outcomes: dict[int, str]
    told: Counter[int]
    rest: list[int]
    gone: ServerGone | None
    trust: Trust


def ask_all(
    lines: Iterable[int],
    *engines: Engine,
    concurrency: int = 8,
    trust: Trust | None = None,
    stop_after: float | None = None,
    stranger: int = 0,
) -> Report:
    """Ask these lines of some engines, each with so many in flight, on scripted time; `trust` is the first one's.

    `stranger` is a line of another chunk.
    """
    outcomes: dict[int, str] = {}
    told: Counter[int] = Counter()
    trusts = [trust or Trust(), *(Trust() for _ in engines[1:])]
    gone = None

    def done(pending: Pending, outcome: Answer | Failure) -> None:
        line = pending.ask.body["line"]
        told[line] += 1
        outcomes[line] = outcome.code if isinstance(outcome, Failure) else ""

    async def join(engine: Engine, trust: Trust) -> Dispatcher:
        await asyncio.sleep(engine.late)
        if not engine.alive:
            raise ServerGone("it never started")
        client: Any = engine
        patience = Patience(engine.metrics, engine.metrics)  # type: ignore[arg-type]
        link = Link(lambda _: client, "", 3600.0, engine, patience, trust)
        link.find_stranger = lambda: Ask("/v1/completions", {"line": stranger}) if stranger else None
        return Dispatcher(link, Limits(concurrency, 3), trust, done)

    async def ask() -> list[int]:
        nonlocal gone
        fleet = Fleet([partial(join, *each) for each in zip(engines, trusts, strict=True)])
        asks = (Ask("/v1/completions", {"line": line}) for line in lines)
        nobody: Any = None
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, fleet.stop)
        try:
            await fleet.run(Pending(nobody, ask, ask.encode()) for ask in asks)
        except ServerGone as error:
            gone = error
        return [pending.ask.body["line"] for pending in fleet.rest()]

    loop = ScriptedLoop()
    with mock.patch.object(link_module, "time", loop), mock.patch.object(patience_module, "time", loop):
        rest = run(loop, ask())
    return Report(engines[0], outcomes, told, rest, gone, trusts[0])
