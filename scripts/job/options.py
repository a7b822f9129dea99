"""The request options of a row: their names, their bounds, and their names on each endpoint.

The names are those of OpenAI's API and of vLLM's additions to it. `check_options` refuses a value that no server would
take, before a GPU is paid for; `translate_options` writes options the way the endpoint reads them, so that `max_tokens`
means the same everywhere and an old `guided_*` name is enforced rather than ignored.

Source: vLLM's ChatCompletionRequest and CompletionRequest, versions 0.19 to 0.32.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from rows.errors import RowError
from rows.row import shorten

CONTENT = frozenset({"messages", "prompt", "input"})  # what a request asks, never how
SEED_LIMIT = 2**63  # a signed 64-bit number


@dataclass(frozen=True, slots=True)
class Option:
    """What an option's value must be: a sentence for people and a test."""

    must: str
    holds: Callable[[Any], bool]


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) != float("inf")


def _number(low: float, high: float, *, above: bool = False) -> Option:
    edge = f"more than {low:g} and at most {high:g}" if above else f"from {low:g} to {high:g}"
    if high == float("inf"):
        edge = f"more than {low:g}" if above else f"{low:g} or more"
    return Option(f"a number {edge}", lambda v: _is_number(v) and (low < v if above else low <= v) and v <= high)


def _integer(low: int, high: int | None = None) -> Option:
    must = f"a whole number, {low} or more" if high is None else f"a whole number from {low} to {high}"
    return Option(must, lambda v: _is_int(v) and v >= low and (high is None or v <= high))


def _list_of(kind: str, test: Callable[[Any], bool]) -> Option:
    return Option(f"a list of {kind}", lambda v: isinstance(v, list) and all(map(test, v)))


def _of(kind: type, name: str) -> Option:
    return Option(name, lambda v: isinstance(v, kind))


_BOOL, _OBJECT, _STRING = _of(bool, "true or false"), _of(dict, "an object"), _of(str, "a string")
_INF = float("inf")

OPTIONS: dict[str, Option] = {
    "max_tokens": _integer(0),
    "max_completion_tokens": _integer(0),
    "max_output_tokens": _integer(0),
    "min_tokens": _integer(0),
    "temperature": _number(0, _INF),
    "top_p": _number(0, 1, above=True),
    "top_k": _integer(-1),
    "min_p": _number(0, 1),
    "presence_penalty": _number(-2, 2),
    "frequency_penalty": _number(-2, 2),
    "repetition_penalty": _number(0, _INF, above=True),
    "length_penalty": _number(-_INF, _INF),
    "seed": _integer(-SEED_LIMIT, SEED_LIMIT - 1),
    "n": _integer(1),
    "best_of": _integer(1),
    "stop": Option(
        "a string or a list of strings",
        lambda v: isinstance(v, str) or (isinstance(v, list) and all(isinstance(s, str) for s in v)),
    ),
    "stop_token_ids": _list_of("whole numbers", _is_int),
    "bad_words": _list_of("strings", lambda v: isinstance(v, str)),
    "allowed_token_ids": _list_of("whole numbers", _is_int),
    "logit_bias": _OBJECT,
    "logprobs": Option("true, false or a whole number", lambda v: isinstance(v, bool) or (_is_int(v) and v >= -1)),
    "top_logprobs": _integer(-1),
    "prompt_logprobs": _integer(-1),
    "echo": _BOOL,
    "suffix": _STRING,
    "ignore_eos": _BOOL,
    "include_stop_str_in_output": _BOOL,
    "skip_special_tokens": _BOOL,
    "spaces_between_special_tokens": _BOOL,
    "truncate_prompt_tokens": _integer(-1),
    "add_special_tokens": _BOOL,
    "add_generation_prompt": _BOOL,
    "continue_final_message": _BOOL,
    "use_beam_search": _BOOL,
    "early_stopping": Option('true, false or "never"', lambda v: isinstance(v, bool) or v == "never"),
    "response_format": _OBJECT,
    "structured_outputs": _OBJECT,
    "guided_json": Option("a JSON schema", lambda v: isinstance(v, dict | str)),
    "guided_regex": _STRING,
    "guided_choice": _list_of("strings", lambda v: isinstance(v, str)),
    "guided_grammar": _STRING,
    "guided_json_object": _BOOL,
    "guided_whitespace_pattern": _STRING,
    "tools": _list_of("objects", lambda v: isinstance(v, dict)),
    "tool_choice": Option("a string or an object", lambda v: isinstance(v, str | dict)),
    "parallel_tool_calls": _BOOL,
    "reasoning_effort": _STRING,
    "include_reasoning": _BOOL,
    "chat_template_kwargs": _OBJECT,
    "mm_processor_kwargs": _OBJECT,
    "dimensions": _integer(1),
    "encoding_format": _STRING,
}
_GUIDED = {
    "guided_json": "json",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
    "guided_json_object": "json_object",
    "guided_whitespace_pattern": "whitespace_pattern",
}
BUDGET = {  # the limit of new tokens, by endpoint
    CHAT: "max_completion_tokens",
    COMPLETIONS: "max_tokens",
    RESPONSES: "max_output_tokens",
    MESSAGES: "max_tokens",
}
BUDGET_NAMES = frozenset({"max_completion_tokens", "max_output_tokens", "max_tokens"})


