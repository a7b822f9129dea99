"""Which model answers a row that names one of its own: ModelInRows."""

from __future__ import annotations

from dataclasses import replace

from dialects.exchange import Ask
from engine.facts import Served
from rows.errors import RowError
from rows.json_text import shorten

AUTO, ERROR, IGNORE = RULES = ("auto", "error", "ignore")
SHOWN = 5  # names of a server's models in a message


def choose_model(ask: Ask, rule: str, served: Served) -> Ask:
    """Return the request to a model that the server has; `replaced` is then the name that the row gave.

    A server of one model answers for every name; one with adapters, or with several models, refuses those that it does
    not know. Raises RowError not_found where the rule is to refuse them.
    """
    named = ask.body.get("model")
    if not isinstance(named, str) or named == served.model:
        return ask
    if rule != IGNORE and (not served.names or named in served.names):
        return ask
    if rule == ERROR:
        known = ", ".join(sorted(served.names)[:SHOWN])
        raise RowError("not_found", f'"model" {shorten(named)} is not served; there is {known}')
    if rule == IGNORE or served.alone:
        return replace(ask, body={**ask.body, "model": served.model}, replaced=named)
    return ask
