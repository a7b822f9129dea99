"""Bedrock batch records: `recordId` with `modelInput`, in the messages and the prompt forms.

Source: Amazon Bedrock user guide, "Format and upload your batch inference data" and "InvokeModel" request bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialects.answers import check_schema
from dialects.base import apply_defaults, check_messages, put_system, refuse_stream, require
from dialects.exchange import Answer, Ask, Failure
from dialects.marks import OWN_PROMPTS, Marks, besides
from engine import routes
from engine.facts import Served
from job.defaults import Defaults
from job.options import check_options
from rows.row import Row, quote

NAME = "bedrock"
MARKS = Marks(
    asked=(("modelInput",),),
    unless=besides(*OWN_PROMPTS, "modelOutput", "error.errorCode"),  # the last two were asked before
    answered=(("modelInput", "modelOutput"), ("modelInput", "error.errorCode")),
    added=frozenset({"modelOutput", "error"}),
)
RENAMED = {  # option names of the model families, to the server's
    "maxTokens": "max_tokens",
    "max_gen_len": "max_tokens",
    "maxTokenCount": "max_tokens",
    "max_tokens_to_sample": "max_tokens",
    "topP": "top_p",
    "topK": "top_k",
    "stopSequences": "stop",
    "stop_sequences": "stop",
}
OWN = frozenset({"anthropic_version", "anthropic_beta", "schemaVersion", "messages", "prompt", "inputText", "system"})
NESTED = ("inferenceConfig", "textGenerationConfig")


def ask(row: Row, defaults: Defaults, served: Served) -> Ask:
    """Return the record's request."""
    model_input = require(row.fields["modelInput"], dict, "modelInput", "the request's JSON object")
    refuse_stream(model_input)
    options = check_options(_options(model_input))
    if "messages" in model_input:
        check_messages(model_input["messages"], "modelInput.messages")
        messages = [{**message, "content": _content(message.get("content"))} for message in model_input["messages"]]
        system = _text(model_input.get("system"))
        if system:
            messages = put_system(messages, system, served)
        body = {"messages": messages, **options}
        return apply_defaults(routes.CHAT, body, defaults, served, own_system=bool(system))
    prompt = model_input.get("prompt", model_input.get("inputText"))
    text = require(prompt, str, "modelInput.prompt", "a text (or modelInput.messages a conversation)")
    return apply_defaults(routes.COMPLETIONS, {"prompt": text, **options}, defaults, served)


def _options(model_input: dict[str, Any]) -> dict[str, Any]:
    flat = {name: value for name, value in model_input.items() if name not in OWN and name not in NESTED}
    for nested in NESTED:
        flat |= require(model_input.get(nested) or {}, dict, f"modelInput.{nested}", "an object")
    return {RENAMED.get(name, name): value for name, value in flat.items()}


def _content(content: Any) -> Any:
    """Write the parts of a message as the server reads them."""
    return [_part(part) for part in content] if isinstance(content, list) else content


def _part(part: Any) -> Any:
    """Write Nova's `{"text": ...}` and `{"image": ...}`, and Anthropic's base64 image, as the server's own parts."""
    if not isinstance(part, dict):
        return part
    if part.keys() == {"text"}:
        return {"type": "text", "text": part["text"]}
    image = part.get("image")
    if isinstance(image, dict) and isinstance(image.get("source"), dict):
        return _image(f"image/{image.get('format', 'png')}", image["source"].get("bytes"))
    source = part.get("source")
    if part.get("type") == "image" and isinstance(source, dict) and source.get("type") == "base64":
        return _image(source.get("media_type"), source.get("data"))
    return part


def _image(kind: Any, data: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


def _text(system: Any) -> str:
    if isinstance(system, list):
        return "\n".join(str(part.get("text", "")) for part in system if isinstance(part, dict))
    return system or ""


def read_answer(ask: Ask, answer: Answer, defaults: Defaults) -> dict[str, str]:
    """Return the response body as `modelOutput`."""
    check_schema(ask, answer, defaults)
    return {"modelOutput": answer.text}


def read_failure(failure: Failure) -> dict[str, str]:
    """Return the record's error."""
    return {"error": quote({"errorCode": failure.http_status, "errorMessage": failure.message})}


def write(row: Row, results: Mapping[str, str], defaults: Defaults) -> str:
    """Return the record with the results."""
    return row.extend(results, MARKS.added)
