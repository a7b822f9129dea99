"""Stand-ins for servers that are not vLLM: each with its own limits, list of models, errors and words.

Every one of them has the same model, `org/m`, which answers with as many words as it may, up to WORDS, and has room for
CONTEXT words of prompt and answer. What differs is what people meet: which name of the limit is read, what happens when
there is no room, how the models are listed, what unknown paths answer.

Source: the documents and issue trackers of Ollama, LM Studio, llama.cpp, TGI, SGLang, OpenAI, Mistral, Google.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.fake_server import Asked, FakeServer, Fault

MODEL = "org/m"
CONTEXT, WORDS = 64, 200  # tokens, each a word
UNBOUNDED = 10_000


def as_json(status: int, body: Any) -> Fault:
    """Return an answer of JSON."""
    return Fault(status, json.dumps(body).encode())


def count_prompt(body: dict[str, Any]) -> int:
    """Return the words of a request."""
    texts = [message["content"] for message in body.get("messages", ())] or [body.get("prompt", "")]
    return sum(len(text.split()) for text in texts)


@dataclass(frozen=True)
class Kind:
    """One make of server.

    `reads` are the names of the limit that it reads, `refuses` what it says to a request that it does not take (None:
    it takes all), `listed` its list of models, `unknown` what other paths answer, `base` what ServerUrl ends in.
    """

    reads: tuple[str, ...]
    listed: Any
    refuse: Callable[[dict[str, Any], int], Fault | None] = lambda body, limit: None
    unknown: Fault = field(default_factory=lambda: as_json(404, {"detail": "Not Found"}))
    base: str = "/v1"
    prefix: str = "/v1"
    key: str = ""
    parts: bool = False  # content is a list
    cut: str = "length"
    usage: bool = True

    def serve(self) -> FakeServer:
        """Return the stand-in, not yet started."""
        server = FakeServer(self.answer, key=self.key)
        server.pages = {f"{self.prefix}/models": as_json(200, self.listed), "*": self.unknown}
        return server

    def find_limit(self, body: dict[str, Any]) -> int:
        """Return the limit that this server finds in a request."""
        return next((body[name] for name in self.reads if body.get(name) is not None), UNBOUNDED)

    def answer(self, asked: Asked) -> Fault:
        """Answer one request as this server does."""
        if asked.path != f"{self.prefix}/chat/completions":
            return self.unknown
        body, limit = asked.body, self.find_limit(asked.body)
        if refusal := self.refuse(body, limit):
            return refusal
        count = min(limit, WORDS)
        text = " ".join(f"w{n}" for n in range(count))
        content: Any = [{"type": "text", "text": text}] if self.parts else text
        reason = self.cut if limit <= count else "stop"
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": reason}
        usage = {"prompt_tokens": count_prompt(body), "completion_tokens": count}
        told = {"usage": usage} if self.usage else {}
        return as_json(200, {"id": "c", "object": "chat.completion", "model": MODEL, "choices": [choice], **told})


def _find_model(body: dict[str, Any], known: set[str], refusal: Callable[[str], Fault]) -> Fault | None:
    return None if body.get("model") in known else refusal(str(body.get("model")))


def _ollama(body: dict[str, Any], _: int) -> Fault | None:
    message = 'model "{}" not found, try pulling it first'
    error = {"type": "api_error", "param": None, "code": None}
    return _find_model(
        body,
        {MODEL, f"{MODEL}:latest"},
        lambda name: as_json(404, {"error": {"message": message.format(name), **error}}),
    )


def _lm_studio(body: dict[str, Any], _: int) -> Fault | None:
    kept = count_prompt(body)
    words = f"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: {kept}"
    return as_json(400, {"error": f"{words}>= n_ctx: {CONTEXT})"}) if kept >= CONTEXT else None


def _llama_cpp(body: dict[str, Any], limit: int) -> Fault | None:
    used = count_prompt(body)
    if used >= CONTEXT:
        words = f"request ({used} tokens) exceeds the available context size ({CONTEXT} tokens), try increasing it"
        error = {"code": 400, "message": words, "type": "exceed_context_size_error", "n_ctx": CONTEXT}
        return as_json(400, {"error": error})
    if used + min(limit, WORDS) > CONTEXT:
        error = {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}
        return as_json(500, {"error": error})
    return None


def _tgi(body: dict[str, Any], limit: int) -> Fault | None:
    used = count_prompt(body)
    if used + limit <= CONTEXT:
        return None
    words = f"`inputs` tokens + `max_new_tokens` must be <= {CONTEXT}. Given: {used} `inputs` tokens and {limit}"
    error = {"error": f"Input validation error: {words} `max_new_tokens`", "error_type": "validation"}
    return as_json(200 if body.get("seed") else 422, error)  # 2.4 says so under 200


def _sglang(body: dict[str, Any], limit: int) -> Fault | None:
    used = count_prompt(body)
    if used + limit <= CONTEXT:
        return None
    words = (
        f"Requested token count exceeds the model's maximum context length of {CONTEXT} tokens. You requested a total "
        f"of {used + limit} tokens: {used} tokens from the input messages and {limit} tokens for the completion. "
        "Please reduce the number of tokens in the input messages or the completion to fit within the limit."
    )
    return as_json(400, {"object": "error", "message": words, "type": "BadRequestError", "param": None, "code": 400})


def _openai_error(words: str, param: str | None = None, code: str | None = None, status: int = 400) -> Fault:
    error = {"message": words, "type": "invalid_request_error", "param": param, "code": code}
    return as_json(status, {"error": error})


def _openai(body: dict[str, Any], limit: int) -> Fault | None:
    if "max_tokens" in body:
        words = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return _openai_error(words, "max_tokens", "unsupported_parameter")
    if body.get("temperature", 1) != 1:
        given = body["temperature"]
        words = (
            f"Unsupported value: 'temperature' does not support {given} with this model. "
            "Only the default (1) value is supported."
        )
        return _openai_error(words, "temperature", "unsupported_value")
    used = count_prompt(body)
    if used + min(limit, WORDS) > CONTEXT:
        words = (
            f"This model's maximum context length is {CONTEXT} tokens. However, you requested {used + limit} tokens "
            f"({used} in the messages, {limit} in the completion). Please reduce the length of the messages."
        )
        return _openai_error(words, "messages", "context_length_exceeded")
    refusal = f"The model `{body.get('model')}` does not exist or you do not have access to it."
    return _find_model(body, {MODEL}, lambda _: _openai_error(refusal, None, "model_not_found", 404))


def _mistral(body: dict[str, Any], limit: int) -> Fault | None:
    if "max_completion_tokens" in body:
        place = {"type": "extra_forbidden", "loc": ["body", "max_completion_tokens"]}
        return as_json(422, {"detail": [{**place, "msg": "Extra inputs are not permitted", "input": limit}]})
    used = count_prompt(body)
    words = f"Prompt contains {used} tokens, too large for model with {CONTEXT} maximum context length"
    error = {"object": "error", "message": words, "type": "invalid_request_error"}
    return as_json(400, error) if used >= CONTEXT else None


def _entry(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1, "owned_by": "x", **more}


def _list(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": list(entries), **more}


TEXT = {"Content-Type": "text/plain"}
KINDS = {
    "Ollama": Kind(
        ("max_tokens",), _list(_entry(f"{MODEL}:latest"), _entry("other:7b")), _ollama,
        Fault(404, b"404 page not found", TEXT), base="",
    ),
    "LM Studio": Kind(
        ("max_tokens",), _list(_entry(MODEL), _entry("text-embedding-x")), _lm_studio,
        as_json(200, {"error": "Unexpected endpoint or method. (GET /x)"}), base="/v1/",
    ),
    "llama.cpp": Kind(
        ("max_tokens", "max_completion_tokens"),
        _list(_entry("/models/m.gguf", meta={"n_ctx_train": 131072}), models=[{"name": "/models/m.gguf"}]),
        _llama_cpp, as_json(404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}),
        base="/v1/chat/completions",
    ),
    "TGI": Kind(("max_tokens",), _list(_entry(MODEL)), _tgi, Fault(404, b""), base=""),
    "SGLang": Kind(("max_completion_tokens", "max_tokens"), _list(_entry(MODEL, max_model_len=CONTEXT)), _sglang),
    "OpenAI": Kind(
        ("max_completion_tokens",), _list(*(_entry(f"gpt-{n}") for n in range(90))), _openai,
        _openai_error("Invalid URL (GET /x)", status=404), key="sk-test-1234",
    ),
    "Mistral": Kind(
        ("max_tokens",), _list(_entry(MODEL, max_context_length=CONTEXT)), _mistral,
        as_json(404, {"detail": "Not Found"}), parts=True, cut="model_length",
    ),
    "Google": Kind(
        ("max_completion_tokens", "max_tokens"), _list(_entry(f"models/{MODEL}")), base="/v1beta/openai/",
        prefix="/v1beta/openai", unknown=Fault(404, b"<html><title>Error 404 (Not Found)!!1</title></html>", TEXT),
        usage=False,
    ),
}  # fmt: skip
