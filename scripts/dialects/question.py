"""What a row asks, under a name of its own: two rows with one question may take each other's answers.

A question is the request as it is sent at first, the dialect that reads its answer, and the server that is asked. What
happens to a request on its way, such as a lent limit that gives way, is no part of it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from dialects.exchange import Ask
from engine.routes import GENERATING, OF_ONE_ANSWER

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
DIGITS = 32  # hexadecimal, of a question's name


@dataclass(frozen=True, slots=True)
class Question:
    """A question's name, and whether whoever asks it again must get the same answer."""

    name: str
    repeats: bool


NO_QUESTION = Question("", repeats=False)


def name_question(dialect: str, ask: Ask, server: str) -> Question:
    """Return the question of a request to a server, which `server` tells from others that would answer otherwise.

    In which order a row has its fields is no part of it, that inside them is: the order of a schema is a model's, too.
    """
    asked = f"{dialect} {ask.form}".rstrip()
    whole = [asked, ask.route, ask.file_url, ask.schema, server, sorted(ask.body.items())]
    return Question(hashlib.sha256(_encode(whole).encode()).hexdigest()[:DIGITS], repeats=_repeats(ask))


def _repeats(ask: Ask) -> bool:
    """Tell whether a request has one answer: nothing is drawn for it, or its draws are fixed by a seed."""
    if ask.route not in GENERATING:
        return ask.route in OF_ONE_ANSWER
    body = ask.body
    seed = body.get("seed")
    is_fixed = body.get("temperature") == 0 or (isinstance(seed, int) and not isinstance(seed, bool))
    return is_fixed and body.get("n") in (None, 1)