_OF_CHATS = frozenset(
    {"tools", "tool_choice", "parallel_tool_calls", "reasoning_effort", "include_reasoning", "chat_template_kwargs"}
    | {"mm_processor_kwargs", "add_generation_prompt", "continue_final_message"}
)
_OF_POOLING = frozenset({"dimensions", "encoding_format", "truncate_prompt_tokens", "add_special_tokens"})
_ONLY_POOLING = frozenset({"dimensions", "encoding_format"})
_OF_COMPLETIONS = frozenset({"echo", "suffix"})


def is_read(name: str, route: str) -> bool:
    """Tell whether a route reads an option; a name that is none here is for the server to judge."""
    if name not in OPTIONS:
        return True
    if route not in BUDGET:
        return name in _OF_POOLING
    return name not in _ONLY_POOLING | (_OF_CHATS if route == COMPLETIONS else _OF_COMPLETIONS)


def budget_of(body: Mapping[str, Any]) -> int:
    """Return the limit of new tokens that a request says, 0 where it says none."""
    return next((int(body[name]) for name in sorted(BUDGET_NAMES) if isinstance(body.get(name), int | float)), 0)


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


def translate_options(options: Mapping[str, Any], endpoint: str) -> dict[str, Any]:
    """Return the options under the names by which `endpoint` reads them."""
    result = dict(options)
    _name_the_budget(result, endpoint)
    _structure(result)
    if endpoint == MESSAGES:
        _messages_names(result)
        return result
    _beams(result)
    if endpoint == CHAT:
        _chat_logprobs(result)
    elif endpoint == COMPLETIONS and isinstance(result.get("logprobs"), bool):
        result["logprobs"] = result.pop("top_logprobs", 1) if result["logprobs"] else None
    elif endpoint == RESPONSES:
        _responses_structure(result)
    return result


def _name_the_budget(options: dict[str, Any], endpoint: str) -> None:
    """Write the limit of new tokens once, under the endpoint's own name; that name wins where several are set."""
    own = BUDGET.get(endpoint)
    if own is None:
        return
    values = {name: options.pop(name) for name in sorted(BUDGET_NAMES) if name in options}
    if values:
        options[own] = values.get(own, next(iter(values.values())))


def _structure(options: dict[str, Any]) -> None:
    guided = {new: options.pop(old) for old, new in _GUIDED.items() if old in options}
    if guided:
        options["structured_outputs"] = {**guided, **_object_of(options.get("structured_outputs"))}


def _object_of(value: Any) -> dict[str, Any]:
    """Return an object; what is none is left for the server to refuse."""
    return value if isinstance(value, dict) else {}


def _chat_logprobs(options: dict[str, Any]) -> None:
    """Chat takes a flag and a count where completions take the count alone."""
    count = options.get("logprobs")
    if _is_int(count):
        options["logprobs"] = True
        options.setdefault("top_logprobs", count)


def refuse_structure_with_beams(options: Mapping[str, Any]) -> None:
    """Raise RowError for beam search, which would answer without regard to a structure."""
    if options.get("use_beam_search"):
        raise RowError("invalid_value", '"use_beam_search" enforces no structure; leave one of the two out')


def _beams(options: dict[str, Any]) -> None:
    """Beam search looks at `n` beams; older callers say `best_of`, and `early_stopping`, which vLLM always does."""
    searches = options.get("use_beam_search")
    if options.pop("early_stopping", None) and not searches:
        raise RowError("invalid_value", '"early_stopping" needs "use_beam_search": true')
    wanted = _object_of(options.get("response_format")).get("type", "text") != "text"
    if wanted or _object_of(options.get("structured_outputs")):
        refuse_structure_with_beams(options)
    if searches and _is_int(options.get("best_of")):
        options["n"] = max(options.pop("best_of"), options["n"] if _is_int(options.get("n")) else 1)


def _responses_structure(options: dict[str, Any]) -> None:
    """Chat's `response_format` is `text.format` of a response."""
    wanted = options.pop("response_format", None)
    if isinstance(wanted, dict):
        options.setdefault("text", {"format": {"type": wanted.get("type"), **_object_of(wanted.get("json_schema"))}})


def _messages_names(options: dict[str, Any]) -> None:
    """Write `stop` and JSON schemas as Anthropic's API has them. Raises RowError for a structure that it lacks."""
    stop = options.pop("stop", None)
    if stop is not None:
        options.setdefault("stop_sequences", [stop] if isinstance(stop, str) else stop)
    wanted = _object_of(options.pop("response_format", None))
    structure = _object_of(options.pop("structured_outputs", None))
    schema = _object_of(wanted.get("json_schema")).get("schema") or structure.get("json")
    if schema is not None:
        options.setdefault("output_config", {"format": {"type": "json_schema", "schema": schema}})
    elif structure or wanted.get("type", "text") != "text":
        raise RowError("invalid_value", f"{MESSAGES} enforces JSON schemas only; ask on /v1/chat/completions")
