"""Moments that a person writes, such as StopAt's: ISO 8601 with its zone."""

from __future__ import annotations

import datetime as dt


def read_moment(text: str) -> float:
    """Return the seconds since 1970 of a moment. Raises ValueError for a text that is none, or has no zone."""
    moment = dt.datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        raise ValueError("no zone")
    return moment.timestamp()


def write_moment(seconds: float) -> str:
    """Return a moment as `read_moment` takes it, to the second, in UTC."""
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
