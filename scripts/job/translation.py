"""A request's options under the names by which its endpoint reads them.

`max_tokens` so means the same everywhere, and an old `guided_*` name is enforced rather than ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.refusals import MAX_COMPLETION_TOKENS, MAX_TOKENS
from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from job.options import BUDGET, BUDGET_ORDER, GUIDED, is_int
from rows.errors import RowError


def translate_options(options: Mapping[str, Any], endpoint: str, limit: str = MAX_TOKENS) -> dict[str, Any]:
    """Return the options under the names by which `endpoint` reads them; `limit` is that of a chat's longest answer."""
    result = dict(options)
    if endpoint == CHAT:
        _name_the_limit(result, limit)
    else:
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
    values = {name: options.pop(name) for name in BUDGET_ORDER if name in options}
    if values:
        options[own] = values.get(own, next(iter(values.values())))


def _name_the_limit(options: dict[str, Any], limit: str) -> None:
    """Write a chat's limit under the name that the server reads, beside the request's own name for it.

    vLLM and OpenAI read two names; many servers read one of them and ignore the other without a word.
    """
    output = options.pop("max_output_tokens", None)
    values = [options[name] for name in (MAX_COMPLETION_TOKENS, MAX_TOKENS) if name in options]
    if limit == MAX_COMPLETION_TOKENS:
        options.pop(MAX_TOKENS, None)  # which the server refuses
    if values or output is not None:
        options.setdefault(limit, values[0] if values else output)


def _structure(options: dict[str, Any]) -> None:
    if not GUIDED.keys().isdisjoint(options):
        guided = {new: options.pop(old) for old, new in GUIDED.items() if old in options}
        options["structured_outputs"] = {**guided, **_object_of(options.get("structured_outputs"))}


def _object_of(value: Any) -> dict[str, Any]:
    """Return an object; what is none is left for the server to refuse."""
    return value if isinstance(value, dict) else {}


def _chat_logprobs(options: dict[str, Any]) -> None:
    """Chat takes a flag and a count where completions take the count alone."""
    count = options.get("logprobs")
    if is_int(count):
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
    if not searches:
        return
    wanted = _object_of(options.get("response_format")).get("type", "text") != "text"
    if wanted or _object_of(options.get("structured_outputs")):
        refuse_structure_with_beams(options)
    if is_int(options.get("best_of")):
        options["n"] = max(options.pop("best_of"), options["n"] if is_int(options.get("n")) else 1)


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
