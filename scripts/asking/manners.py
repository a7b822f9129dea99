"""What a server does not take of a request, learned from its refusals: each costs one request and not one a row.

Only what the job gave is changed, or a name that means the same: what a row says for itself is the row's. A server of
several models may differ from one to the next, so that what is learned belongs to a model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from asking.budget import lower_budget
from dialects.exchange import Ask, Failure
from engine import routes
from engine.refusals import LIMITS, find_most, refused_limit, refuses_field
from host import runner

_GIVES_WAY = "temperature"  # Temperature has a preset, which some models refuse whatever it is


@dataclass(slots=True)
class _Taken:
    """What is known of one model: names of the limit that it refuses, its longest answer, and whether it is sampled."""

    refused: set[str] = field(default_factory=set)
    most: int | None = None
    sampled: bool = True


class Manners:
    """What is known of a server, by the models that were asked."""

    def __init__(self) -> None:
        self._known: defaultdict[str, _Taken] = defaultdict(_Taken)

    def adapt(self, ask: Ask) -> Ask:
        """Return a request as its model takes it, by what is known."""
        known = self._known.get(_model(ask))
        if known is None:
            return ask
        for name in known.refused:
            ask = _rename_limit(ask, name)
        if ask.lent and known.most and (ask.body.get(ask.lent) or 0) > known.most:
            ask = replace(ask, body={**ask.body, ask.lent: known.most})
        return ask if known.sampled else _drop(ask, _GIVES_WAY)

    def learn(self, ask: Ask, failure: Failure, *, again: bool) -> Ask | None:
        """Return the request as a refusal says that it must be, None where the row itself is refused.

        `again` tells that the row's limit gave way before.
        """
        known = self._known[_model(ask)]
        name = refused_limit(failure.status, failure.message)
        if ask.route == routes.CHAT and name and name in ask.body:  # a row may have a field without a name
            if known.refused - {name}:
                return None  # it takes neither
            known.refused.add(name)
            return _rename_limit(ask, name)
        if failure.status in (400, 422) and _GIVES_WAY in ask.from_job and refuses_field(failure.message, _GIVES_WAY):
            if known.sampled:
                runner.say(f"{_model(ask)} does not take Temperature: it is left out ({failure.message})")
            known.sampled = False
            return _drop(ask, _GIVES_WAY)
        lowered = lower_budget(ask, failure, again=again)
        if lowered is not None and (most := find_most(failure.message)):
            known.most = most
        return lowered


def _model(ask: Ask) -> str:
    return str(ask.body.get("model", "")) if isinstance(ask.body, Mapping) else ""


def _rename_limit(ask: Ask, name: str) -> Ask:
    """Return a chat without a name of the limit that its model refuses: under the other one."""
    if ask.route != routes.CHAT or name not in ask.body:
        return ask
    other = LIMITS[1 - LIMITS.index(name)]
    body: dict[str, Any] = {key: value for key, value in ask.body.items() if key != name}
    body.setdefault(other, ask.body[name])
    return replace(ask, body=body, lent=other if ask.lent == name else ask.lent)


def _drop(ask: Ask, name: str) -> Ask:
    if name not in ask.from_job:
        return ask
    return replace(ask, body={key: value for key, value in ask.body.items() if key != name})
