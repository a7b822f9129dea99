"""Telling clients by a POST that a call of theirs has ended.

Only http and https addresses are asked, and no host that is closed to what strangers name. No redirect is followed.
"""

from __future__ import annotations

import logging

import aiohttp

import bundle  # noqa: F401  (puts scripts/ on the path)
from asking.hosts import ClosedHost, open_session
from batches.calls import Calls, Notice
from host import addresses
from host.transfer import shown

TRIES, PAUSE_SECONDS = 3, 10.0
TIMEOUT = aiohttp.ClientTimeout(total=30.0)

log = logging.getLogger("batches")


async def tell_clients(calls: Calls) -> None:
    """Tell each client whose turn it is; one that does not take it is told again later, `TRIES` times in all."""
    for notice in calls.notices():
        is_told = await _post(notice)
        is_last = is_told or is_told is None or notice.tries + 1 >= TRIES
        calls.note_told(notice.job.id, None if is_last else PAUSE_SECONDS)


async def _post(notice: Notice) -> bool | None:
    """Return whether a client took a notice, None where none can be sent."""
    url = notice.address
    if not url.startswith(("http://", "https://")):
        return None
    try:
        async with (
            open_session(url, TIMEOUT) as session,
            session.post(
                url,
                data=notice.job.as_json().encode(),
                headers={"Content-Type": "application/json"},
                allow_redirects=False,
            ) as response,
        ):
            return response.status == 200
    except ClosedHost:
        log.warning("webhook %r leads to a closed host; %s may name it", shown(url), addresses.ALLOW)
        return None
    except (aiohttp.ClientError, OSError, ValueError):
        return False
