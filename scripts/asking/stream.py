"""An event stream that a server sends although nobody asked for one, put together to the whole answer.

Source: OpenAI API reference (chat, completions, responses), Anthropic API reference (messages), HTML standard (events).
"""

from __future__ import annotations

import json
from typing import Any

_GROWING = ("content", "reasoning", "reasoning_content", "refusal")  # texts of a delta
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def join_stream(text: str) -> dict[str, Any]:
    """Return the answer that a stream adds up to. Raises ValueError for one that is cut off, or none of those known."""
    events, is_done = _read_events(text)
    if not events:
        raise ValueError("no event")
    try:
        return _join(events, is_done=is_done)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a stream of another kind: {error}") from None


def _join(events: list[dict[str, Any]], *, is_done: bool) -> dict[str, Any]:
    kinds = {str(event.get("type")) for event in events}
    if kinds & _ENDS:
        return dict(next(event["response"] for event in events if event.get("type") in _ENDS))
    if "message_start" in kinds:
        return _join_message(events)
    if failed := next((event for event in events if event.get("error")), None):
        return failed
    if len(events) == 1 and "choices" not in events[0]:
        return events[0]
    return _join_choices(events, is_done=is_done)


def _read_events(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the JSON objects of a stream, and whether its end was told."""
    found, data, is_done = [], list[str](), False
    for line in [*text.splitlines(), ""]:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").strip())
        elif not line.strip() and data:
            whole, data = "\n".join(data), []
            is_done = is_done or whole == "[DONE]"
            if whole != "[DONE]":
                found.append(json.loads(whole))
    return [event for event in found if isinstance(event, dict)], is_done


def _join_choices(events: list[dict[str, Any]], *, is_done: bool) -> dict[str, Any]:
    """Return a chat's or a completion's answer."""
    choices: dict[int, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    for event in events:
        whole |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        for part in event.get("choices") or ():
            _add_part(choices.setdefault(part.get("index") or 0, {"index": part.get("index") or 0}), part)
    if not choices or not (is_done or all(choice.get("finish_reason") for choice in choices.values())):
        raise ValueError("cut off")
    whole["object"] = str(whole.get("object", "")).removesuffix(".chunk") or "chat.completion"
    return {**whole, "choices": [choices[index] for index in sorted(choices)]}


def _add_part(choice: dict[str, Any], part: dict[str, Any]) -> None:
    if "text" in part:
        choice["text"] = choice.get("text", "") + (part["text"] or "")
    else:
        message = choice.setdefault("message", {"role": "assistant", "content": ""})
        _add_delta(message, part.get("delta") or part.get("message") or {})
    for name in ("finish_reason", "stop_reason"):
        if part.get(name) is not None:
            choice[name] = part[name]
    if isinstance(told := part.get("logprobs"), dict):
        kept = choice.setdefault("logprobs", {})
        for name, values in told.items():
            kept[name] = kept.get(name, []) + values if isinstance(values, list) else values


def _add_delta(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for name in _GROWING:
        if isinstance(delta.get(name), str):
            message[name] = (message.get(name) or "") + delta[name]
    for call in delta.get("tool_calls") or ():
        calls = message.setdefault("tool_calls", [])
        place = call.get("index", len(calls))
        known = next((one for one in calls if one["index"] == place), None)
        if known is None:
            known = {"index": place, "type": "function", "function": {"name": "", "arguments": ""}}
            calls.append(known)
        known["id"] = call.get("id") or known.get("id")
        for name, text in (call.get("function") or {}).items():
            known["function"][name] = known["function"].get(name, "") + (text or "")


def _join_message(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of Anthropic's API."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        kind = event.get("type")
        if kind == "message_start":
            message = dict(event["message"])
        elif kind == "content_block_start":
            blocks[event["index"]] = {**event["content_block"]}
        elif kind == "content_block_delta":
            _add_to_block(blocks[event["index"]], event["delta"])
        elif kind == "message_delta":
            message |= event["delta"]
            message["usage"] = {**(message.get("usage") or {}), **(event.get("usage") or {})}
    if not message.get("stop_reason"):
        raise ValueError("cut off")
    return {**message, "content": [_finish_block(blocks[index]) for index in sorted(blocks)]}


def _add_to_block(block: dict[str, Any], delta: dict[str, Any]) -> None:
    for name in ("text", "thinking", "signature", "partial_json"):
        if isinstance(delta.get(name), str):
            block[name] = block.get(name, "") + delta[name]


def _finish_block(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block; what a tool is given comes as pieces of JSON."""
    given = block.pop("partial_json", None)
    return {**block, "input": json.loads(given or "{}")} if given is not None else block
