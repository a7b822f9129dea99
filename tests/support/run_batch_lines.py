"""Lines for vLLM's own batch runner and for the bundle: what the runner answers or refuses, and what ends it."""

from __future__ import annotations

import os
from typing import Any

from engine.routes import CHAT, COMPLETIONS
from support.real_jobs import TOOL, openai_line

MODEL = os.environ["VLLM_BATCH_MODEL"]
LENGTH = 1536  # tokens; more than the 1,000 that OpenAI's example asks for
CAPITAL = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"temperature": 0, "max_tokens": 12}


def chat(custom_id: str, *, messages: list[Any] | None = None, **body: Any) -> dict[str, Any]:
    return openai_line(custom_id, CHAT, {"model": MODEL, "messages": messages or CAPITAL, **body})


BOTH = [  # what vLLM's own batch runner answers or refuses line by line
    chat("plain", **GREEDY),
    chat("limit by its newer name", temperature=0, max_completion_tokens=5),
    chat("a system message", messages=[{"role": "system", "content": "Answer in one word."}, *CAPITAL], **GREEDY),
    chat("unicode", messages=[{"role": "user", "content": "Traduis « où est l'été ? » \u2028 🙂"}], **GREEDY),
    chat("log-probabilities", logprobs=True, top_logprobs=2, **GREEDY),
    chat("a choice", structured_outputs={"choice": ["Paris", "Rome"]}, **GREEDY),
    chat("a stop text", stop=["capital"], **GREEDY),
    chat("two choices of one seed", n=2, seed=7, temperature=1, max_tokens=3),
    chat("an unknown model", **GREEDY) | {"body": {"model": "nobody", "messages": CAPITAL}},
    chat("a prompt beyond the context", messages=[{"role": "user", "content": "word " * 2 * LENGTH}], **GREEDY),
    chat("more tokens than the context", temperature=0, max_tokens=2 * LENGTH),
    chat("greedy choices that differ", n=2, **GREEDY),
    chat("a tool", tools=[TOOL], **GREEDY),
    chat("a stream", stream=True, **GREEDY),
    openai_line("embeddings of a chat model", "/v1/embeddings", {"model": MODEL, "input": "x"}),
    openai_line("scores of a chat model", "/v1/score", {"model": MODEL, "queries": "x", "documents": ["y"]}),
    openai_line("no such url", "/v1/nothing", {"model": MODEL, "messages": CAPITAL}),
    openai_line("OpenAI's own example", CHAT, {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "Hello world!"},
        ],
        "max_completion_tokens": 1000,
        "temperature": 0,
        "stop": ["."],
    }),
]  # fmt: skip
ONLY_HERE = [  # and this one ends it too: it takes the body for a chat's
    openai_line("completions", COMPLETIONS, {"model": MODEL, "prompt": "One, two, three,", **GREEDY})
]
FATAL = [  # one such line ends the runner's whole job after the model has loaded
    b"{broken",
    b'{"custom_id": "nan", "method": "POST", "url": "/v1/chat/completions", "body": {"temperature": NaN}}',
    openai_line(5, CHAT, {"model": MODEL, "messages": CAPITAL}),
    chat("a hot temperature", temperature="hot"),
    openai_line("no messages", CHAT, {"model": MODEL}),
    openai_line("no body", CHAT, None),
    {"custom_id": "no url", "method": "POST", "body": {"messages": CAPITAL}},
]

READ_BY_VLLM = """
import json, sys
from vllm.entrypoints.launchers.run_batch import BatchRequestInput, BatchRequestOutput
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
def reads(model, line):
    try:
        model.model_validate_json(line)
        return True
    except (ValueError, KeyError):
        return False
inputs, outputs = json.load(sys.stdin)
print(json.dumps({
    "inputs": [reads(BatchRequestInput, line) for line in inputs],
    "outputs": [reads(BatchRequestOutput, line) for line in outputs],
    "fields": [sorted(model.model_fields) for model in (ChatCompletionRequest, CompletionRequest)],
}))
"""
