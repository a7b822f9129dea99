"""Bedrock batch records: `recordId` with `modelInput`, asked and answered in the shape of its family of models.

Source: Amazon Bedrock user guide, "Format and upload your batch inference data" and "InvokeModel" request bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialects import bedrock_answers, bedrock_families
from dialects.answers import check_schema
from dialects.base import apply_defaults, check_messages, put_system, refuse_stream, require
from dialects.bedrock_families import Family
from dialects.exchange import Answer, Ask, Failure
from dialects.marks import OWN_PROMPTS, Marks, besides
from engine import routes
from engine.facts import Served
from job.defaults import Defaults
from job.options import check_options
from rows.json_text import quote
from rows.row import Row

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
    "max_new_tokens": "max_tokens",
    "minTokens": "min_tokens",
    "topP": "top_p",
    "topK": "top_k",
    "p": "top_p",
    "k": "top_k",
    "stopSequences": "stop",
    "stop_sequences": "stop",
    "num_generations": "n",
    "numResults": "n",
}
OWN = frozenset(  # what is asked, and what only a family's own service reads
    {"anthropic_version", "anthropic_beta", "schemaVersion", "messages", "prompt", "inputText", "system", "message"}
    | {"texts", "preamble", "chat_history", "input_type", "embedding_types", "return_likelihoods", "truncate", "images"}
    | {"return_prompt", "prompt_truncation", "search_queries_only", "normalize", "embeddingTypes", "countPenalty"}
    | {"toolConfig", "guardrailConfig", "performanceConfig", "requestMetadata", "modelId", "stream", "serviceTier"}
    | {"additionalModelResponseFieldPaths"}
)
NESTED = ("inferenceConfig", "textGenerationConfig", "additionalModelRequestFields")
_EMBEDDINGS = "/v1/embeddings"
EMBEDDING = frozenset({"dimensions", "normalize", "embeddingTypes"})  # what only Titan's embeddings have


def ask(row: Row, defaults: Defaults, served: Served) -> Ask:
    """Return the record's request, which has its family's name: an answer is kept in the family's shape."""
    given = require(row.fields["modelInput"], dict, "modelInput", "the request's JSON object")
    refuse_stream(given)
    family = bedrock_families.find_family(given)
    return _ask(given, family, defaults, served)


def _ask(given: dict[str, Any], family: Family, defaults: Defaults, served: Served) -> Ask:
    if family == Family.COHERE_EMBED or (family == Family.TITAN and _is_embedding(given, served)):
        texts = given["texts"] if family == Family.COHERE_EMBED else given["inputText"]
        size = {"dimensions": given["dimensions"]} if given.get("dimensions") is not None else {}
        kind, name = (list, "texts") if family == Family.COHERE_EMBED else (str, "inputText")
        require(texts, kind, f"modelInput.{name}", "a list of texts" if kind is list else "a text")
        return apply_defaults(_EMBEDDINGS, {"input": texts, **size}, defaults, served, form=family)
    options = check_options(_options(given))
    if family == Family.COHERE_CHAT:
        require(given["message"], str, "modelInput.message", "a text")
        messages, system = bedrock_families.cohere_messages(given), _text(given.get("preamble"))
        body = {"messages": put_system(messages, system, served) if system else messages, **options}
        return apply_defaults(routes.CHAT, body, defaults, served, own_system=bool(system), form=family)
    if "messages" in given:
        check_messages(given["messages"], "modelInput.messages")
        return _converse(given, family, options, defaults, served)
    prompt = given.get("prompt", given.get("inputText"))
    text = require(prompt, str, "modelInput.prompt", "a text (or modelInput.messages a conversation)")
    return apply_defaults(routes.COMPLETIONS, {"prompt": text, **options}, defaults, served, form=family)


def _is_embedding(given: dict[str, Any], served: Served) -> bool:
    """Tell whether a Titan record asks for an embedding: by its fields, or as the model makes nothing else."""
    if given.keys() & EMBEDDING:
        return True
    return bool(served.routes) and not served.routes & routes.GENERATING and served.has(_EMBEDDINGS)


def _converse(
    given: dict[str, Any], family: Family, options: dict[str, Any], defaults: Defaults, served: Served
) -> Ask:
    """Return the request of a conversation: Anthropic's as it is where the server reads it, else as a chat."""
    if family == Family.ANTHROPIC and routes.MESSAGES in served.routes:
        system = {"system": given["system"]} if given.get("system") else {}
        return apply_defaults(
            routes.MESSAGES, {**system, "messages": given["messages"], **options}, defaults, served, form=family
        )
    messages = bedrock_families.chat_messages(given["messages"])
    told = _text(given.get("system"))
    if told:
        messages = put_system(messages, told, served)
    body = {"messages": messages, **options, **bedrock_families.chat_tools(given)}
    return apply_defaults(routes.CHAT, body, defaults, served, own_system=bool(told), form=family)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    flat = {name: value for name, value in given.items() if name not in OWN and name not in NESTED}
    for nested in NESTED:
        if nested not in given:
            continue
        inner = require(given.get(nested) or {}, dict, f"modelInput.{nested}", "an object")
        flat |= {name: value for name, value in inner.items() if name not in NESTED}
        flat |= require(inner.get("inferenceConfig") or {}, dict, f"modelInput.{nested}.inferenceConfig", "an object")
    return {RENAMED.get(name, name): value for name, value in flat.items()}


def _text(system: Any) -> str:
    if isinstance(system, list):
        return "\n".join(str(part.get("text", "")) for part in system if isinstance(part, dict))
    return system or ""


def read_answer(ask: Ask, answer: Answer, defaults: Defaults) -> dict[str, str]:
    """Return the response body as `modelOutput`; the row, which knows its family, gives it its shape."""
    check_schema(ask, answer, defaults)
    return {"modelOutput": answer.text}


def read_failure(failure: Failure) -> dict[str, str]:
    """Return the record's error."""
    return {"error": quote({"errorCode": failure.http_status, "errorMessage": failure.message})}


def write(row: Row, results: Mapping[str, str], defaults: Defaults) -> str:
    """Return the record with the results, an answer in the shape of the record's family."""
    given = row.fields["modelInput"]
    if "modelOutput" in results and isinstance(given, dict):
        family = bedrock_families.find_family(given)
        results = {**results, "modelOutput": bedrock_answers.shape_answer(family, given, results["modelOutput"])}
    return row.extend(results, MARKS.added)
