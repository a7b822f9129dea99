"""What the job's own server would refuse although the worker sends it: values, clashes, shapes of what is asked.

Drives the worker's table of options (scripts/job/options.py), and adds what vLLM alone makes narrower. A server that is
given by ServerUrl has rules of its own, and is not foreseen.

Source: vLLM's SamplingParams and its request models, versions 0.19 to 0.33.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking import content, structures
from dialects.exchange import Ask
from engine.routes import CHAT, COMPLETIONS, GENERATING, MESSAGES, RESPONSES
from job.options import BUDGET_ORDER, CONTENT, OPTIONS, Option, Value, check_options, is_read
from rows.errors import RowError
from rows.json_text import shorten

REFUSED = "would_be_refused"
TOKENIZE = "/tokenize"
GREEDY = 1e-5  # a temperature below this is none
LOGPROBS = 20  # --max-logprobs of a server that is told nothing
LARGEST_TOKEN = 2**20  # no model has as many tokens
KNOWN = 64  # sets of options that are remembered
_ASKED = CONTENT | {"model", "system", "prompt_embeds"}  # what is asked, which is another in every row
_TEXT = Option("a text", (Value("string"),))
_NARROWER = {  # what vLLM takes where the worker's table leaves it to the server
    "temperature": Option("a number from 0 to 2; newer vLLM takes no more than 2", (Value("number", 0, 2),)),
    "n": Option("a whole number from 1 to 16384", (Value("integer", 1, 16384),)),
    "priority": Option("a whole number", (Value("integer"),)),
    "reasoning_effort": Option(
        "none, minimal, low, medium, high, xhigh or max",
        tuple(Value("word", word=word) for word in ("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    ),
    "user": _TEXT,
    "instructions": _TEXT,
    "truncation": Option('"auto" or "disabled"', (Value("word", word="auto"), Value("word", word="disabled"))),
}
_NOT_READ = {  # options that a generating route has no field for, and ignores
    MESSAGES: OPTIONS.keys() - {"max_tokens", "temperature", "top_p", "top_k", "chat_template_kwargs"},
    RESPONSES: frozenset(
        {"n", "best_of", "min_tokens", "bad_words", "allowed_token_ids", "logprobs", "prompt_logprobs", "echo"}
        | {"suffix", "truncate_prompt_tokens", "add_special_tokens", "add_generation_prompt", "length_penalty"}
        | {"continue_final_message", "use_beam_search", "early_stopping", "response_format", "reasoning_effort"}
        | {"spaces_between_special_tokens", "max_tokens", "max_completion_tokens", "tools", "tool_choice"}
    ),
}


@dataclass(frozen=True, slots=True)
class Engine:
    """What VllmArgs say of the job's server: whether it calls tools, and how many log-probabilities it gives."""

    calls_tools: bool = False
    logprobs: int = LOGPROBS


class Foresight:
    """Tells what vLLM would not take. Most rows of a file have the same options, which are looked at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, str] = {}  # what is wrong with options that were looked at, "" for nothing

    def look(self, ask: Ask) -> None:
        """Raise RowError would_be_refused for a request that vLLM would not take."""
        if ask.route not in GENERATING:
            reason = next(content.tokenized_faults(ask.body), "") if ask.route == TOKENIZE else ""
        else:
            reason = self._judge_options(ask) or next(content.faults(ask.route, ask.body), "")
        if reason:
            raise RowError(REFUSED, reason)

    def _judge_options(self, ask: Ask) -> str:
        """Return what is wrong with a request's options, or ""."""
        options = {name: value for name, value in ask.body.items() if name not in _ASKED}
        key = f"{ask.route} {options!r}"
        if key not in self._known:
            if len(self._known) >= KNOWN:
                self._known.clear()
            self._known[key] = self._judge(ask.route, options)
        return self._known[key]

    def _judge(self, route: str, options: dict[str, Any]) -> str:
        try:
            fitted = _options(route, options)
        except RowError as error:
            return error.message
        return next(_reasons(route, {**options, **fitted}, self._engine), "")


