"""What an answer holds, endpoint by endpoint: what a prompt row receives of it, and the texts that a schema governs.

Source: vLLM's response models, versions 0.19 to 0.32; Anthropic and OpenAI API references.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from dialects.exchange import Answer, Ask
from dialects.reply import CUT_OFF, read_content, read_counts, read_finish, read_shortfall
from engine import routes
from job.defaults import Defaults
from rows.errors import RowError

ALWAYS = frozenset({"finish_reason", "prompt_tokens", "completion_tokens"})  # in every row that was answered
RESERVED = ALWAYS | {"error"}  # a result that a row gets or may get: an input field of that name moves into `previous`
_SOMETIMES: dict[str, Callable[[Any], bool]] = {  # further results, and how they are told from a user's own field
    "reasoning": lambda value: isinstance(value, str),
    "refusal": lambda value: isinstance(value, str),
    "tool_calls": lambda value: _objects_with(value, {"function", "name"}),
    "choices": lambda value: _objects_with(value, {"message", "text"}),
    "logprobs": lambda value: isinstance(value, dict),  # the option of this name is a flag or a count
    "prompt_logprobs": lambda value: isinstance(value, list),
    "token_ids": lambda value: isinstance(value, list),
    "prompt_token_ids": lambda value: isinstance(value, list),
    "stop_reason": lambda value: isinstance(value, str),
}
FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls"}
FINISH |= {"model_context_window_exceeded": "length"}
QUOTED = 200  # characters of a refusal in a message
REFUSED = "the model refused, without words"
_HEAD = frozenset({"usage", "id", "object", "created", "model"})  # of a response, not of its content
_UNFIT = (KeyError, IndexError, TypeError, AttributeError)  # what reading an answer of another shape raises
_PLAIN = frozenset({"/tokenize", "/detokenize"})  # whose answer is its own fields
_POOLED = ("embedding", "label", "probs", "num_classes", "data")


DETAILS = (ALWAYS | _SOMETIMES.keys()) - {"tool_calls"}  # what a result says besides its answer
RESULTS = RESERVED | _SOMETIMES.keys() | {*_POOLED, "results", "score", "scores"}  # all that a row may get


def find_earlier(fields: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields of a row that are an earlier job's results: no options, and not to be taken for this job's."""
    if not fields.keys() >= ALWAYS:
        return RESERVED
    return RESERVED | {name for name, is_result in _SOMETIMES.items() if name in fields and is_result(fields[name])}


def _objects_with(value: Any, names: set[str]) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) and item.keys() & names for item in value)


def read_results(ask: Ask, answer: Answer, defaults: Defaults) -> dict[str, Any]:
    """Return what an answer adds to a row, by name; the text of a generating endpoint comes first.

    Raises RowError invalid_answer for a body that lacks what its endpoint promises.
    """
    body = answer.body
    try:
        if ask.route not in routes.GENERATING:
            return _pooling(ask.route, body)
        tokens = dict(zip(("prompt_tokens", "completion_tokens"), read_counts(body), strict=True))
        text, reason, extras = _READERS[ask.route](body)
        return {defaults.output_field: text, "finish_reason": reason, **tokens, **extras}
    except _UNFIT as error:
        raise _explain(error) from None


def _explain(error: Exception) -> RowError:
    what = f"lacks {error}" if isinstance(error, KeyError) else "is not built as this endpoint's answers are"
    return RowError("invalid_answer", f"the server's answer {what}")


def _chat(body: Any) -> tuple[str, Any, dict[str, Any]]:
    first = body["choices"][0]
    message = _message_of(first)
    text, thought = read_content(message.get("content"))
    found = {"reasoning": message.get("reasoning") or message.get("reasoning_content") or thought}
    old_call = message.get("function_call")  # of servers that know the older API alone
    found["tool_calls"] = message.get("tool_calls") or (old_call and [{"type": "function", "function": old_call}])
    found["refusal"] = message.get("refusal")
    return text, read_finish(first.get("finish_reason")), _keep_set(found) | _choice_extras(body, first)


def _message_of(choice: Any) -> Any:
    """Return a choice's message; some servers write a completion's text, or no message where they filtered one."""
    if "message" not in choice and "text" in choice:
        return {"content": choice["text"]}
    if "message" not in choice and isinstance(choice.get("delta"), dict):  # a stream of one event, sent as a whole
        return choice["delta"]
    return choice["message"] if choice.get("message") is not None or not choice.get("finish_reason") else {}


def _completion(body: Any) -> tuple[str, Any, dict[str, Any]]:
    first = body["choices"][0]
    return first["text"], read_finish(first.get("finish_reason")), _choice_extras(body, first)


