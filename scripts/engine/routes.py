"""The routes of vLLM's servers that a row may ask, and the routes that Endpoint names."""

from __future__ import annotations

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
RESPONSES, MESSAGES = "/v1/responses", "/v1/messages"
GENERATING = frozenset({CHAT, COMPLETIONS, RESPONSES, MESSAGES})

# What a row may ask of vLLM's servers, by the kind of model that they serve. A server answers one kind, or less of it.
OF_EVERY_KIND = frozenset({"/tokenize", "/detokenize", "/invocations"})
ROUTES: dict[str, frozenset[str]] = {
    "generating": OF_EVERY_KIND
    | GENERATING
    | {"/v1/chat/completions/batch", "/v1/messages/count_tokens", "/generative_scoring", "/v1/systemone"},
    "embedding, scoring or classifying": OF_EVERY_KIND
    | {"/v1/embeddings", "/v2/embed", "/v1/score", "/score", "/v1/rerank", "/rerank", "/v2/rerank"}
    | {"/classify", "/pooling"},
    "speech": frozenset({"/v1/audio/transcriptions", "/v1/audio/translations"}),
}
ANY_ROUTE = frozenset().union(*ROUTES.values())
OF_ONE_ANSWER = ROUTES["embedding, scoring or classifying"] - {"/invocations"}  # the same whenever they are asked

ENDPOINTS = {
    "auto": "auto",
    "chat": CHAT,
    "completions": COMPLETIONS,
    "responses": RESPONSES,
    "messages": MESSAGES,
    "embeddings": "/v1/embeddings",
    "score": "/v1/score",
    "rerank": "/v1/rerank",
    "classify": "/classify",
    "pooling": "/pooling",
    "tokenize": "/tokenize",
}
