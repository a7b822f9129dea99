"""A job's token limit that leaves a prompt no room gives way, as the server's refusal shows."""

from __future__ import annotations

import re
from dataclasses import replace

from dialects.exchange import Ask, Failure
from engine import routes

_NO_ROOM = re.compile(r"requested \d+ (output )?tokens|is too large|fewer output tokens")  # vLLM 0.10 to 0.32


def lower_budget(ask: Ask, failure: Failure) -> Ask | None:
    """Return the request with less than the job's MaxTokens when that left the prompt no room, else None.

    Without a limit an answer may grow to the end of the context, which is less than MaxTokens away. Where no limit
    means a small one, half of it is asked for.
    """
    if not ask.lent or failure.status != 400 or not _NO_ROOM.search(failure.message):
        return None
    if ask.route in (routes.CHAT, routes.RESPONSES):
        return replace(ask, body={**ask.body, ask.lent: None}, lent="")
    half = ask.body[ask.lent] // 2
    return replace(ask, body={**ask.body, ask.lent: half}) if half else None
