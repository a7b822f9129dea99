"""Conversations of data sets of every make, as the messages that chats have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

COLUMNS = ("conversations", "conversation", "dialog", "dialogue", "turns", "contents")  # where a set keeps them
_ROLES = {
    **dict.fromkeys(("human", "user", "prompter", "client", "customer", "question", "instruction"), "user"),
    **dict.fromkeys(("gpt", "assistant", "model", "bot", "chatgpt", "bing", "bard", "answer", "ai"), "assistant"),
    **dict.fromkeys(("system", "developer", "tool"), ""),  # named alike
    **dict.fromkeys(("function_response", "observation", "function"), "tool"),
}
PAIR = ("user", "assistant")
_SPEAKERS = ("from", "role", "speaker", "author")
_WORDS = ("value", "content", "text", "message", "parts", "utterance")
_SHOWN = ("human", "user", "gpt", "assistant", "model", "system", "tool", "function_response", "observation")


class ConversationError(Exception):
    """A conversation that cannot be read; the message says which turn."""


def are_messages(value: Any) -> bool:
    """Tell whether a value is a conversation as chats have it."""
    return isinstance(value, list) and all(
        isinstance(turn, dict) and isinstance(turn.get("role"), str) and ("content" in turn or "tool_calls" in turn)
        for turn in value
    )


def are_words(turn: Any) -> bool:
    """Tell a question with its answer, as a list of the two."""
    return isinstance(turn, list) and len(turn) == len(PAIR) and all(isinstance(each, str) for each in turn)


def read_conversation(name: str, turns: Sequence[Any]) -> tuple[list[dict[str, Any]], str | None]:
    """Return the messages of a conversation, and aside what the assistant says last. Raises ConversationError."""
    messages = list(_messages(name, turns))
    reference = messages.pop()["content"] if messages and messages[-1]["role"] == "assistant" else None
    if not messages:
        raise ConversationError(f'"{name}" holds no turn of a user')
    return messages, reference


def _messages(name: str, turns: Sequence[Any]) -> Iterator[dict[str, Any]]:
    speaker = "user"
    for place, turn in enumerate(turns, 1):
        if are_words(turn):  # a question and its answer
            yield from ({"role": role, "content": words} for role, words in zip(PAIR, turn, strict=True) if words)
        elif isinstance(turn, str) and turn:  # the speakers take turns
            yield {"role": speaker, "content": turn}
            speaker = "assistant" if speaker == "user" else "user"
        elif isinstance(turn, dict):
            yield from _of_turn(name, place, turn)
        else:
            raise ConversationError(f'turn {place} of "{name}" is not an object')


def _of_turn(name: str, place: int, turn: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a turn says: one message, or a question with its answer."""
    speaker = next((turn[key] for key in _SPEAKERS if turn.get(key) is not None), None)
    if speaker is None:
        said = [(_ROLES[key.lower()] or key.lower(), turn[key]) for key in turn if key.lower() in _ROLES]
        if said:
            yield from ({"role": role, "content": _text(words)} for role, words in said if words)
            return
    if not isinstance(speaker, str) or speaker.lower() not in _ROLES:
        raise ConversationError(f'turn {place} of "{name}" is from {speaker!r}; known are {", ".join(_SHOWN)}')
    words = next((turn[key] for key in _WORDS if key in turn), None)
    yield {"role": _ROLES[speaker.lower()] or speaker.lower(), "content": _text(words)}


def _text(words: Any) -> str:
    if isinstance(words, list) and all(isinstance(part, dict) and "text" in part for part in words):
        return "".join(str(part["text"]) for part in words)
    if words is None:
        return ""
    return words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
