"""An answer of the server in the shape of the family that a Bedrock record is written for.

Source: Amazon Bedrock user guide, "Inference request parameters and response fields for foundation models", "Converse".
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dialects.bedrock_families import Family
from dialects.reply import CUT_OFF, read_content, read_counts, read_finish

_STOPPED = {"tool_calls": "tool_use", "function_call": "tool_use", "content_filter": "refusal"}


def shape_answer(family: Family, given: Mapping[str, Any], text: str) -> str:
    """Return the JSON text of a record's modelOutput; what has a family's shape already, or none, stays as it is."""
    body = json.loads(text)
    if (
        family == Family.CHAT
        or not isinstance(body, dict)
        or "outputs" in body
        or not body.keys() & {"choices", "data"}
    ):
        return text
    try:
        if family == Family.MISTRAL:  # or of a prompt that shows no family: what the server wrote stays
            return f'{text.rstrip()[:-1]}, "outputs": {json.dumps(_outputs(body), ensure_ascii=False)}}}'
        shaped = _embedded(family, given, body) if "data" in body else _said(family, given, body)
    except (KeyError, IndexError, TypeError, AttributeError):  # no answer of an endpoint that is asked here
        return text
    return json.dumps(shaped, ensure_ascii=False)


def _embedded(family: Family, given: Mapping[str, Any], body: Any) -> dict[str, Any]:
    vectors = [item["embedding"] for item in body["data"]]
    if family == Family.TITAN:
        return {"embedding": vectors[0], "inputTextTokenCount": read_counts(body)[0]}
    named = {"id": body.get("id") or uuid.uuid4().hex, "texts": given["texts"]}
    return {"embeddings": vectors, "response_type": "embeddings_floats", **named}


def _said(family: Family, given: Mapping[str, Any], body: Any) -> dict[str, Any]:
    """Return generated texts in a family's shape."""
    said = _Said(
        name=body.get("id") or uuid.uuid4().hex,
        texts=[(_text_of(choice), read_finish(choice.get("finish_reason"))) for choice in body["choices"]],
        counts=read_counts(body),
        calls=_calls(body["choices"][0]),
        model=body.get("model"),
    )
    return _SHAPES[family](said, given)


@dataclass(frozen=True, slots=True)
class _Said:
    """What an answer holds, in no family's shape: its texts with their ends, and the calls of its first choice."""

    name: str
    texts: list[tuple[str, Any]]
    counts: tuple[int | None, int | None]
    calls: list[tuple[Any, Any, Any]]
    model: Any

    def word(self, cut: str, whole: str) -> str:
        """Return a family's word for how the first text ended."""
        return _word(self.texts[0][1], cut, whole)


def _titan(said: _Said, given: Mapping[str, Any]) -> dict[str, Any]:
    count = said.counts[1] if len(said.texts) == 1 else None
    results = [
        {"tokenCount": count, "outputText": text, "completionReason": _word(end, "LENGTH", "FINISH")}
        for text, end in said.texts
    ]
    return {"inputTextTokenCount": said.counts[0], "results": results}


def _llama(said: _Said, given: Mapping[str, Any]) -> dict[str, Any]:
    counts = {"prompt_token_count": said.counts[0], "generation_token_count": said.counts[1]}
    return {"generation": said.texts[0][0], **counts, "stop_reason": said.word("length", "stop")}


def _claude(said: _Said, given: Mapping[str, Any]) -> dict[str, Any]:
    reason = said.word("max_tokens", "stop_sequence")
    return {"type": "completion", "completion": said.texts[0][0], "stop_reason": reason, "stop": None}


def _cohere(said: _Said, given: Mapping[str, Any]) -> dict[str, Any]:
    generations = [
        {"id": f"{said.name}-{place}", "text": text, "finish_reason": _word(end, "MAX_TOKENS", "COMPLETE")}
        for place, (text, end) in enumerate(said.texts)
    ]
    return {"id": said.name, "generations": generations, "prompt": given.get("prompt")}


def _cohere_chat(said: _Said, given: Mapping[str, Any]) -> dict[str, Any]:
    text = said.texts[0][0]
    turns = [{"role": "USER", "message": given.get("message")}, {"role": "CHATBOT", "message": text}]
    history = [*(given.get("chat_history") or []), *turns]
    named = {"response_id": said.name, "generation_id": said.name}
    return {**named, "text": text, "chat_history": history, "finish_reason": said.word("MAX_TOKENS", "COMPLETE")}


def _jurassic(said: _Said, given: Mapping[str, Any]) -> dict[str, Any]:
    completions = [
        {"data": {"text": text}, "finishReason": {"reason": _word(end, "length", "endoftext")}}
        for text, end in said.texts
    ]
    return {"id": said.name, "prompt": {"text": given.get("prompt")}, "completions": completions}


def _converse(said: _Said, given: Mapping[str, Any]) -> dict[str, Any]:
    text, end = said.texts[0]
    calls = [{"toolUse": {"toolUseId": each, "name": name, "input": inner}} for each, name, inner in said.calls]
    asked, answered = said.counts
    total = None if asked is None or answered is None else asked + answered
    parts = [{"text": text}] if text or not calls else []
    return {
        "output": {"message": {"role": "assistant", "content": [*parts, *calls]}},
        "stopReason": _reason(end),
        "usage": {"inputTokens": asked, "outputTokens": answered, "totalTokens": total},
    }


def _message(said: _Said, given: Mapping[str, Any]) -> dict[str, Any]:
    text, end = said.texts[0]
    calls = [{"type": "tool_use", "id": each, "name": name, "input": inner} for each, name, inner in said.calls]
    parts = [{"type": "text", "text": text}] if text or not calls else []
    asked, answered = said.counts
    head = {"id": said.name, "type": "message", "role": "assistant", "model": said.model}
    tail = {"stop_reason": _reason(end), "stop_sequence": None}
    return {**head, "content": [*parts, *calls], **tail, "usage": {"input_tokens": asked, "output_tokens": answered}}


_SHAPES = {
    Family.TITAN: _titan,
    Family.LLAMA: _llama,
    Family.CLAUDE: _claude,
    Family.COHERE: _cohere,
    Family.COHERE_CHAT: _cohere_chat,
    Family.JURASSIC: _jurassic,
    Family.CONVERSE: _converse,
    Family.ANTHROPIC: _message,
}


def _outputs(body: Any) -> list[dict[str, Any]]:
    return [
        {"text": _text_of(each), "stop_reason": _word(read_finish(each.get("finish_reason")), "length", "stop")}
        for each in body["choices"]
    ]


def _text_of(choice: Any) -> str:
    if "text" in choice:
        return str(choice["text"] or "")
    return read_content(choice["message"].get("content"))[0]


def _word(end: Any, cut: str, whole: str) -> str:
    return cut if end in CUT_OFF else whole


def _reason(end: Any) -> str | None:
    return "max_tokens" if end in CUT_OFF else "end_turn" if end in ("stop", None) else _STOPPED.get(end, end)


def _calls(choice: Any) -> list[tuple[Any, Any, Any]]:
    """Return a choice's calls of tools as (id, name, input)."""
    found = (choice.get("message") or {}).get("tool_calls") or []
    return [(call.get("id"), call["function"]["name"], _arguments(call["function"].get("arguments"))) for call in found]


def _arguments(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) and text.strip() else text or {}
    except (ValueError, RecursionError):
        return text
