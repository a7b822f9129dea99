"""How far a chunk is, told to the host now and then."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from host import runner

STATUS_SECONDS = 2.0


@dataclass(slots=True)
class Progress:
    """What the chunk's status line says."""

    rows: int
    done: int = 0
    failed: int = 0
    tokens: int = 0
    begun: float = field(default_factory=time.monotonic)
    shown: float = 0.0
    told: int = -1  # rows done when it was last shown

    def add(self, head: dict[str, Any]) -> None:
        """Count one record."""
        self.done += 1
        self.failed += head["status"] == "failed"
        self.tokens += head.get("out") or 0

    def show(self, *, at_once: bool = False) -> None:
        """Tell the host how far the chunk is, at most every two seconds."""
        now = time.monotonic()
        if not at_once and now - self.shown < STATUS_SECONDS:
            return
        self.shown, self.told = now, self.done
        rate = self.tokens / max(now - self.begun, 1e-3)
        runner.progress(100 * self.done / max(self.rows, 1))
        runner.status(f"{self.done}/{self.rows} rows, {self.failed} failed, {rate:.0f} tokens/s")

    async def keep_showing(self) -> None:
        """Tell of rows that finished since the last time, also while none finishes; runs until it is canceled."""
        while True:
            await asyncio.sleep(STATUS_SECONDS)
            if self.told != self.done:
                self.show()
