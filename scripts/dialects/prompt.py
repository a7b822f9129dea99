"""Prompt rows, the project's own: a `prompt`, a `text` or `messages`, and any fields that a user wants to keep.

The job's Endpoint says what is asked of the server; `auto` takes what the model can do. The output is the row with
the results added, every field of the input unchanged.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import sampling
from dialects.base import Answer, Ask, Failure, check_messages, generating, require
from job import Defaults, Served
from rows import Row, RowError, quoted

NAME = "prompt"
ALWAYS_RESERVED = frozenset({"error", "finish_reason", "prompt_tokens", "completion_tokens"})
_EMBEDDINGS, _SCORE, _RERANK, _CLASSIFY, _POOLING = "/v1/embeddings", "/v1/score", "/v1/rerank", "/classify", "/pooling"
_TEXTS = ("prompt", "text")
_PAIRS = {  # the fields of a row that make the body of a comparing endpoint
    _SCORE: ("text_1", "text_2", "queries", "documents", "items", "data_1", "data_2"),
    _RERANK: ("query", "documents", "top_n"),
}
_COMPARING = {"/score": _SCORE, _SCORE: _SCORE, "/rerank": _RERANK, _RERANK: _RERANK, "/v2/rerank": _RERANK}
_POOLING_OPTIONS = ("dimensions", "encoding_format", "truncate_prompt_tokens", "add_special_tokens", "normalize")


def recognises(fields: Mapping[str, Any]) -> bool:
    """Take every object: the caller asks the other dialects first."""
    return True


def ask(row: Row, defaults: Defaults, served: Served) -> Ask:
    """Return the row's request on the job's endpoint."""
    route = _route(row.fields, defaults, served)
    options = _options(row.fields)
    if route in _COMPARING:
        return Ask(route, {**_named(row.fields, options), **_pairs(row.fields, _COMPARING[route], served)})
    content = _content(row.fields, defaults)
    if route not in sampling.GENERATING:
        chosen = {name: value for name, value in {**defaults.options, **options}.items() if name in _POOLING_OPTIONS}
        return Ask(route, {"model": served.model, **_named(row.fields, chosen), **_input(content, route)})
    body = {**_named(row.fields, options), **_generation_input(content, route, row.fields, defaults, served)}
    return generating(route, body, defaults, served)


def _route(fields: Mapping[str, Any], defaults: Defaults, served: Served) -> str:
    """Return the route that the job asks for, or the one that suits the row and the model."""
    if defaults.endpoint != "auto":
        if not served.has(defaults.endpoint):
            raise RowError("invalid_url", f"Endpoint {defaults.endpoint} is not answered by this model's server")
        return defaults.endpoint
    if served.has(sampling.CHAT) or served.has(sampling.COMPLETIONS):
        return sampling.CHAT if served.chat or isinstance(fields.get("messages"), list) else sampling.COMPLETIONS
    if "documents" in fields and "query" in fields and served.has(_RERANK):
        return _RERANK
    if fields.keys() & {"text_1", "queries"} and served.has(_SCORE):
        return _SCORE
    able = [route for route in (_EMBEDDINGS, _CLASSIFY, _SCORE, _POOLING) if route in served.routes]
    if not able:
        raise RowError("invalid_url", "the model's server answers no endpoint for prompt rows; set Endpoint")
    return able[0]


def _options(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row's own request options, those of `sampling_params` before those at the top."""
    nested = require(fields.get("sampling_params") or {}, dict, "sampling_params", "an object")
    if nested.get("stream"):
        raise RowError("stream_not_supported", '"stream": true has no place in a batch; leave it out')
    top = {name: value for name, value in fields.items() if name in sampling.OPTIONS}
    return sampling.checked({**top, **nested})


