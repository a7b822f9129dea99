"""How long to wait for a server that is busy, and when it is stuck.

Time that a row spends in the server's own queue is not the row's fault: its clock stands still while the server makes
progress and has requests waiting. A server that makes no progress at all while requests are in flight is stuck.
Progress is an attempt that ended, well or not, and what vLLM's /metrics counts. Where these count nothing, a server
without answers may be busy with long ones: then only the rows' own time limits hold.
"""

from __future__ import annotations

import asyncio
import re
import time
import urllib.error
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from asking.unanswered import Unanswered
from dialects.exchange import Failure

T = TypeVar("T")
_COUNTERS = re.compile(
    r"^vllm:(?:generation_tokens|prompt_tokens|request_success)_total(?:\{.*\})? (\S+)$", re.MULTILINE
)
_WAITING = re.compile(r"^vllm:num_requests_waiting(?:\{.*\})? (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the server: a sum that grows with its work, and how many requests it has queued."""

    work: float
    waiting: float


def _is_canceled() -> bool:
    """Tell whether the running task itself is to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def read_metrics(text: str) -> Reading | None:
    """Return what a /metrics page says of vLLM, or None when it says nothing."""
    counters = _COUNTERS.findall(text)
    try:
        reading = Reading(sum(map(float, counters)), sum(map(float, _WAITING.findall(text))))
    except ValueError:
        return None
    return reading if counters else None


@dataclass(slots=True)
class _Wait:
    """One attempt that is waited for: when its time began, and how much of all time had been excused by then."""

    task: asyncio.Task[Any]
    limit: float
    begun: float
    excused: float
    is_over: bool = False


class Patience:
    """Waits for attempts. `look_at` fetches the server's metrics, `stuck` is called when it made no progress.

    `interval` is the pause between two looks, `stall` the seconds without progress after which a server is stuck.
    """

    def __init__(
        self,
        look_at: Callable[[], Awaitable[str]],
        stuck: Callable[[], Awaitable[None]],
        *,
        interval: float = 2.0,
        stall: float = 300.0,
    ) -> None:
        self._look_at, self._stuck, self.interval, self._stall = look_at, stuck, interval, stall
        self._excused = 0.0  # seconds so far in which the queue explains a wait
        self._looked = self._progressed = time.monotonic()
        self._work = -1.0
        self._ended = self._ended_seen = 0
        self._waits: dict[int, _Wait] = {}  # in the order in which they began
        self._timer: asyncio.TimerHandle | None = None  # one for them all

    async def wait(self, task: asyncio.Task[T], limit: float) -> T:
        """Return the task's result; cut it when it took `limit` seconds outside the server's queue.

        Raises Unanswered request_timeout.
        """
        wait = self._waits[id(task)] = _Wait(task, limit, time.monotonic(), self._excused)
        if self._timer is None:
            self._look_again(limit)
        try:
            result = await task
        except asyncio.CancelledError:
            if not wait.is_over or _is_canceled():
                raise
            message = f"no answer within {limit:g} s (RowTimeoutSeconds), time in the server's queue not counted"
            raise Unanswered(Failure("request_timeout", message), passing=True) from None
        except Exception:
            self._ended += 1
            raise
        finally:
            del self._waits[id(task)]
        self._ended += 1
        return result

    def _look_again(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._cut)

    def _cut(self) -> None:
        """Cut the attempts whose time is over, and look again when that of the next one will be."""
        self._timer = None
        now, least = time.monotonic(), float("inf")
        for wait in self._waits.values():
            left = wait.limit - (now - wait.begun) + (self._excused - wait.excused)
            if left > 0:
                least = min(least, left)
            elif not wait.is_over:
                wait.is_over = True
                wait.task.cancel()
        if least < float("inf"):
            self._look_again(least)

    async def look(self, *, busy: bool) -> None:
        """Look at the server once; call regularly."""
        page = await self._page()
        reading = read_metrics(page or "")
        now = time.monotonic()
        ended, self._ended_seen = self._ended != self._ended_seen, self._ended
        work = reading.work if reading else self._work
        if not busy or ended or work != self._work:
            self._progressed = now
        queued = reading.waiting > 0 if reading else ended
        if queued and now - self._progressed < self._stall:
            self._excused += now - self._looked
        self._work, self._looked = work, now
        tells = reading is not None or page is None  # a page without counters tells nothing of progress
        if tells and now - self._progressed >= self._stall:
            self._progressed = now
            await self._stuck()

    async def _page(self) -> str | None:
        """Return the metrics page, "" where there is none, or None when the server does not answer."""
        try:
            return await self._look_at()
        except urllib.error.HTTPError:
            return ""
        except Exception:  # noqa: BLE001 - whatever the reason, there is no answer
            return None
