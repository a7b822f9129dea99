"""The command-line arguments that the programs share, named after the template's parameters.

Secrets never stand here: the template writes them to files of the session, whose paths are given instead.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from job.defaults import Defaults, read_defaults

# what a row's answer depends on, in the template's own names; recorded in summary.json
REQUEST_PARAMETERS = (
    ("ModelName", str),
    ("MaxTokens", int),
    ("Temperature", float),
    ("SamplingParams", str),
    ("SystemPrompt", str),
    ("PromptTemplateFile", str),
    ("ResponseSchemaFile", str),
    ("OutputField", str),
    ("Endpoint", str),
)


_DEFAULTS: dict[str, Any] = {"Prompts": "", "BlockSize": 1, "MaxTokens": 512, "Temperature": 0.7}
_DEFAULTS |= {"OutputField": "generated_text", "Endpoint": "auto"}


def flag(parameter: str) -> str:
    """Return the flag of a template parameter: `--max-tokens` for `MaxTokens`."""
    return "--" + "".join(f"-{char.lower()}" if char.isupper() else char for char in parameter).lstrip("-")


def attribute(parameter: str) -> str:
    """Return the name of a template parameter among the parsed arguments: `max_tokens` for `MaxTokens`."""
    return flag(parameter)[2:].replace("-", "_")


def add_input(parser: argparse.ArgumentParser, *, by_hand: bool = False) -> None:
    """Add what says which lines of which input are asked, and where the session keeps its files.

    A program that people also run by hand does without the session's folder and the job's range.
    """
    parser.add_argument("--session-dir", type=Path, required=not by_hand, help="the session's own folder")
    parser.add_argument("--input-file", default="", help="JSONL, one request a line; .gz too")
    parser.add_argument("--input-url-file", default="", help="file that holds InputUrl")
    parser.add_argument("--prompts", required=not by_hand, help="the job's range, as in Prompts")
    parser.add_argument("--block-size", type=int, default=None if by_hand else 1, help="lines per range value")


def add_request(parser: argparse.ArgumentParser, *, by_hand: bool = False) -> None:
    """Add what a row's request is made of; by hand, what is not given is None until it is recalled."""
    for name, kind in REQUEST_PARAMETERS:
        parser.add_argument(flag(name), type=kind, default=None if by_hand else _DEFAULTS.get(name, ""))


def recall(arguments: argparse.Namespace, name: str, kind: type, recorded: Mapping[str, Any]) -> None:
    """Give a parameter that was not given the value that an earlier run recorded, or its default where there is one."""
    if getattr(arguments, attribute(name)) is None:
        value = recorded.get(name)
        setattr(arguments, attribute(name), value if isinstance(value, kind) else _DEFAULTS.get(name))


def request_parameters(arguments: argparse.Namespace) -> dict[str, str | int | float]:
    """Return the request's parameters under the template's names."""
    return {name: getattr(arguments, attribute(name)) for name, _ in REQUEST_PARAMETERS}


def defaults(arguments: argparse.Namespace) -> Defaults:
    """Return the job's defaults for rows. Raises job.JobError."""
    return read_defaults(
        max_tokens=arguments.max_tokens,
        temperature=arguments.temperature,
        sampling_params=arguments.sampling_params,
        system_prompt=arguments.system_prompt,
        template_file=arguments.prompt_template_file,
        schema_file=arguments.response_schema_file,
        output_field=arguments.output_field,
        endpoint=arguments.endpoint,
    )


def secret(path: str) -> str:
    """Return the text of a session's secret file, or "" for no path."""
    return Path(path).read_text(encoding="utf-8").strip() if path else ""


def fingerprint(arguments: argparse.Namespace) -> str:
    """Return a short name for what is asked: two runs with the same one would ask the same of the same lines."""
    files = [getattr(arguments, name) for name in ("prompt_template_file", "response_schema_file")]
    contents = [hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else "" for path in files]
    whole = json.dumps([request_parameters(arguments), contents, arguments.prompts, arguments.block_size])
    return hashlib.sha256(whole.encode()).hexdigest()[:16]
