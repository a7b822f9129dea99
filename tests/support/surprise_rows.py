"""A corpus of rows of all dialects, good and bad, for comparing what the check says with what the engine does.

Every sample is a row and the plain request that it means, which shows whether the engine would have taken what the
bundle refuses unasked. Samples are drawn from a fixed seed.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from job.options import GUIDED
from support.surprise_options import HEAT, LIMIT, LONG, OPTIONS


@dataclass(frozen=True)
class Sample:
    """A line of the corpus; `body` at `route` is what it means, where that can be said."""

    row: Any
    route: str = ""
    body: dict[str, Any] = field(default_factory=dict)


def _user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


CALL = {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}
TALKS = [
    [_user("Name a river.")],
    [{"role": "system", "content": "One word."}, _user("Name a river.")],
    [_user("Hi"), {"role": "assistant", "content": "Hello."}, _user("Name a tree.")],
    [_user([{"type": "text", "text": "Name a sea."}])],
    [_user([{"type": "text", "text": "Name"}, {"type": "text", "text": "a sea."}])],
    [_user("Name a hill.", name="Ann")],
    [_user("Name a hill.", name=None, tool_calls=None)],
    [{"role": "developer", "content": "One word."}, _user("Name a bay.")],
    [_user("Tide?"), {"role": "assistant", "content": None, "tool_calls": [CALL]},
     {"role": "tool", "tool_call_id": "c1", "content": "At noon."}],
    [{"role": "assistant", "content": "Well,"}],
    [_user("x"), {"role": "system", "content": "Late."}],
    [_user("Größe 東京 🙂 \u2028")],
    [_user("")],
    [_user([])],
]  # fmt: skip
TALKS_BAD = [
    [],
    [_user(None)],
    [_user(5)],
    [_user({"text": "x"})],
    [{"role": "user"}],
    [{"content": "x"}],
    [_user([{"type": "blob", "data": "x"}])],
    [_user([5])],
    ["Name a river."],
    "Name a river.",
    [{"role": 5, "content": "x"}],
    [_user(LONG)],
    [{"role": "system", "content": None}, _user("x")],
    [_user([{"type": "text"}])],
]
TEXTS = ["Name a river.", "One, two,", "Größe 東京 🙂", " ", "\n", "x" * 300]
TEXTS_BAD = ["", None, 5, ["a"], {"role": "user"}, LONG, True]
MESSAGES_TALKS = [talk for talk in TALKS if all(each["role"] in ("user", "assistant") for each in talk)][:-2]


def corpus(count: int, seed: int = 17) -> list[Sample]:
    """Return so many samples, always the same for a seed."""
    rng = random.Random(seed)
    shapes = list(SHAPES)
    samples = [shapes[number % len(shapes)](rng, number) for number in range(count)]
    rng.shuffle(samples)
    return samples


def _draw(rng: random.Random, route: str, *, nulls: bool = True) -> dict[str, Any]:
    """Draw up to three options that the route takes, and in two rows of five one that it does not."""
    good, bad = OPTIONS[route]
    options: dict[str, Any] = {}
    for fragment in rng.sample(good, rng.choice((0, 1, 1, 2, 3))):
        options |= fragment
    if rng.random() < 0.4:
        options |= rng.choice(bad)
    return {name: value for name, value in options.items() if nulls or value is not None}


def _text(rng: random.Random) -> Any:
    return rng.choice(TEXTS) if rng.random() < 0.9 else rng.choice(TEXTS_BAD)


def _talk(rng: random.Random, route: str = CHAT) -> Any:
    good = MESSAGES_TALKS if route == MESSAGES else TALKS
    return rng.choice(good) if rng.random() < 0.85 else rng.choice(TALKS_BAD)


def _meant(content: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the plain request of a row: the job's defaults, and then its own words."""
    limits = {"max_tokens": LIMIT, "temperature": HEAT}
    extra = options.get("extra_body") or {}
    own = {name: value for name, value in options.items() if value is not None and name != "extra_body"}
    old = {new: own.pop(name) for name, new in GUIDED.items() if name in own}
    given = own.get("structured_outputs")
    structure = {"structured_outputs": {**old, **(given if isinstance(given, dict) else {})}} if old else {}
    return {**limits, **content, **own, **structure, **(extra if isinstance(extra, dict) else {})}


def _prompt(rng: random.Random, number: int) -> Sample:
    text, options = _text(rng), _draw(rng, CHAT)
    nested = rng.random() < 0.4
    row = {"id": number, "prompt": text, **({"sampling_params": options} if nested else options)}
    if text == "":
        return Sample(row)  # a prompt row must ask something, though a chat may be silent
    return Sample(row, CHAT, _meant({"messages": [_user(text)]}, options))


