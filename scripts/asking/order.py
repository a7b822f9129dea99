"""In which order rows are asked: the longest answers first and equal beginnings together, a window of rows at a time.

A long answer that begins last leaves the server with one row to do; rows that begin alike share what the server has
computed of them. So limits of tokens count by classes, within which rows go by what is read first of them, whatever
their seeds and other options are. A window bounds the memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from asking.pending import Pending
from engine import routes
from job.options import budget_of

_encode = json.JSONEncoder(ensure_ascii=False).encode
WINDOW, WINDOW_BYTES = 2048, 64 << 20  # rows that are put in order together, and bytes of their requests
BEGINNING = 4096  # characters by which rows are told apart
# What a server makes a prompt of, in the order in which it is read; another model shares nothing.
_READ = ("model", "tools", "system", "instructions", "messages", "prompt", "input", "query", "text_1", "queries")


def arrange(asks: Iterator[Pending]) -> Iterator[Pending]:
    """Yield all rows, taking no more than a window of them at once."""
    while window := _window(asks):
        window.sort(key=_key)
        yield from window


def _key(pending: Pending) -> tuple[int, str, int]:
    """Return what a row is sorted by: a class of limits, each four times the next, then its beginning and its limit."""
    budget = _budget(pending)
    return -((budget.bit_length() + 1) // 2), _beginning(pending), -budget


def _beginning(pending: Pending) -> str:
    try:
        return _encode([pending.ask.body.get(name) for name in _READ])[:BEGINNING]
    except RecursionError:  # nested as deeply as could just be sent
        return ""


def _window(asks: Iterator[Pending]) -> list[Pending]:
    """Take the next rows that are put in order together: fewer where they are large."""
    window: list[Pending] = []
    size = 0
    while len(window) < WINDOW and size < WINDOW_BYTES and (pending := next(asks, None)):
        window.append(pending)
        size += len(pending.encoded)
    return window


def _budget(pending: Pending) -> int:
    """Return how many tokens a row's answer may have, 0 where none are generated."""
    if pending.ask.route not in routes.GENERATING:
        return 0
    return budget_of(pending.ask.body)