def _named(fields: Mapping[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with the model or adapter that the row names."""
    model = fields.get("model")
    if model is None:
        return options
    return {"model": require(model, str, "model", "the name of a model or adapter that is served"), **options}


def _content(fields: Mapping[str, Any], defaults: Defaults) -> str | list[Any]:
    """Return the prompt or the conversation of a row."""
    if defaults.template is not None:
        return defaults.template.render(dict(fields))
    if fields.get("messages") is not None:
        return check_messages(fields["messages"])
    for name in _TEXTS:
        if fields.get(name) is not None:
            text = require(fields[name], str, name, "a text")
            if not text:
                raise RowError("invalid_value", f'"{name}" is empty; write what to ask')
            return str(text)
    raise RowError("missing_field", 'the row needs "prompt", "text" or "messages" (or the job a PromptTemplateFile)')


def _generation_input(
    content: str | list[Any], route: str, fields: Mapping[str, Any], defaults: Defaults, served: Served
) -> dict[str, Any]:
    system = fields.get("system") if isinstance(fields.get("system"), str) else None
    if route == sampling.COMPLETIONS:
        if not isinstance(content, str):
            raise RowError("invalid_value", '"messages" cannot be asked on completions; write a "prompt"')
        before = system or defaults.system_prompt
        return {"prompt": f"{before}\n\n{content}" if before else content}
    if not served.chat and route == sampling.CHAT:
        message = 'the model has no chat template; write a "prompt", or give --chat-template in VllmArgs'
        raise RowError("no_chat_template", message)
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
    if system is None or any(m.get("role") in ("system", "developer") for m in messages):
        return {"input" if route == sampling.RESPONSES else "messages": messages}
    if route == sampling.MESSAGES:
        return {"system": system, "messages": messages}
    if route == sampling.RESPONSES:
        return {"instructions": system, "input": messages}
    return {"messages": [{"role": "system", "content": system}, *messages]}


def _input(content: str | list[Any], route: str) -> dict[str, Any]:
    if not isinstance(content, str):
        return {"messages": content}
    return {"prompt" if route == "/tokenize" else "input": content}


def _pairs(fields: Mapping[str, Any], route: str, served: Served) -> dict[str, Any]:
    body = {name: fields[name] for name in _PAIRS[route] if name in fields}
    if len(body) < 2:
        need = '"query" and "documents"' if route == _RERANK else '"queries" and "documents" (or "text_1" and "text_2")'
        raise RowError("missing_field", f"the row needs {need} for {route}")
    return {"model": served.model, **body}


def succeeded(row: Row, ask: Ask, answer: Answer, defaults: Defaults) -> str:
    """Return the row with the results of its endpoint."""
    try:
        results = _results(ask.route, answer.body, defaults.output_field)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise RowError("invalid_answer", f"the server's answer lacks {error}") from None
    if ask.schema:
        _check_schema(defaults.schema, results)
    texts = {name: quoted(value) for name, value in results.items()}
    return row.extended(texts, ALWAYS_RESERVED | {defaults.output_field})


def failed(row: Row, failure: Failure, defaults: Defaults) -> str:
    """Return the row with its error."""
    return row.extended({"error": failure.as_json()}, ALWAYS_RESERVED | {defaults.output_field})


def _results(route: str, body: Any, output_field: str) -> dict[str, Any]:
    """Return what an answer adds to a row, by name."""
    usage = body.get("usage") or {}
    tokens = {
        "prompt_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
        "completion_tokens": usage.get("completion_tokens", usage.get("output_tokens", 0)),
    }
    if route == sampling.CHAT:
        return _chat_results(body, output_field, tokens)
    if route == sampling.COMPLETIONS:
        first = body["choices"][0]
        return {output_field: first["text"], "finish_reason": first["finish_reason"], **tokens, **_extras(body, first)}
    if route == sampling.RESPONSES:
        return _response_results(body, output_field, tokens)
    if route == sampling.MESSAGES:
        text = "".join(part["text"] for part in body["content"] if part["type"] == "text")
        return {output_field: text, "finish_reason": body["stop_reason"], **tokens}
    return {**_pooling_results(route, body), **({"prompt_tokens": tokens["prompt_tokens"]} if usage else {})}


def _chat_results(body: Any, output_field: str, tokens: dict[str, Any]) -> dict[str, Any]:
    first = body["choices"][0]
    message = first["message"]
    results = {output_field: message.get("content") or "", "finish_reason": first["finish_reason"], **tokens}
    reasoning = message.get("reasoning") or message.get("reasoning_content")
    if reasoning:
        results["reasoning"] = reasoning
    for name in ("tool_calls", "refusal"):
        if message.get(name):
            results[name] = message[name]
    return results | _extras(body, first)


def _extras(body: Any, first: Any) -> dict[str, Any]:
    """Return what a row asked for besides its text: log-probabilities, and every choice where there are several."""
    found = {"logprobs": first.get("logprobs"), "prompt_logprobs": body.get("prompt_logprobs")}
    extras = {name: value for name, value in found.items() if value is not None}
    if len(body["choices"]) > 1:
        extras["choices"] = body["choices"]
    return extras


def _response_results(body: Any, output_field: str, tokens: dict[str, Any]) -> dict[str, Any]:
    items = body["output"]
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    text = "".join(part["text"] for part in parts if part["type"] == "output_text")
    calls = [item for item in items if item["type"] == "function_call"]
    reason = (body.get("incomplete_details") or {}).get("reason")
    reason = "length" if reason == "max_output_tokens" else reason or ("tool_calls" if calls else "stop")
    return {output_field: text, "finish_reason": reason, **tokens, **({"tool_calls": calls} if calls else {})}


def _pooling_results(route: str, body: Any) -> dict[str, Any]:
    """Return embeddings, scores, ranks, labels or tokens, under the names that their endpoints use."""
    if "results" in body:
        return {"results": body["results"]}
    if "data" not in body:
        return {
            name: value for name, value in body.items() if name not in ("usage", "id", "object", "created", "model")
        }
    data = body["data"]
    if route.endswith("/score"):
        scores = [item["score"] for item in data]
        return {"score": scores[0]} if len(scores) == 1 else {"scores": scores}
    if len(data) != 1:
        return {"data": data}
    kept = ("embedding", "label", "probs", "num_classes", "data")
    return {name: value for name, value in data[0].items() if name in kept}


def _check_schema(schema: dict[str, Any] | None, results: dict[str, Any]) -> None:
    """Raise RowError schema_mismatch unless the text is JSON that the job's schema allows."""
    text = next(iter(results.values()))
    cut = " (cut at the token limit: raise MaxTokens)" if results.get("finish_reason") == "length" else ""
    try:
        problem = next(_validator(json.dumps(schema)).iter_errors(json.loads(text)), None)
    except ValueError:
        raise RowError("schema_mismatch", f"the answer is not JSON{cut}") from None
    if problem is not None:
        raise RowError("schema_mismatch", f"the answer breaks the schema at {problem.json_path}: {problem.message}")


@functools.cache
def _validator(schema: str) -> Any:
    """Return a validator; jsonschema comes with vLLM, and only jobs with a schema load it."""
    import jsonschema

    value = json.loads(schema)
    return jsonschema.validators.validator_for(value)(value)
