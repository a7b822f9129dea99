"""Bedrock's families of models: which one a record's `modelInput` is written for, and what it asks there.

A record names no model, so that its fields tell the family. What is not a family's own goes to the server as it is.

Source: Amazon Bedrock user guide, "Inference request parameters and response fields for foundation models", "Converse".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any


class Family(StrEnum):
    """A shape of requests and of answers."""

    ANTHROPIC = "anthropic"  # its Messages API
    CLAUDE = "claude"  # its older text completions
    CONVERSE = "converse"  # Bedrock's own API, and Nova
    CHAT = "chat"  # OpenAI's, and those of Mistral's and others that are alike
    COHERE_CHAT = "cohere chat"
    COHERE = "cohere"
    COHERE_EMBED = "cohere embed"
    TITAN = "titan"
    LLAMA = "llama"
    JURASSIC = "jurassic"
    MISTRAL = "mistral"  # and a prompt that shows no other family


_PROMPTS = (  # by the options that only they have, in this order
    (Family.LLAMA, {"max_gen_len"}),
    (Family.CLAUDE, {"max_tokens_to_sample", "anthropic_version"}),
    (Family.COHERE, {"return_likelihoods", "num_generations", "p", "k", "truncate"}),
    (Family.JURASSIC, {"maxTokens", "numResults", "countPenalty"}),
)
_CONVERSE = frozenset({"inferenceConfig", "toolConfig", "schemaVersion", "additionalModelRequestFields"})
_SPEAKERS = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system"}  # of Cohere's chats
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_DROPPED = frozenset({"cachePoint", "reasoningContent", "guardContent"})  # parts that no server reads


def find_family(given: Mapping[str, Any]) -> Family:
    """Return the family that a model input is written for."""
    if "messages" in given:
        if "anthropic_version" in given:
            return Family.ANTHROPIC
        return Family.CONVERSE if given.keys() & _CONVERSE or _has_bare_parts(given) else Family.CHAT
    for name, family in (("message", Family.COHERE_CHAT), ("texts", Family.COHERE_EMBED), ("inputText", Family.TITAN)):
        if name in given:
            return family
    return next((family for family, names in _PROMPTS if given.keys() & names), Family.MISTRAL)


def _has_bare_parts(given: Mapping[str, Any]) -> bool:
    """Tell whether a conversation has parts without a type, as Converse writes them."""
    messages = given["messages"] if isinstance(given["messages"], list) else []
    contents = [message.get("content") for message in messages if isinstance(message, dict)]
    parts = [part for content in (*contents, given.get("system")) if isinstance(content, list) for part in content]
    return any(isinstance(part, dict) and "type" not in part for part in parts)


def cohere_messages(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the conversation of a Cohere chat: its history and its message."""
    turns = [turn for turn in given.get("chat_history") or [] if isinstance(turn, dict)]
    told = [
        {"role": _SPEAKERS.get(str(turn.get("role")).upper(), "user"), "content": turn.get("message")} for turn in turns
    ]
    return [*told, {"role": "user", "content": given["message"]}]


def chat_messages(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a conversation of Anthropic's or of Converse as chats have it."""
    return [made for message in messages for made in _chat_message(message)]


def _chat_message(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message: what tools gave stands in messages of its own, and calls stand beside the text."""
    content = message.get("content")
    if not isinstance(content, list):
        yield message
        return
    parts = [part for part in content if not (isinstance(part, dict) and part.keys() & _DROPPED)]
    results = [found for part in parts if (found := _result(part))]
    calls = [found for part in parts if (found := _call(part))]
    said = [_part(part) for part in parts if not _result(part) and not _call(part)]
    yield from results
    if calls:
        yield {**message, "content": said or None, "tool_calls": calls}
    elif said or not results:
        yield {**message, "content": said}


def _result(part: Any) -> dict[str, Any] | None:
    """Return the message of what a tool gave, or None for another part."""
    if not isinstance(part, dict):
        return None
    given = part.get("toolResult") if isinstance(part.get("toolResult"), dict) else None
    if given is not None:
        return {"role": "tool", "tool_call_id": given.get("toolUseId"), "content": _told(given.get("content"))}
    if part.get("type") == "tool_result":
        return {"role": "tool", "tool_call_id": part.get("tool_use_id"), "content": _told(part.get("content"))}
    return None


def _told(content: Any) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else json.dumps(content)
    return "\n".join(
        part["text"]
        if isinstance(part, dict) and "text" in part
        else json.dumps(part.get("json", part))
        if isinstance(part, dict)
        else str(part)
        for part in content
    )


def _call(part: Any) -> dict[str, Any] | None:
    """Return the call of a tool, or None for another part."""
    if not isinstance(part, dict):
        return None
    used = part.get("toolUse") if isinstance(part.get("toolUse"), dict) else None
    used = used or (part if part.get("type") == "tool_use" else None)
    if used is None:
        return None
    inner = {"name": used.get("name"), "arguments": json.dumps(used.get("input") or {})}
    return {"id": used.get("toolUseId") or used.get("id"), "type": "function", "function": inner}


def _part(part: Any) -> Any:
    """Write Converse's `{"text": ...}` and `{"image": ...}`, and Anthropic's base64 image, as chats have them."""
    if not isinstance(part, dict):
        return part
    if part.keys() == {"text"}:
        return {"type": "text", "text": part["text"]}
    if part.get("type") == "text":
        return {name: value for name, value in part.items() if name in ("type", "text")}
    image = part.get("image")
    if isinstance(image, dict) and isinstance(image.get("source"), dict):
        return _image(f"image/{image.get('format', 'png')}", image["source"].get("bytes"))
    source = part.get("source")
    if part.get("type") == "image" and isinstance(source, dict) and source.get("type") == "base64":
        return _image(source.get("media_type"), source.get("data"))
    return part


def _image(kind: Any, data: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


def chat_tools(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's tools, and its choice among them, as chats have them."""
    config = given.get("toolConfig")
    if not isinstance(config, dict):
        choice = given.get("tool_choice")
        return {"tool_choice": _choice(choice)} if isinstance(choice, dict) and "type" in choice else {}
    specs = [tool["toolSpec"] for tool in config.get("tools") or [] if isinstance(tool, dict) and "toolSpec" in tool]
    tools = [{"type": "function", "function": _function(spec)} for spec in specs if isinstance(spec, dict)]
    choice = config.get("toolChoice")
    if not isinstance(choice, dict) or not choice:
        return {"tools": tools}
    kind = next(iter(choice))
    inner = choice[kind] if isinstance(choice[kind], dict) else {}
    return {"tools": tools, "tool_choice": _choice({"type": kind, **inner})}


def _function(spec: dict[str, Any]) -> dict[str, Any]:
    schema = spec.get("inputSchema")
    parameters = schema.get("json") if isinstance(schema, dict) else None
    whole = {"name": spec.get("name"), "description": spec.get("description"), "parameters": parameters}
    return {name: value for name, value in whole.items() if value is not None}


def _choice(choice: dict[str, Any]) -> Any:
    if choice.get("type") == "tool":
        return {"type": "function", "function": {"name": choice.get("name")}}
    return _CHOICES.get(str(choice.get("type")), choice)
