"""What a request asks, as vLLM reads it: prompts, messages and their parts.

Source: vLLM's renderers/chat_utils.py and its request models, versions 0.19 to 0.33.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from rows.json_text import shorten

_PARTS = frozenset(  # of a chat's message
    {"text", "thinking", "input_text", "output_text", "refusal", "tool_reference", "input_image", "image_url"}
    | {"image_embeds", "audio_embeds", "video_embeds", "prompt_embeds", "image_pil", "audio_url", "input_audio"}
    | {"video_url"}
)
_UNTYPED = frozenset({"image_url", "image_pil", "audio_url", "input_audio", "video_url", "text", "refusal"})
_BLOCKS = frozenset(  # of Anthropic's messages
    {"text", "image", "tool_use", "tool_result", "tool_reference", "thinking", "redacted_thinking"}
    | {"tool_addition", "tool_removal"}
)
_ITEM_SPEAKERS = ("user", "assistant", "system", "developer")
_ITEM_PARTS = ("input_text", "input_image", "input_file", "input_audio", "output_text", "refusal", "summary_text")
_THINKING = ("enabled", "disabled", "adaptive")
MOST_STOPS = 4  # texts to stop at that newer servers take
LEAST_THOUGHT = 1024  # tokens
_SPEAKERS = ("user", "assistant", "system")  # of Anthropic's messages, in newer servers


def faults(route: str, body: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the server would refuse in what a request asks."""
    if route == COMPLETIONS:
        yield from _prompt_faults(body)
    elif route in (CHAT, MESSAGES):
        yield from _message_faults(route, body.get("messages"))
        if route == MESSAGES:
            yield from _system_faults(body.get("system"))
    elif route == RESPONSES:
        yield from _input_faults(body.get("input"))


def _prompt_faults(body: Mapping[str, Any]) -> Iterator[str]:
    prompt = body.get("prompt")
    if prompt in (None, "") and not body.get("prompt_embeds"):
        yield '"prompt" is empty; write what to complete'
    elif not isinstance(prompt, str | list | None):
        yield f'"prompt" must be a text, a list of texts or a list of tokens, got {shorten(prompt)}'
    elif isinstance(prompt, list):
        kinds = {type(each) for each in prompt}
        if len(kinds) != 1 or not kinds <= {str, int, list} or "" in prompt or [] in prompt:
            yield '"prompt" must be a text, a list of texts or a list of tokens, none of them empty'


def _message_faults(route: str, messages: Any) -> Iterator[str]:
    if messages == []:
        yield '"messages" is empty; write at least one message'
        return
    if not isinstance(messages, list):
        yield f'"messages" must be a list of messages, got {shorten(messages)}'
        return
    for place, message in enumerate(messages, 1):
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str):
            yield f'message {place} must be an object with a "role"'
        elif route == MESSAGES and role not in _SPEAKERS:
            yield f"message {place} is of {shorten(role)}; {MESSAGES} knows {', '.join(_SPEAKERS)}"
        else:
            yield from _content_faults(route, message, place)


def _content_faults(route: str, message: Mapping[str, Any], place: int) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        return
    if content is None and route == CHAT and ("content" not in message or message["role"] == "assistant"):
        return
    if not isinstance(content, list):
        yield f'"content" of message {place} must be a text or a list of parts, got {shorten(content)}'
        return
    for part in content:
        known = _BLOCKS if route == MESSAGES else _PARTS
        if isinstance(part, str) and route == CHAT:
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        if kind is None and isinstance(part, dict) and route == CHAT and part.keys() & _UNTYPED:
            continue
        if not isinstance(kind, str) or kind not in known:
            yield f"message {place} has a part of type {shorten(kind)}, which the server does not know"
        elif kind == "text" and not isinstance(part.get("text"), str):
            yield f'message {place} has a part of type "text" without its text'


def _system_faults(system: Any) -> Iterator[str]:
    parts = system if isinstance(system, list) else []
    if not isinstance(system, str | list | None) or not all(isinstance(part, dict) for part in parts):
        yield f'"system" must be a text or a list of parts, got {shorten(system)}'


def _input_faults(asked: Any) -> Iterator[str]:
    if not isinstance(asked, str | list) or asked == []:
        yield f'"input" must be a text or a list of messages, got {shorten(asked)}'
        return
    for place, item in enumerate(asked if isinstance(asked, list) else (), 1):
        if not isinstance(item, dict):
            yield f'item {place} of "input" must be an object'
        elif "role" in item and item.get("type", "message") == "message":
            yield from _item_faults(item, place)
        elif not isinstance(item.get("type"), str):
            yield f'item {place} of "input" must have a "role" and "content", or a "type"'


def _item_faults(item: Mapping[str, Any], place: int) -> Iterator[str]:
    content, role = item.get("content"), item["role"]
    if role not in _ITEM_SPEAKERS:
        yield f'item {place} of "input" is of {shorten(role)}; {RESPONSES} knows {", ".join(_ITEM_SPEAKERS)}'
    if not isinstance(content, str | list):
        yield f'"content" of item {place} of "input" must be a text or a list of parts'
    for part in content if isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _ITEM_PARTS:
            known = ", ".join(_ITEM_PARTS)
            yield f'item {place} of "input" has a part of type {shorten(kind)}; {RESPONSES} knows {known}'


def tokenized_faults(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the server would refuse in what is to be taken apart into tokens."""
    if not isinstance(body.get("prompt"), str) and not isinstance(body.get("messages"), list):
        yield 'the body needs "prompt", a text, or "messages"'


def message_option_faults(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the server would refuse in the options that Anthropic's messages alone have."""
    budget, stops = body.get("max_tokens"), body.get("stop_sequences")
    if isinstance(budget, int | float) and budget < 1:
        yield f'"max_tokens" must be 1 or more, got {shorten(budget)}'
    texts = [stop for stop in stops if isinstance(stop, str) and stop] if isinstance(stops, list) else []
    if stops is not None and (not isinstance(stops, list) or len(texts) != len(stops) or len(stops) > MOST_STOPS):
        yield f'"stop_sequences" must be a list of at most {MOST_STOPS} texts, none of them empty, got {shorten(stops)}'
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in _THINKING:
        yield f'"thinking" must have a "type" of {", ".join(_THINKING)}'
    elif kind == "enabled":
        given = thinking.get("budget_tokens")
        if not isinstance(given, int) or given < LEAST_THOUGHT or (isinstance(budget, int) and given >= budget):
            yield f'"budget_tokens" of thinking must be {LEAST_THOUGHT} or more and less than "max_tokens"'