def _prompt_messages(rng: random.Random, number: int) -> Sample:
    talk, options = _talk(rng), _draw(rng, CHAT)
    return Sample({"id": number, "messages": talk, **options}, CHAT, _meant({"messages": talk}, options))


def _line(number: int, route: str, body: Any) -> dict[str, Any]:
    return {"custom_id": str(number), "method": "POST", "url": route, "body": body}


def _openai_chat(rng: random.Random, number: int) -> Sample:
    body = {"messages": _talk(rng), **_draw(rng, CHAT)}
    return Sample(_line(number, CHAT, body), CHAT, _meant({}, body))


def _openai_completions(rng: random.Random, number: int) -> Sample:
    text = rng.choice([["a", "b"], [5, 6, 7], [[5, 6]], []]) if rng.random() < 0.2 else _text(rng)
    body = {"prompt": text, **_draw(rng, COMPLETIONS)}
    return Sample(_line(number, COMPLETIONS, body), COMPLETIONS, _meant({}, body))


def _openai_responses(rng: random.Random, number: int) -> Sample:
    asked = _text(rng) if rng.random() < 0.5 else _talk(rng)
    body = {"input": asked, **_draw(rng, RESPONSES)}
    return Sample(_line(number, RESPONSES, body), RESPONSES, {"max_output_tokens": LIMIT, "temperature": HEAT, **body})


def _tokenize(rng: random.Random, number: int) -> Sample:
    body = rng.choice([{"prompt": "Hi"}, {"messages": TALKS[0]}, {"prompt": 5}, {}, {"prompt": ""}])
    return Sample(_line(number, "/tokenize", body), "/tokenize", body)


def _anthropic(rng: random.Random, number: int) -> Sample:
    params = {"model": "claude", "max_tokens": 2, "messages": _talk(rng, MESSAGES), **_draw(rng, MESSAGES)}
    return Sample({"custom_id": str(number), "params": params}, MESSAGES, _meant({}, params))


def _runpod(rng: random.Random, number: int) -> Sample:
    if rng.random() < 0.5:
        talk, options = _talk(rng), _draw(rng, CHAT)
        row = {"id": number, "input": {"messages": talk, "sampling_params": options}}
        return Sample(row, CHAT, _meant({"messages": talk}, options))
    text, options = _text(rng), _draw(rng, COMPLETIONS)
    row = {"id": number, "input": {"prompt": text, "sampling_params": options}}
    return Sample(row, COMPLETIONS, _meant({"prompt": text}, options))


def _runpod_route(rng: random.Random, number: int) -> Sample:
    route = rng.choice([CHAT, COMPLETIONS])
    content = {"messages": _talk(rng)} if route == CHAT else {"prompt": _text(rng)}
    body = {**content, **_draw(rng, route)}
    inner = rng.choice(
        [{"openai_route": route, "openai_input": body}, {"route": route, "method": "POST", "body": body}]
    )
    return Sample({"id": number, "input": inner}, route, _meant({}, body))


def _bedrock(rng: random.Random, number: int) -> Sample:
    """Make a record of a family's plain options; its names are the family's."""
    heat = rng.choice([0, 0.5, 1, -1, 3, "hot"])
    limit = rng.choice([1, 2, 3, 2, 0, -1])
    text = _text(rng)
    shape = rng.choice([
        ({"anthropic_version": "bedrock-2023-05-31", "max_tokens": limit, "temperature": heat,
          "messages": [_user([{"type": "text", "text": text}])]}, CHAT),
        ({"messages": [_user([{"text": text}])], "inferenceConfig": {"maxTokens": limit, "temperature": heat}}, CHAT),
        ({"inputText": text, "textGenerationConfig": {"maxTokenCount": limit, "temperature": heat}}, COMPLETIONS),
        ({"prompt": text, "max_gen_len": limit, "temperature": heat}, COMPLETIONS),
    ])  # fmt: skip
    given, route = shape
    asked = {"messages": [_user(text)]} if route == CHAT else {"prompt": text}
    meant = {"max_tokens": limit, "temperature": heat, **asked}
    return Sample({"recordId": f"R{number}", "modelInput": given}, route, meant)


SHAPES = (
    *(_prompt, _prompt, _prompt, _prompt_messages, _prompt_messages, _openai_chat, _openai_chat, _openai_completions),
    *(_openai_completions, _openai_responses, _anthropic, _anthropic, _runpod, _runpod_route, _bedrock, _tokenize),
)


def lines_of(samples: list[Sample]) -> list[str]:
    """Return the samples as lines of a file."""
    return [json.dumps(sample.row, ensure_ascii=False) for sample in samples]
