"""What a job says once for all its rows: the options, texts and files that its parameters give."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.routes import ANY_ROUTE, ENDPOINTS
from job.options import BUDGET_NAMES, CONTENT, check_options
from job.parameters import JobError
from job.prompt_template import PromptTemplate, TemplateError
from rows.errors import RowError

_NO_OPTIONS = {  # what SamplingParams cannot say, and where it is said
    "stream": "has no place in a batch; leave it out",
    "model": "is no option; name the model in ModelName, or in the rows",
    "system": "is no option; set SystemPrompt",
    **dict.fromkeys(CONTENT, "is no option; rows say what is asked"),
}
_RESULTS = frozenset({"error", "previous", "finish_reason", "prompt_tokens", "completion_tokens"}) | frozenset(
    {"reasoning", "tool_calls", "refusal", "logprobs", "prompt_logprobs", "choices"}
)
LEAVE_TO_MODEL = -1  # Temperature: the model's own generation config decides


@dataclass(frozen=True, slots=True)
class Defaults:
    """The job's defaults for rows. `options` are request options (max_tokens, temperature, ...), already checked."""

    options: dict[str, Any] = field(default_factory=dict)
    system_prompt: str = ""
    template: PromptTemplate | None = None
    schema: dict[str, Any] | None = None
    output_field: str = "generated_text"
    endpoint: str = "auto"
    model_in_rows: str = "auto"


def read_defaults(values: Mapping[str, Any]) -> Defaults:
    """Read the job's parameters. Raises JobError, which names the parameter and says how to mend it."""
    temperature = values["Temperature"]
    options: dict[str, Any] = {"max_tokens": values["MaxTokens"]}
    if temperature != LEAVE_TO_MODEL:
        if not 0 <= temperature < math.inf:
            raise JobError(f"Temperature must be 0 or more, or -1 to leave it to the model; got {temperature:g}")
        options["temperature"] = temperature
    further = _sampling_params(values["SamplingParams"])
    if further.keys() & BUDGET_NAMES:
        del options["max_tokens"]
    options |= further
    return Defaults(
        options=options,
        system_prompt=_system_prompt(values["SystemPrompt"], values["SystemPromptFile"]),
        template=_template(values["PromptTemplateFile"]),
        schema=_schema(values["ResponseSchemaFile"]),
        output_field=check_output_field(values["OutputField"]),
        endpoint=_endpoint(values["Endpoint"]),
        model_in_rows=values["ModelInRows"],
    )


def _sampling_params(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        params = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise JobError(f'SamplingParams must be a JSON object such as {{"top_p": 0.9}}: {error}') from None
    if not isinstance(params, dict):
        raise JobError('SamplingParams must be a JSON object such as {"top_p": 0.9}')
    for name, advice in _NO_OPTIONS.items():
        if name in params:
            raise JobError(f'SamplingParams: "{name}" {advice}')
    try:
        return check_options(params)
    except RowError as error:
        raise JobError(f"SamplingParams: {error.message}") from None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _text_of(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise JobError(f"{name} {path!r} cannot be read as UTF-8 text: {error}") from None


def _system_prompt(text: str, path: str) -> str:
    if text and path:
        raise JobError("SystemPrompt and SystemPromptFile are both set; leave one of them empty")
    return _text_of("SystemPromptFile", path) if path else text


def _template(path: str) -> PromptTemplate | None:
    if not path:
        return None
    try:
        return PromptTemplate(_text_of("PromptTemplateFile", path))
    except TemplateError as error:
        raise JobError(f"PromptTemplateFile {Path(path).name}: {error}") from None


def _schema(path: str) -> dict[str, Any] | None:
    if not path:
        return None
    try:
        schema = json.loads(_text_of("ResponseSchemaFile", path))
    except (ValueError, RecursionError) as error:
        raise JobError(f"ResponseSchemaFile {Path(path).name} is not JSON: {error}") from None
    if not isinstance(schema, dict):
        raise JobError(f"ResponseSchemaFile {Path(path).name} must hold a JSON schema, an object")
    with contextlib.suppress(ImportError):  # a worker that only merges may lack it
        _check_schema(schema, Path(path).name)
    return schema


def _check_schema(schema: dict[str, Any], name: str) -> None:
    import jsonschema

    try:
        jsonschema.validators.validator_for(schema).check_schema(schema)
    except jsonschema.exceptions.SchemaError as error:
        raise JobError(f"ResponseSchemaFile {name} is no JSON schema: {error.json_path}: {error.message}") from None


def check_output_field(name: str) -> str:
    """Return OutputField. Raises JobError for a name that another result has."""
    if not name or name in _RESULTS:
        raise JobError(f"OutputField must be a name that no other result has; got {name!r}")
    return name


def _endpoint(name: str) -> str:
    """Return the route of an Endpoint value, or `auto`."""
    if name in ANY_ROUTE:
        return name
    if name not in ENDPOINTS:
        raise JobError(f"Endpoint must be one of {', '.join(ENDPOINTS)}; got {name!r}")
    return ENDPOINTS[name]
