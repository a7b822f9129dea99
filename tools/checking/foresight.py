"""What the job's own server would refuse although each value is fine: options that clash, also with the job's.

Source: vLLM's SamplingParams and its request models, versions 0.19 to 0.33. A server that is given by ServerUrl has
rules of its own, and is not foreseen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialects.exchange import Ask
from engine.routes import CHAT, COMPLETIONS
from job.options import BUDGET_NAMES, CONTENT, OPTIONS, check_options
from rows.errors import RowError

REFUSED = "would_be_refused"
MOST_STOPS = 4  # texts in `stop` that newer servers take
HOTTEST = 2  # the highest temperature that newer servers take
GREEDY = 1e-5  # a temperature below this is none


def foresee(ask: Ask) -> None:
    """Raise RowError would_be_refused for a request that vLLM would not take."""
    if ask.route not in (CHAT, COMPLETIONS):
        return
    try:
        body = {**ask.body, **check_options({n: v for n, v in ask.body.items() if n in OPTIONS and n not in CONTENT})}
    except RowError as error:
        raise RowError(REFUSED, error.message) from None
    reason = next(_reasons(ask.route, body), None)
    if reason:
        raise RowError(REFUSED, reason)


def _reasons(route: str, body: dict[str, Any]) -> Iterator[str]:
    budgets = [body[name] for name in sorted(BUDGET_NAMES) if name in body]
    budget = budgets[0] if budgets else None
    heat, count, stops = body.get("temperature"), body.get("n", 1), body.get("stop", [])
    if heat is not None and heat > HOTTEST:
        yield f'"temperature" {heat:g} is more than {HOTTEST}, the most that newer vLLM takes'
    if count > 1 and heat is not None and heat < GREEDY and not body.get("use_beam_search"):
        yield f'"n" {count} with temperature 0: all answers would be alike; raise the temperature or leave "n" out'
    if budget == 0 and not (route == COMPLETIONS and body.get("echo")):
        yield '"max_tokens" 0 leaves no answer; it scores a text on completions, with "echo"'
    if budget and body.get("min_tokens", 0) > budget:
        yield f'"min_tokens" {body["min_tokens"]} is more than the limit of {budget} tokens; raise it or MaxTokens'
    if stops == "" or "" in stops:
        yield '"stop" holds an empty text; leave it out'
    if isinstance(stops, list) and len(stops) > MOST_STOPS:
        yield f'"stop" holds {len(stops)} texts; newer vLLM takes {MOST_STOPS}'
    if "" in body.get("bad_words", []):
        yield '"bad_words" holds an empty text; leave it out'
    if body.get("top_logprobs") and not body.get("logprobs"):
        yield '"top_logprobs" needs "logprobs": true'
