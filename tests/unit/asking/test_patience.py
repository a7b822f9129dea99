"""How long a server is waited for: its queue is no row's fault, and one that makes no progress is stuck."""

from __future__ import annotations

import asyncio
import email.message
import itertools
import urllib.error
from types import SimpleNamespace

import pytest

from asking import patience
from asking.patience import Patience, Reading, read_metrics
from asking.unanswered import Unanswered

NEVER, AT_ONCE = 3600.0, 1e-9  # seconds
NONE = urllib.error.HTTPError("http://x/metrics", 404, "Not Found", email.message.Message(), None)


def page(tokens: float, waiting: float = 0.0) -> str:
    """Return a /metrics page, with a few lines that do not count."""
    return (
        f'# HELP vllm:generation_tokens_total x\nvllm:generation_tokens_total{{model_name="m"}} {tokens}\n'
        f'vllm:num_requests_running{{model_name="m"}} 3.0\nvllm:num_requests_waiting{{model_name="m"}} {waiting}\n'
        'vllm:prompt_tokens_total{engine="0",model_name="m"} 7.0\npython_gc_objects_total{generation="0"} 5.0\n'
    )


def test_a_page_is_read_as_work_and_queue() -> None:
    assert read_metrics(page(5, 2)) == Reading(12, 2)


@pytest.mark.parametrize("text", ["", "not a page", "process_cpu_seconds_total 5.0", "vllm:prompt_tokens_total x"])
def test_a_page_without_counters_says_nothing(text: str) -> None:
    assert read_metrics(text) is None


def stuck_after(*pages: str | Exception, busy: bool = True) -> int:
    """Return how often the server was found stuck over looks at these pages."""
    found = 0

    async def look_at() -> str:
        seen = next(waiting)
        if isinstance(seen, Exception):
            raise seen
        return seen

    async def stuck() -> None:
        nonlocal found
        found += 1

    async def looks() -> None:
        patience = Patience(look_at, stuck, stall=AT_ONCE)
        for _ in pages:
            await patience.look(busy=busy)

    waiting = iter(pages)
    asyncio.run(looks())
    return found


@pytest.mark.parametrize(
    ("pages", "times"),
    [
        ([page(1), page(2), page(3)], 0),
        ([page(1), page(1)], 1),
        ([page(1), TimeoutError(), ConnectionError()], 2),
        (["", "", ""], 0),
        ([NONE, NONE], 0),
    ],
    ids=["its counters move", "they stand still", "it does not answer", "it counts nothing", "it has no such page"],
)
def test_a_server_is_stuck_when(pages: list[str | Exception], times: int) -> None:
    assert stuck_after(*pages) == times


def test_a_server_with_nothing_to_do_is_not_stuck() -> None:
    assert stuck_after(page(1), page(1), page(1), busy=False) == 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Give patience a clock that only the test moves."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def waited(clock: SimpleNamespace, limit: float, waiting: float, *, looks: int) -> str:
    """Wait for an attempt that ends after so many looks, a second apart by the clock, at a server that works.

    It has so many requests queued. An attempt without an end is one of too many looks to wait for.
    """

    async def wait() -> str:
        tokens = itertools.count()

        async def look_at() -> str:
            return page(next(tokens), waiting)

        async def stuck() -> None:
            pytest.fail("a server that works is not stuck")

        async def attempt() -> str:
            for _ in range(looks):
                await asyncio.sleep(0.03)  # several of the limits below, each of which makes it look at the clock
                clock.now += 1
                await one.look(busy=True)
            return "answer"

        one = Patience(look_at, stuck, stall=NEVER)
        return await one.wait(asyncio.create_task(attempt()), limit)

    return asyncio.run(wait())


def test_time_in_the_server_s_queue_does_not_count(clock: SimpleNamespace) -> None:
    assert waited(clock, 0.01, 4, looks=20) == "answer"


def test_time_outside_the_queue_does_and_may_be_tried_again(clock: SimpleNamespace) -> None:
    with pytest.raises(Unanswered, match="RowTimeoutSeconds") as caught:
        waited(clock, 0.01, 0, looks=2000)
    assert (caught.value.passing, caught.value.failure.code) == (True, "request_timeout")
