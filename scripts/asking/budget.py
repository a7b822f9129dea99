"""A job's token limit that leaves a prompt no room gives way, as the server's refusal shows."""

from __future__ import annotations

import re
from dataclasses import replace

from dialects.exchange import Ask, Failure
from engine import routes
from engine.refusals import find_room, has_no_room

_FILLS_THE_REST = re.compile(r"requested \d+ output tokens|fewer output tokens")  # vLLM 0.10 to 0.33, without a limit


def lower_budget(ask: Ask, failure: Failure, *, again: bool = False) -> Ask | None:
    """Return the request with less than the job's MaxTokens when that left the prompt no room, else None.

    The server's figures say how much it may be, unless a request by them was refused `again`. On vLLM's chats an answer
    without a limit fills what is left, which is less than MaxTokens. Elsewhere half of it is asked for.
    """
    if not ask.lent or not has_no_room(failure.status, failure.message):
        return None
    limit, room = ask.body[ask.lent], find_room(failure.message)
    if room is not None and room < limit and not again:
        return replace(ask, body={**ask.body, ask.lent: room}) if room else None
    if ask.route in (routes.CHAT, routes.RESPONSES) and _FILLS_THE_REST.search(failure.message):
        return replace(ask, body={**ask.body, ask.lent: None}, lent="")
    half = limit // 2
    return replace(ask, body={**ask.body, ask.lent: half}) if half else None
