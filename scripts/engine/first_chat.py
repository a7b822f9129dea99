"""The first chat with a server: whether its model chats at all, and what its chats take.

Some models have no system message, and some servers read the limit of new tokens under another name. Both would be
refused row by row, so that one request of one token finds it out for the whole session.
"""

from __future__ import annotations

import json
import urllib.error
from dataclasses import dataclass
from typing import Any

from engine import refusals, routes
from engine.address import Address

PROBE_SECONDS = 300  # for the first generated token, which may compile kernels
TRIES = 4  # refusals that teach something: no system message, another name of the limit, none at all
_PASSING = frozenset({408, 425, 429, 529})
_SYSTEM = {"role": "system", "content": "Answer briefly."}
_USER = {"role": "user", "content": "Hi"}


@dataclass(frozen=True, slots=True)
class Chats:
    """What the first chat showed. Not `able`: it was refused, in these `words` with this `status`."""

    able: bool
    limit: str = refusals.MAX_TOKENS
    system: bool = True
    status: int = 200
    words: str = ""
    body: Any = None  # of the answer


class Refused(Exception):
    """A request that the server refused, or failed at. `after` are the seconds that it asks to wait, if it does."""

    def __init__(self, status: int, words: str, after: float | None = None) -> None:
        super().__init__(words)
        self.status, self.words, self.after = status, words, after

    @classmethod
    def read(cls, error: urllib.error.HTTPError, key: str) -> Refused:
        """Return what an HTTP error says, without the key."""
        words = refusals.hide_key(refusals.read_words(error.read(), error.code), key)
        return cls(error.code, words, refusals.read_after(error.headers.get("Retry-After")))

    @property
    def is_rows_own(self) -> bool:
        """Tell whether the request is to blame, and neither the server's state nor who asks."""
        return 400 <= self.status < 500 and self.status not in _PASSING and self.status not in (401, 402, 403)


def post(address: Address, route: str, body: dict[str, Any], timeout: float = PROBE_SECONDS) -> Any:
    """Return the JSON of a request's answer. Raises Refused, or one of address.UNREADABLE where there is no answer."""
    try:
        answer = address.post(route, body, timeout)
    except urllib.error.HTTPError as error:
        raise Refused.read(error, address.key) from None
    except json.JSONDecodeError as error:
        if not error.doc.lstrip().startswith(("data:", "event:")):
            raise
        return {"choices": [{}]}  # an event stream that nobody asked for, which rows read
    if isinstance(answer, dict) and answer.get("error") and not answer.get("choices"):  # as LM Studio and gateways do
        words = refusals.hide_key(refusals.describe(answer), address.key)
        raise Refused(404 if "endpoint" in words else 500, words)
    return answer


def try_chat(address: Address, model: str, timeout: float = PROBE_SECONDS) -> Chats:
    """Ask for one token of chat, and again as the refusals teach.

    Raises Refused where the server's state or the asker is the reason, and one of address.UNREADABLE.
    """
    limit, messages = refusals.MAX_TOKENS, [_SYSTEM, _USER]
    for _ in range(TRIES):
        body = {"model": model, "messages": messages, limit: 1}
        try:
            answer = post(address, routes.CHAT, body, timeout)
        except Refused as refused:
            if not refused.is_rows_own:
                raise
            last = refused
        else:
            return Chats(able=True, limit=limit, system=len(messages) > 1, body=answer)
        if refusals.refused_limit(last.status, last.words) == limit != refusals.MAX_COMPLETION_TOKENS:
            limit = refusals.MAX_COMPLETION_TOKENS
        elif len(messages) > 1 and last.status != 404 and not refusals.lacks_template(last.words):
            messages = [_USER]
        else:
            break
    return Chats(able=False, limit=limit, status=last.status, words=last.words)
