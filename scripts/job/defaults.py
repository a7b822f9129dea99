"""What a job says once for all its rows: the options, texts and files that its parameters give."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.routes import ANY_ROUTE, ENDPOINTS
from job.options import BUDGET_NAMES, CONTENT, check_options
from job.parameters import FILES, TABLE, JobError
from job.prompt_template import PromptTemplate, TemplateError
from job.schemas import find_fault
from rows.errors import RowError

_NO_OPTIONS = {  # what SamplingParams cannot say, and where it is said
    "stream": "has no place in a batch; leave it out",
    "model": "is no option; name the model in ModelName, or in the rows",
    "system": "is no option; set SystemPrompt",
    **dict.fromkeys(CONTENT, "is no option; rows say what is asked"),
}
_RESULTS = frozenset({"error", "previous", "finish_reason", "prompt_tokens", "completion_tokens"}) | frozenset(
    {"reasoning", "tool_calls", "refusal", "logprobs", "prompt_logprobs", "choices"}
    | {"token_ids", "prompt_token_ids", "stop_reason"}
)
LEAVE_TO_MODEL = -1  # Temperature: the model's own generation config decides


@dataclass(frozen=True, slots=True)
class Defaults:
    """The job's defaults for rows. `options` are request options (max_tokens, temperature, ...), already checked.

    `lent` remembers which of them a row gets, by what decides it.
    """

    options: dict[str, Any] = field(default_factory=dict)
    system_prompt: str = ""
    template: PromptTemplate | None = None
    schema: dict[str, Any] | None = None
    output_field: str = "generated_text"
    endpoint: str = "auto"
    model_in_rows: str = "auto"
    options_in_rows: str = "columns"
    lent: dict[Hashable, dict[str, Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def columns_are_data(self) -> bool:
        """Tell whether a row's options stand in its `sampling_params` alone."""
        return self.template is not None or self.options_in_rows == "sampling_params"


def read_asked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the job's parameters that ask, each file by its text: all that it takes to make its requests again.

    A file that is not set is None. Raises JobError for one that cannot be read.
    """
    asked = {each.name: values[each.name] for each in TABLE if each.asks}
    return asked | {name: _text_of(name, asked[name]) if asked[name] else None for name in FILES if name in asked}


def read_defaults(values: Mapping[str, Any]) -> Defaults:
    """Read the job's parameters. Raises JobError, which names the parameter and says how to mend it."""
    return make_defaults(read_asked(values), values)


def make_defaults(asked: Mapping[str, Any], paths: Mapping[str, Any]) -> Defaults:
    """Return the defaults that parameters give whose files are there by their texts; `paths` names them in messages."""
    named = {name: f"{name} {Path(paths.get(name) or '').name}".rstrip() for name in FILES}
    temperature = asked["Temperature"]
    options: dict[str, Any] = {"max_tokens": asked["MaxTokens"]}
    if temperature != LEAVE_TO_MODEL:
        if not 0 <= temperature < math.inf:
            raise JobError(f"Temperature must be 0 or more, or -1 to leave it to the model; got {temperature:g}")
        options["temperature"] = temperature
    further = _sampling_params(asked["SamplingParams"])
    if further.keys() & BUDGET_NAMES:
        del options["max_tokens"]
    options |= further
    return Defaults(
        options=options,
        system_prompt=_system_prompt(asked["SystemPrompt"], asked["SystemPromptFile"]),
        template=_template(asked["PromptTemplateFile"], named["PromptTemplateFile"]),
        schema=_schema(asked["ResponseSchemaFile"], named["ResponseSchemaFile"]),
        output_field=check_output_field(asked["OutputField"]),
        endpoint=_endpoint(asked["Endpoint"]),
        model_in_rows=asked["ModelInRows"],
        options_in_rows=asked["OptionsInRows"],
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


def _system_prompt(text: str, of_file: str | None) -> str:
    if text and of_file is not None:
        raise JobError("SystemPrompt and SystemPromptFile are both set; leave one of them empty")
    return text if of_file is None else of_file


def _template(text: str | None, named: str) -> PromptTemplate | None:
    if text is None:
        return None
    try:
        return PromptTemplate(text)
    except TemplateError as error:
        raise JobError(f"{named}: {error}") from None


def _schema(text: str | None, named: str) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JobError(f"{named} is not JSON: {error}") from None
    if not isinstance(schema, dict):
        raise JobError(f"{named} must hold a JSON schema, an object")
    if fault := find_fault(schema):
        raise JobError(f"{named} is no JSON schema: {fault}")
    with contextlib.suppress(ImportError):  # a worker that only merges may lack it
        _check_schema(schema, named)
    return schema


def _check_schema(schema: dict[str, Any], named: str) -> None:
    import jsonschema

    try:
        jsonschema.validators.validator_for(schema).check_schema(schema)
    except jsonschema.exceptions.SchemaError as error:
        raise JobError(f"{named} is no JSON schema: {error.json_path}: {error.message}") from None


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
