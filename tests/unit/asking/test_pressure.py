"""A server that refuses for having too much to do is asked less at once, and more again when it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from asking.pressure import Pressure
from support.scripted_time import ScriptedLoop, run


def on_scripted_time(coroutine: Coroutine[Any, Any, float]) -> float:
    return run(ScriptedLoop(), coroutine)


async def most_at_once(pressure: Pressure, wanted: int) -> int:
    """Return how many turns are given at once."""
    stop = asyncio.Event()
    given = 0

    async def take() -> None:
        nonlocal given
        async with pressure.turn(stop):
            if not stop.is_set():
                given += 1
            await stop.wait()

    tasks = [asyncio.create_task(take()) for _ in range(wanted)]
    await asyncio.sleep(60)
    count = given
    stop.set()
    pressure.wake()
    await asyncio.gather(*tasks)
    return count


def test_a_refusal_halves_what_is_in_flight_and_answers_bring_it_back() -> None:
    async def scenario() -> float:
        pressure, stop = Pressure(16), asyncio.Event()
        assert await most_at_once(pressure, 20) == 16
        async with pressure.turn(stop) as begun, contextless(pressure, 15):
            pressure.note_refusal(begun, None)
            pressure.note_refusal(begun - 1, None)  # sent before the cut
        assert await most_at_once(pressure, 20) == 8
        for _ in range(100):
            pressure.note_answer()
        return await most_at_once(pressure, 20)

    assert on_scripted_time(scenario()) == 16


def contextless(pressure: Pressure, turns: int) -> Any:
    """Hold so many turns."""

    class Held:
        async def __aenter__(self) -> None:
            self.turns = [pressure.turn(asyncio.Event()) for _ in range(turns)]
            for turn in self.turns:
                await turn.__aenter__()

        async def __aexit__(self, *_: object) -> None:
            for turn in self.turns:
                await turn.__aexit__(None, None, None)

    return Held()


def pause_after(*refusals: float | None, answered: bool = False) -> float:
    """Return for how long nothing is sent after refusals, one after the other."""

    async def scenario() -> float:
        pressure, stop = Pressure(4), asyncio.Event()
        loop = asyncio.get_running_loop()
        for asked in refusals:
            async with pressure.turn(stop) as begun:
                pressure.note_refusal(begun, asked)
            if answered:
                pressure.note_answer()
        before = loop.time()
        async with pressure.turn(stop) as begun:
            return begun - before

    return on_scripted_time(scenario())


def test_nothing_is_sent_for_a_while_where_nothing_is_answered_between_refusals() -> None:
    assert pause_after(None) == 0
    assert pause_after(None, None) == 0.5
    assert pause_after(None, None, None, None) == 2
    assert pause_after(None, 7) == 7


def test_one_row_that_is_to_come_back_tomorrow_holds_up_nobody() -> None:
    assert pause_after(86400.0, 86400.0) == 0.5
    assert pause_after(86400.0, 86400.0, answered=True) == 0
