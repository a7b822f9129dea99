"""The request options of a row: their names, their bounds, and which routes read them.

The names are those of OpenAI's API and of vLLM's additions to it. `check_options` refuses a value that no server would
take, before a GPU is paid for. The table is data, from which the pages' rules are made (scripts/page/rules.py).

Source: vLLM's ChatCompletionRequest and CompletionRequest, versions 0.19 to 0.32.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from rows.errors import RowError
from rows.json_text import shorten

CONTENT = frozenset({"messages", "prompt", "input"})  # what a request asks, never how
SEED_LIMIT = 2**63  # a signed 64-bit number


@dataclass(frozen=True, slots=True)
class Value:
    """One kind of value that an option takes, as data: the pages read it, too.

    kind: integer, number, boolean, string, object, list, or word (the one text `word`).
    low, high: bounds of a number, None for none; `above` leaves `low` itself out. items: the kind of a list's items.
    """

    kind: str
    low: int | float | None = None
    high: int | float | None = None
    above: bool = False
    items: str = ""
    word: str = ""

    def fits(self, value: Any) -> bool:
        """Tell whether a value is of this kind and within its bounds."""
        if self.kind == "word":
            return bool(value == self.word)
        if not _KINDS[self.kind](value):
            return False
        if self.items:
            return all(map(_KINDS[self.items], value))
        if self.low is not None and (value <= self.low if self.above else value < self.low):
            return False
        return self.high is None or value <= self.high


@dataclass(frozen=True, slots=True)
class Option:
    """What an option's value must be, in words and as the kinds that it takes, and which routes read it."""

    must: str
    takes: tuple[Value, ...]
    read_by: tuple[str, ...] = ("chats", "completions")

    def holds(self, value: Any) -> bool:
        """Tell whether the option takes a value."""
        return any(kind.fits(value) for kind in self.takes)

    def of(self, *read_by: str) -> Option:
        """Return the option as one that only these routes read: chats, completions, pooling."""
        return replace(self, read_by=read_by)


