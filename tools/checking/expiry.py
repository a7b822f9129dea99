"""When a presigned InputUrl expires, as it says itself: each worker of a job reads it once, when it begins."""

from __future__ import annotations

import datetime as dt
import time
import urllib.parse
from collections.abc import Mapping

from job.moment import write_moment

_SIGNED = (("x-amz-date", "x-amz-expires"), ("x-goog-date", "x-goog-expires"))  # when, and for how many seconds


def find_expiry(url: str) -> float | None:
    """Return when an address expires, in seconds since 1970, or None where it does not say."""
    try:
        query = urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query)
        told = {name.lower(): value for name, value in query}
        for begun, seconds in _SIGNED:
            if begun in told and seconds in told:
                return dt.datetime.strptime(f"{told[begun]}+0000", "%Y%m%dT%H%M%SZ%z").timestamp() + int(told[seconds])
        if "se" in told and "sig" in told:  # Azure's shared access signatures
            return dt.datetime.fromisoformat(told["se"]).replace(tzinfo=dt.UTC).timestamp()  # it takes no other zone
        return float(told["expires"]) if "signature" in told else None
    except (ValueError, KeyError, OverflowError):
        return None


def tell_expiry(given: Mapping[str, str]) -> list[str]:
    """Return what a person should know of an InputUrl that expires. `given` are a job's parameters."""
    expires = find_expiry(given.get("InputUrl", ""))
    if expires is None:
        return []
    moment, minutes = write_moment(expires), int(expires - time.time()) // 60
    if minutes < 0:
        return [f"WARNING: InputUrl expired at {moment}: no worker can read it"]
    if int(given.get("KeepRowsSeconds") or 0):
        return []
    after = "a worker that begins later cannot read it, unless KeepRowsSeconds is set"
    return [f"note: InputUrl expires at {moment}, in {minutes:,} minutes; {after}"]