def _options(route: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a request's options that its route reads, as the server reads them. Raises RowError."""
    unread = CONTENT | _NOT_READ.get(route, frozenset())
    own = {n: v for n, v in body.items() if n in OPTIONS and n not in unread and is_read(n, route)}
    fitted = check_options(own)
    for name, value in fitted.items():
        if isinstance(own[name], str) and not isinstance(value, str) and isinstance(value, dict | list):
            raise RowError(REFUSED, f'"{name}" must be {OPTIONS[name].must}, and not its JSON text')
    return fitted


def _reasons(route: str, body: dict[str, Any], engine: Engine) -> Iterator[str]:
    yield from _narrower(route, body, engine)
    if route == MESSAGES:
        yield from content.message_option_faults(body)
    else:
        yield from _clashes(route, body)
        yield from _tokens(body)
    yield from structures.faults(route, body)
    yield from structures.tool_faults(route, body, calls_tools=engine.calls_tools)


def _narrower(route: str, body: Mapping[str, Any], engine: Engine) -> Iterator[str]:
    for name, option in _NARROWER.items():
        if body.get(name) is not None and not option.holds(body[name]) and name not in _NOT_READ.get(route, ()):
            yield f'"{name}" must be {option.must}, got {shorten(body[name])}'
    for name in ("top_logprobs", "logprobs", "prompt_logprobs"):
        count = body.get(name)
        if name in _NOT_READ.get(route, ()) or (name == "logprobs" and route == CHAT) or isinstance(count, bool):
            continue
        if isinstance(count, int) and (count > engine.logprobs or (count < 0 and engine.logprobs < LARGEST_TOKEN)):
            yield f'"{name}" {count} is more than the server gives, {engine.logprobs}; see --max-logprobs in VllmArgs'


def _clashes(route: str, body: Mapping[str, Any]) -> Iterator[str]:
    budget = next((body[name] for name in BUDGET_ORDER if isinstance(body.get(name), int | float)), None)
    heat, count, stops = body.get("temperature"), body.get("n") or 1, body.get("stop") or []
    beams = body.get("use_beam_search")
    if route != RESPONSES and count > 1 and heat is not None and heat < GREEDY and not beams:
        yield f'"n" {count} with temperature 0: all answers would be alike; raise the temperature or leave "n" out'
    if budget == 0 and not (route == COMPLETIONS and body.get("echo")) and not beams:
        yield '"max_tokens" 0 leaves no answer; it scores a text on completions, with "echo"'
    least = body.get("min_tokens") or 0
    if route != RESPONSES and budget is not None and least > max(budget, 1) and not beams:
        yield f'"min_tokens" {least} is more than the limit of {budget} tokens; raise it or MaxTokens'
    if (route != RESPONSES and body.get("stop") == "") or (isinstance(stops, list) and "" in stops):
        yield '"stop" holds an empty text; leave it out'
    if isinstance(stops, list) and len(stops) > content.MOST_STOPS:
        yield f'"stop" holds {len(stops)} texts; newer vLLM takes {content.MOST_STOPS}'
    if route == CHAT and body.get("top_logprobs") and not body.get("logprobs"):
        yield '"top_logprobs" needs "logprobs": true'
    if body.get("continue_final_message") and body.get("add_generation_prompt"):
        yield '"continue_final_message" and "add_generation_prompt" exclude each other; leave one of them out'
    if route == COMPLETIONS and body.get("suffix"):
        yield '"suffix" is for models that fill in a middle, which vLLM\'s completions do not ask for'
    if beams and body.get("echo") and body.get("logprobs") is not None:
        yield '"echo" with "logprobs" cannot be had of a beam search'


def _tokens(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with lists of tokens and of words."""
    if "" in (body.get("bad_words") or []):
        yield '"bad_words" holds an empty text; leave it out'
    structured = body.get("structured_outputs") or (body.get("response_format") or {}).get("type", "text") != "text"
    if body.get("allowed_token_ids") and structured:
        yield '"allowed_token_ids" beside a structure leaves the engine nothing to say; leave one of the two out'
    if body.get("allowed_token_ids") == []:
        yield '"allowed_token_ids" is empty, so that nothing could be said; leave it out'
    for name in ("stop_token_ids", "allowed_token_ids"):
        if any(not 0 <= token < LARGEST_TOKEN for token in body.get(name) or []):
            yield f'"{name}" holds a number that is no token of any model'
    for token, bias in (body.get("logit_bias") or {}).items():
        if not (token.strip().isdecimal() and int(token) < LARGEST_TOKEN):
            yield f'"logit_bias" has {shorten(token)} where the number of a token stands'
        if not isinstance(bias, int | float) and not _is_number(bias):
            yield f'"logit_bias" gives token {token} {shorten(bias)}, which is no number'


def _is_number(text: Any) -> bool:
    try:
        return isinstance(text, str) and bool(float(text) or True)
    except ValueError:
        return False
