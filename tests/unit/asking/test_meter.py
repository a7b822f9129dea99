"""What an engine did for a task: seconds by how full it was, and what it counted meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from asking import meter
from asking.meter import Meter


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Give the meter a clock that only the test moves."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(meter, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def measure(clock: SimpleNamespace, in_flight: Sequence[int], *pages: str | Exception) -> dict[str, float]:
    """Return what a meter of an engine of eight rows measures: so many in flight, a second each, and these pages."""
    waiting = iter(pages)

    async def look_at() -> str:
        page = next(waiting)
        if isinstance(page, Exception):
            raise page
        return page

    async def run() -> dict[str, float]:
        one = Meter(8, look_at, counts=bool(pages))
        for _ in pages[:-1]:
            await one.read_counts()
        for requests in in_flight:
            one.note_in_flight(requests)
            clock.now += 1
        return await one.end()

    return asyncio.run(run())


def page(generated: int, cache: float = 0.0) -> str:
    return f"vllm:generation_tokens_total {generated}.0\nvllm:kv_cache_usage_perc {cache}\n"


def test_seconds_are_told_by_how_full_the_engine_was(clock: SimpleNamespace) -> None:
    assert measure(clock, [0, 1, 2, 7, 8, 10, 1]) == {"idle": 1.0, "little": 2.0, "part": 2.0, "full": 2.0}


def test_what_was_counted_before_the_task_is_not_its_own(clock: SimpleNamespace) -> None:
    used = measure(clock, [], page(100, 0.2), page(150, 0.9), page(160, 0.1))
    assert (used["generated"], used["cache"]) == (60.0, 0.9)


def test_an_engine_that_was_started_again_counts_anew(clock: SimpleNamespace) -> None:
    assert measure(clock, [], page(100), page(150), page(30))["generated"] == 80.0


def test_a_page_that_cannot_be_had_costs_nothing_but_the_counters(clock: SimpleNamespace) -> None:
    assert measure(clock, [8], ConnectionError(), TimeoutError()) == {"idle": 0, "little": 0, "part": 0, "full": 1}