def is_int(value: Any) -> bool:
    """Tell whether a value is a whole number, which true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "integer": is_int,
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool) and abs(v) != float("inf"),
    "boolean": lambda v: isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "object": lambda v: isinstance(v, dict),
    "list": lambda v: isinstance(v, list),
}


def _number(low: float | None = None, high: float | None = None, *, above: bool = False) -> Option:
    edge = "" if low is None else f" more than {low:g}" if above else f" {low:g} or more"
    if high is not None:
        edge = f" more than {low:g} and at most {high:g}" if above else f" from {low:g} to {high:g}"
    return Option(f"a number{edge}", (Value("number", low, high, above),))


def _integer(low: int, high: int | None = None) -> Option:
    must = f"a whole number, {low} or more" if high is None else f"a whole number from {low} to {high}"
    return Option(must, (Value("integer", low, high),))


def _list_of(kind: str, words: str) -> Option:
    return Option(f"a list of {words}", (Value("list", items=kind),))


_BOOL = Option("true or false", (Value("boolean"),))
_OBJECT = Option("an object", (Value("object"),))
_STRING = Option("a string", (Value("string"),))
_STRINGS = _list_of("string", "strings")
_EVERYWHERE = ("chats", "completions", "pooling")

OPTIONS: dict[str, Option] = {
    "max_tokens": _integer(0),
    "max_completion_tokens": _integer(0),
    "max_output_tokens": _integer(0),
    "min_tokens": _integer(0),
    "temperature": _number(0),
    "top_p": _number(0, 1, above=True),
    "top_k": _integer(-1),
    "min_p": _number(0, 1),
    "presence_penalty": _number(-2, 2),
    "frequency_penalty": _number(-2, 2),
    "repetition_penalty": _number(0, above=True),
    "length_penalty": _number(),
    "seed": _integer(-SEED_LIMIT, SEED_LIMIT - 1),
    "n": _integer(1),
    "best_of": _integer(1),
    "stop": Option("a string or a list of strings", (*_STRING.takes, *_STRINGS.takes)),
    "stop_token_ids": _list_of("integer", "whole numbers"),
    "bad_words": _STRINGS,
    "allowed_token_ids": _list_of("integer", "whole numbers"),
    "logit_bias": _OBJECT,
    "logprobs": Option("true, false or a whole number", (Value("boolean"), Value("integer", -1))),
    "top_logprobs": _integer(-1),
    "prompt_logprobs": _integer(-1),
    "echo": _BOOL.of("completions"),
    "suffix": _STRING.of("completions"),
    "ignore_eos": _BOOL,
    "include_stop_str_in_output": _BOOL,
    "skip_special_tokens": _BOOL,
    "spaces_between_special_tokens": _BOOL,
    "truncate_prompt_tokens": _integer(-1).of(*_EVERYWHERE),
    "add_special_tokens": _BOOL.of(*_EVERYWHERE),
    "add_generation_prompt": _BOOL.of("chats"),
    "continue_final_message": _BOOL.of("chats"),
    "use_beam_search": _BOOL,
    "early_stopping": Option('true, false or "never"', (Value("boolean"), Value("word", word="never"))),
    "response_format": _OBJECT,
    "structured_outputs": _OBJECT,
    "guided_json": Option("a JSON schema", (Value("object"), Value("string"))),
    "guided_regex": _STRING,
    "guided_choice": _STRINGS,
    "guided_grammar": _STRING,
    "guided_json_object": _BOOL,
    "guided_whitespace_pattern": _STRING,
    "tools": _list_of("object", "objects").of("chats"),
    "tool_choice": Option("a string or an object", (Value("string"), Value("object"))).of("chats"),
    "parallel_tool_calls": _BOOL.of("chats"),
    "reasoning_effort": _STRING.of("chats"),
    "include_reasoning": _BOOL.of("chats"),
    "chat_template_kwargs": _OBJECT.of("chats"),
    "mm_processor_kwargs": _OBJECT.of("chats"),
    "dimensions": _integer(1).of("pooling"),
    "encoding_format": _STRING.of("pooling"),
}
GUIDED = {  # old names of what structured_outputs holds now
    "guided_json": "json",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
    "guided_json_object": "json_object",
    "guided_whitespace_pattern": "whitespace_pattern",
}
BUDGET = {  # the limit of new tokens, by endpoint
    CHAT: "max_tokens",  # which all servers read; some of them no other, and without a word
    COMPLETIONS: "max_tokens",
    RESPONSES: "max_output_tokens",
    MESSAGES: "max_tokens",
}
BUDGET_ORDER = ("max_completion_tokens", "max_output_tokens", "max_tokens")  # the first that is set counts
BUDGET_NAMES = frozenset(BUDGET_ORDER)


def is_read(name: str, route: str) -> bool:
    """Tell whether a route reads an option; a name that is none here is for the server to judge."""
    reader = "completions" if route == COMPLETIONS else "chats" if route in BUDGET else "pooling"
    return name not in OPTIONS or reader in OPTIONS[name].read_by


def budget_of(body: Mapping[str, Any]) -> int:
    """Return the limit of new tokens that a request says, 0 where it says none."""
    for name in BUDGET_ORDER:
        if name in body and isinstance(body[name], int | float):
            return int(body[name])
    return 0


def check_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are set (null means not set).

    Raises RowError invalid_value for what is no option, and for a value of a wrong type or out of bounds, by its name.
    """
    if stray := sorted(options.keys() & CONTENT):
        raise RowError("invalid_value", f'"{stray[0]}" is no option: it says what is asked, and stands outside them')
    if "guided_decoding_backend" in options:
        raise RowError("invalid_value", '"guided_decoding_backend" belongs to the server; set it in VllmArgs')
    return {name: _fitted(name, value) for name, value in options.items() if value is not None}


def _fitted(name: str, value: Any) -> Any:
    """Return an option's value as servers read it. Raises RowError for one that no server would take."""
    option = OPTIONS.get(name)
    if option is None or option.holds(value):
        return value
    for meant in _meanings(value):
        if option.holds(meant):
            return meant
    raise RowError("invalid_value", f'"{name}" must be {option.must}, got {shorten(value)}')


def _meanings(value: Any) -> Iterator[Any]:
    """Yield what a table may mean by a value: 24 by 24.0, false by 0, a list by its JSON text."""
    if isinstance(value, float) and value.is_integer():
        yield int(value)
    if isinstance(value, int | float) and value in (0, 1):
        yield bool(value)
    if isinstance(value, str):
        with contextlib.suppress(ValueError, RecursionError):
            read = json.loads(value, parse_constant=_no_constant)
            yield read
            yield from _meanings(read) if not isinstance(read, str) else ()
    if isinstance(value, list):
        yield [next(_meanings(item), item) for item in value]


def _no_constant(name: str) -> None:
    raise ValueError(name)
