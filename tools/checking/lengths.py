"""Values that the service does not take, because they are too long: told before anything is uploaded, with the way out.

Source: the Open Job Description specification: the value of a STRING or PATH parameter has at most LIMIT characters.
"""

from __future__ import annotations

from collections.abc import Mapping

import bundle  # noqa: F401  (puts scripts/ on the path)
from job.parameters import JobError
from rows.ranges import EXPRESSION_LIMIT as LIMIT

_S3 = "name the object as s3://BUCKET/KEY, which the worker reads by the queue's role, or make a URL with lasting keys"
WAYS = {
    "SystemPrompt": "put it into a file and name that in SystemPromptFile",
    "SamplingParams": "write what some rows need into those rows, and what a schema needs into ResponseSchemaFile",
    "VllmArgs": "leave out what is vLLM's default, and white space in JSON values",
    "Prompts": "name fewer, longer ranges, or submit those lines as a file of their own (retry.jsonl is one)",
    "InputUrl": _S3,
    "OutputUrl": _S3.replace("reads", "writes"),
}
SHORTER = "make it shorter"


def refuse_long(parameters: Mapping[str, str]) -> None:
    """Raise JobError for the first value that is longer than the service takes."""
    for name, text in parameters.items():
        if len(text) > LIMIT:
            way = WAYS.get(name, SHORTER)
            raise JobError(
                f"{name} has {len(text):,} characters, more than the {LIMIT:,} that the service takes: {way}"
            )
