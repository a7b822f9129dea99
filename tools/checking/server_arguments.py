"""VllmArgs before submission: what in them cannot be meant, what they change, and which names of models they give."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking.foresight import LARGEST_TOKEN, LOGPROBS, Engine
from engine.vllm_args import overridden, values_of

FLAGS = Path(__file__).with_name("vllm_flags.json")  # of every supported vLLM, by tools/maintenance/vllm_flags.py
LIKENESS = 0.8  # of a misspelt flag to the one that is meant; less is a flag that only newer servers know


def names_of_models(arguments: Sequence[str]) -> frozenset[str]:
    """Return the further names that the server answers to: of the model itself, and of its adapters."""
    adapters = values_of(arguments, "--lora-modules")
    return frozenset({*values_of(arguments, "--served-model-name"), *map(_adapter, adapters)} - {""})


def _adapter(text: str) -> str:
    """Return the name of an adapter, which is written as NAME=PATH or as JSON."""
    if not text.startswith("{"):
        return text.partition("=")[0]
    try:
        name = json.loads(text).get("name", "")
    except (ValueError, AttributeError):
        return ""
    return name if isinstance(name, str) else ""


def engine_of(arguments: Sequence[str]) -> Engine:
    """Return what the arguments say of the server that a check must know."""
    told = values_of(arguments, "--max-logprobs")
    most = int(told[-1]) if told and told[-1].lstrip("-").isdecimal() else LOGPROBS
    tools = any(argument.replace("_", "-").startswith("--tool-call-parser") for argument in arguments)
    return Engine(calls_tools=tools, logprobs=most if most >= 0 else LARGEST_TOKEN)


def notes(arguments: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """Return what a person should know of the arguments."""
    said = [
        f"VllmArgs says {value} where {name} is {values[name]}; VllmArgs wins"
        for name, value in overridden(arguments).items()
        if name in values and value != str(values[name])
    ]
    known = json.loads(FLAGS.read_text(encoding="utf-8"))["flags"]
    for argument in arguments:
        flag = argument.partition("=")[0].replace("_", "-")
        near = difflib.get_close_matches(flag, known, 1, LIKENESS)
        if flag.startswith("--") and near and not any(each.startswith(flag) for each in _with_opposites(known)):
            said.append(f"VllmArgs: vLLM has no {flag}; is {near[0]} meant?")
    return said


def _with_opposites(known: Sequence[str]) -> list[str]:
    return [*known, *(f"--no-{flag.removeprefix('--')}" for flag in known)]