def _choice_extras(body: Any, first: Any) -> dict[str, Any]:
    """Return what a row asked for besides its text: log-probabilities, tokens, and every choice of several."""
    found = {name: first.get(name) or body.get(name) for name in ("prompt_logprobs", "prompt_token_ids")}
    stop = first.get("stop_reason")
    found |= {"logprobs": first.get("logprobs"), "token_ids": first.get("token_ids")}
    extras = _keep_set(found | {"stop_reason": stop if isinstance(stop, str) else None})
    if len(body["choices"]) > 1:
        extras["choices"] = body["choices"]
    return extras


def _response(body: Any) -> tuple[str, Any, dict[str, Any]]:
    items = body["output"]
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    text = "".join(part["text"] for part in parts if part["type"] == "output_text")
    refusal = "".join(part.get("refusal") or "" for part in parts if part["type"] == "refusal")
    thoughts = [part for item in items if item["type"] == "reasoning" for part in item.get("content") or []]
    calls = [item for item in items if item["type"] == "function_call"]
    reason = read_shortfall(body) or ("tool_calls" if calls else "stop")
    reason = "length" if reason in CUT_OFF else reason
    reasoning = "".join(part.get("text") or "" for part in thoughts)
    return text, reason, _keep_set({"reasoning": reasoning, "tool_calls": calls, "refusal": refusal})


def _message(body: Any) -> tuple[str, Any, dict[str, Any]]:
    blocks = body["content"]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    thoughts = "".join(block.get("thinking") or "" for block in blocks if block["type"] == "thinking")
    calls = [block for block in blocks if block["type"] == "tool_use"]
    end = read_finish(body.get("stop_reason"))
    details = body.get("stop_details")
    told = details.get("explanation") if isinstance(details, dict) else None
    refusal = (told or text or REFUSED) if end == "refusal" else ""
    found = {"reasoning": thoughts, "tool_calls": calls, "refusal": refusal}
    return text, FINISH.get(end, end) if end else None, _keep_set(found)


_READERS = {
    routes.CHAT: _chat,
    routes.COMPLETIONS: _completion,
    routes.RESPONSES: _response,
    routes.MESSAGES: _message,
}


def _keep_set(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _pooling(route: str, body: Any) -> dict[str, Any]:
    """Return embeddings, scores, ranks, labels or tokens, under the names that their endpoints use."""
    usage = body.get("usage") or {}
    tokens = {"prompt_tokens": usage["prompt_tokens"]} if "prompt_tokens" in usage else {}
    if "results" in body:
        return {"results": body["results"], **tokens}
    if route in _PLAIN and "data" not in body:
        return {name: value for name, value in body.items() if name not in _HEAD} | tokens
    data = body["data"]
    if route.endswith("/score"):
        scores = [item["score"] for item in data]
        return {**({"score": scores[0]} if len(scores) == 1 else {"scores": scores}), **tokens}
    if len(data) != 1:
        return {"data": data, **tokens}
    return {name: value for name, value in data[0].items() if name in _POOLED} | tokens


def check_schema(ask: Ask, answer: Answer, defaults: Defaults) -> None:
    """Raise RowError schema_mismatch unless every text of a governed answer is JSON that the job's schema allows."""
    if not ask.schema:
        return
    body = answer.body
    try:
        if "choices" in body:
            for choice in body["choices"]:
                message = choice.get("message") or {}
                if not message.get("tool_calls"):
                    _report_refusal(message.get("refusal"))
                    text = choice["text"] if "text" in choice else read_content(message.get("content"))[0]
                    _check_text(text or "", read_finish(choice.get("finish_reason")), defaults)
            return
        text, reason, extras = _READERS[ask.route](body)
    except _UNFIT as error:
        raise _explain(error) from None
    _report_refusal(extras.get("refusal"))
    if "tool_calls" not in extras:
        _check_text(text, reason, defaults)


def _report_refusal(words: Any) -> None:
    """Raise RowError schema_mismatch where the model refused to answer."""
    if isinstance(words, str) and words:
        raise RowError("schema_mismatch", f"the model refused: {words[:QUOTED]}")


def _check_text(text: str, reason: Any, defaults: Defaults) -> None:
    try:
        problem = next(_validator(json.dumps(defaults.schema)).iter_errors(json.loads(text)), None)
    except ValueError:
        cut = " (cut at the token limit: raise MaxTokens)" if reason in CUT_OFF else ""
        raise RowError("schema_mismatch", f"the answer is not JSON{cut}") from None
    except Exception as error:  # noqa: BLE001 - a schema may refer to what is not there
        raise RowError("schema_mismatch", f"ResponseSchemaFile cannot be checked: {error}") from None
    if problem is not None:
        raise RowError("schema_mismatch", f"the answer breaks the schema at {problem.json_path}: {problem.message}")


@functools.cache
def _validator(schema: str) -> Any:
    """Return a validator; jsonschema comes with vLLM, and only jobs with a schema load it."""
    import jsonschema

    value = json.loads(schema)
    return jsonschema.validators.validator_for(value)(value)
