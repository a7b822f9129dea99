"""The host's notice that a chunk is to end: nothing more is sent, and what is in flight gets the time that is left."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from host import runner

MARGIN = 10.0  # seconds of the notice kept for closing files


def listen(stop: Callable[[], None]) -> asyncio.Event:
    """On SIGTERM set the event and call `stop`; cancel the calling task when time is up, or at a second one."""
    canceled = asyncio.Event()
    loop, main_task = asyncio.get_running_loop(), asyncio.current_task()

    def give_up() -> None:
        if main_task is not None:
            main_task.cancel()

    def notice() -> None:
        if canceled.is_set():
            runner.say("canceled again: what is in flight is dropped")
            loop.add_signal_handler(signal.SIGTERM, lambda: None)  # a third one finds nothing to hurry
            give_up()
            return
        canceled.set()
        stop()
        left = max(0.0, runner.notice_seconds(Path.cwd()) - MARGIN)
        runner.say(f"canceled: nothing more is sent, what arrives within {left:.0f} s is kept")
        loop.call_later(left, give_up)

    loop.add_signal_handler(signal.SIGTERM, notice)
    loop.set_exception_handler(lambda _, context: runner.say(f"asyncio: {context.get('message')}"))
    return canceled
