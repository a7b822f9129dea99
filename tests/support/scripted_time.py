"""Coroutines on a clock that only the loop moves: it jumps to the next timer as soon as nothing else is to be done."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Waits for nothing that takes time."""

    loop: ScriptedLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Move the clock by the time that the loop would wait."""
        assert timeout is not None, "the test waits for ever"
        self.loop.now += timeout
        return list(super().select(0))


class ScriptedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is `now`, in seconds."""

    def __init__(self) -> None:
        self.now = 1000.0
        selector = _Jumping()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """Return the loop's own time."""
        return self.now

    def monotonic(self) -> float:
        """Stand in for time.monotonic()."""
        return self.now


def run(loop: ScriptedLoop, coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(coroutine)
