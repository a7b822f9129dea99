"""The worker's rules as data, for both pages: options, routes, marks of the dialects, defaults of the parameters.

Nothing here is a rule of its own: each entry is taken from the table that the worker itself reads. A page carries the
whole as one block of JSON, so that what its JavaScript knows of a row is what the worker knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dialects import answers, base, bedrock, openai_batch, prompt, reply, runpod
from dialects.marks import OWN_PROMPTS
from dialects.recognise import OTHERS, PROMPT
from engine import routes
from job import data_columns, options, parameters
from rows.errors import CODES

SYSTEM = ("system", "system_prompt", "instructions")  # a request's fields that stand before its conversation
ASKED = (*prompt.TEXTS, "messages", "input", "instruction", *SYSTEM)  # besides those of the comparing endpoints
BESIDE = (  # what a request may say beside what it asks and its options
    *("model", "sampling_params", "extra_body", "stream", "stream_options", "apply_chat_template"),
    *("user", "priority", "top_n"),
)
FROM_SERVERS = ("usage", "previous", "reasoning_content")  # of a row, besides the results that the worker names


def rules() -> dict[str, Any]:
    """Return what both pages carry; it can be written as JSON."""
    return {
        "options": {name: _option(option) for name, option in options.OPTIONS.items()},
        "dataSigns": {name: _sign(sign) for name, sign in data_columns.SIGNS.items()},
        "sentenceEnds": data_columns.SENTENCE_ENDS,
        "content": sorted(options.CONTENT),
        "guided": sorted(options.GUIDED),
        "messagesOptions": sorted(base.MESSAGES_OPTIONS),
        "endpoints": routes.ENDPOINTS,
        "routes": sorted(routes.ANY_ROUTE),
        "generating": [route for route in routes.ENDPOINTS.values() if route in routes.GENERATING],
        "chats": [route for route in options.BUDGET if route != routes.COMPLETIONS],
        "audio": openai_batch.AUDIO,
        "unnamed": openai_batch.UNNAMED,
        "pairs": prompt.PAIRS,
        "documents": prompt.DOCUMENTS,
        "ownPrompts": OWN_PROMPTS,
        "dialects": {dialect.NAME: _marks(dialect) for dialect in (*OTHERS, PROMPT)},
        "bedrock": {
            "renamed": bedrock.RENAMED,
            "own": sorted(bedrock.OWN),
            "nested": bedrock.NESTED,
            "embedding": sorted(bedrock.EMBEDDING),
        },
        "streaming": sorted(runpod.STREAM),
        "asked": list(dict.fromkeys((*ASKED[:4], *_compared(), *ASKED[4:]))),
        "system": SYSTEM,
        "beside": BESIDE,
        "results": sorted({*answers.RESULTS, *FROM_SERVERS}),
        "always": sorted(answers.ALWAYS),
        "details": sorted(answers.DETAILS),
        "cutOff": sorted(reply.CUT_OFF),
        "finish": answers.FINISH,
        "mend": {name: code.mend for name, code in CODES.items()},
        "defaults": parameters.repeated_defaults(),
    }


def _compared() -> Iterable[str]:
    """Yield the fields of a row that are compared, a query before its documents."""
    return (name for fields in reversed(prompt.PAIRS.values()) for name in fields if name not in BESIDE)


def _option(option: options.Option) -> dict[str, Any]:
    return {"must": option.must, "takes": [_value(value) for value in option.takes], "readBy": option.read_by}


def _value(value: options.Value) -> dict[str, Any]:
    """Return one kind of value without what is not set."""
    parts: dict[str, Any] = {"low": value.low, "high": value.high, "above": value.above or None}
    parts |= {"items": value.items or None, "word": value.word or None}
    return {"kind": value.kind, **{name: part for name, part in parts.items() if part is not None}}


def _sign(sign: data_columns.Sign) -> dict[str, Any]:
    return {"above": sign.above, "words": sign.words, "several": sign.several}


def _marks(dialect: base.Dialect) -> dict[str, Any]:
    marks = dialect.MARKS
    return {
        "asked": marks.asked,
        "unless": marks.unless,
        "answered": marks.answered,
        "added": sorted(marks.added),
    }
