"""The one table of the job's parameters.

Whatever else has to know a parameter is made from this table: the programs' arguments, what is recorded in the shards,
in summary.json and on the page, what the tools check, the table in the documents. template.yaml is checked against it.
A new parameter is a definition and an argument of onEnter in template.yaml, an entry here, and the place that uses it.

Values of parameters travel as a mapping from the template's names: `values["MaxTokens"]`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.routes import ENDPOINTS
from host import transfer
from job.moment import read_moment


class Kind(StrEnum):
    """What a parameter holds, in a person's words."""

    TEXT = "text"
    ADDRESS = "address"
    FILE = "file"
    FOLDER = "folder"
    OUTPUT_FOLDER = "output folder"
    WHOLE = "whole number"
    NUMBER = "number"
    MOMENT = "moment"


TEXT, ADDRESS, FILE, FOLDER, OUTPUT_FOLDER, WHOLE, NUMBER, MOMENT = Kind
_TYPES: dict[Kind, type] = {WHOLE: int, NUMBER: float}  # the others are str
DIGITS = 9  # of a whole number; the table's own bounds have fewer


class JobError(Exception):
    """A job parameter that cannot be used; the message names it as the form does."""


def flag(name: str) -> str:
    """Return the flag of a parameter's name: `--max-tokens` for `MaxTokens`."""
    return "--" + "".join(f"-{char.lower()}" if char.isupper() else char for char in name).lstrip("-")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the template, and who has to know it.

    default: a value of its type; None where a job must name one.
    least, most: the bounds of a number; of a text `least` is its least length.
    recorded: it is in the shards, in summary.json and on the page.
    repeated: of those recorded, a new submission says it again where it is not the default.
    secret: it reaches the programs in a file of the session, and is never recorded.
    asks: a row's request is made of it.
    checked: it decides, as those that `asks` do, which rows there are or whether they can be answered.
    loads: an engine is started with it, so that jobs which agree on all of these can use one.
    shorter: what to do about a value that is longer than the service takes.
    """

    name: str
    kind: Kind
    default: Any
    meaning: str = ""
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    recorded: bool = True
    repeated: bool = True
    secret: bool = False
    asks: bool = False
    checked: bool = False
    loads: bool = False
    shorter: str = "make it shorter"

    @property
    def type(self) -> type:
        """Return the type of its values: str, int or float."""
        return _TYPES.get(self.kind, str)

    def holds(self, value: object) -> bool:
        """Tell whether a value out of a file is of this parameter's type, and a number that JSON can say."""
        if self.type is float and isinstance(value, int | float) and not isinstance(value, bool):
            return math.isfinite(value)
        return type(value) is self.type

    def read(self, text: str) -> str | int | float:
        """Return the value that a person's text gives, within its bounds. Raises JobError."""
        if self.choices and text not in self.choices:
            raise JobError(f"{self.name} must be one of {', '.join(self.choices)}; got {text!r}")
        if self.type is str:
            if self.least and not text:
                raise JobError(f"{self.name} must not be empty")
            if self.kind == MOMENT and text:
                self._refuse_no_moment(text)
            return text
        value = self._number(text.strip())
        bounds = [f"at least {self.least:g}"] if self.least is not None and value < self.least else []
        bounds += [f"at most {self.most:g}"] if self.most is not None and value > self.most else []
        if bounds:
            raise JobError(f"{self.name} must be {bounds[0]}, got {text}")
        return value

    def _refuse_no_moment(self, text: str) -> None:
        try:
            read_moment(text)
        except ValueError:
            form = "a moment with its zone, such as 2027-01-31T18:00:00+01:00"
            raise JobError(f"{self.name} must be {form}, got {text!r}") from None

    def _number(self, text: str) -> int | float:
        if self.kind == WHOLE and len(text.removeprefix("-")) > DIGITS:
            raise JobError(f"{self.name} must be a whole number of at most {DIGITS} digits")
        with contextlib.suppress(ValueError):
            number: int | float = self.type(text)
            if math.isfinite(number):
                return number
        raise JobError(f"{self.name} must be a {self.kind}, got {text!r}")


_S3 = "name the object as s3://BUCKET/KEY, which the worker {} by the queue's role, or make a URL with lasting keys"

# fmt: off
TABLE = (  # in the form's order
    Parameter("InputFile", FILE, "", recorded=False, checked=True,
              meaning='JSONL with one request a line (.gz too), for example {"prompt":"..."}. Leave empty if '
                      "you give an Input URL."),
    Parameter("InputUrl", ADDRESS, "", secret=True, checked=True, shorter=_S3.format("reads"),
              meaning="Where to fetch the input from instead: s3://BUCKET/KEY by the queue's role, or "
                      "an http or https address."),
    Parameter("Prompts", TEXT, "1-10", least=1, repeated=False, checked=True,
              shorter="name fewer, longer ranges, or submit those lines as a file of their own (retry.jsonl is one)",
              meaning="Which lines to answer, counted from 1, such as 1-500, 2,5,8-9 or 1-100:2. The word all "
                      "needs hooks allowed."),
    Parameter("PromptTemplateFile", FILE, "", asks=True,
              meaning="A Jinja template that makes each row's prompt from its fields, such as Translate to "
                      "French: {{ text }}."),
    Parameter("ModelName", TEXT, "Qwen/Qwen2.5-7B-Instruct", least=1, asks=True, loads=True,
              meaning="A Hugging Face model id, or a folder on the worker."),
    Parameter("MaxModelLen", WHOLE, 4096, least=16, most=10485760, checked=True, loads=True,
              meaning="Longest prompt plus answer, in tokens. Less needs less GPU memory. Small encoders need "
                      "256 or less."),
    Parameter("HfTokenSecretId", TEXT, "", recorded=False, loads=True,
              meaning="For gated models, the AWS Secrets Manager id of a Hugging Face token."),
    Parameter("HfToken", TEXT, "", secret=True, loads=True,
              meaning="A Hugging Face token in plain text. It stays readable in the job; a token secret is safer."),
    Parameter("MaxTokens", WHOLE, 512, least=1, most=1048576, asks=True,
              meaning="Longest answer in tokens, for rows that set none."),
    Parameter("Temperature", NUMBER, 0.7, least=-1, most=100, asks=True,
              meaning="Randomness for rows that set none. 0 gives the likeliest answer, -1 leaves it to the "
                      "model's own settings."),
    Parameter("SamplingParams", TEXT, "", asks=True,
              shorter="write what some rows need into those rows, and what a schema needs into ResponseSchemaFile",
              meaning='More defaults as JSON, such as {"top_p":0.9,"seed":7,"stop":["END"]}.'),
    Parameter("OptionsInRows", TEXT, "columns", choices=("columns", "sampling_params"), asks=True,
              meaning="Where rows say options. Columns takes those at a row's top too; with sampling_params they "
                      "are data."),
    Parameter("ResponseSchemaFile", FILE, "", asks=True,
              meaning="A JSON schema that every answer must satisfy."),
    Parameter("Endpoint", TEXT, "auto", choices=tuple(ENDPOINTS), asks=True,
              meaning="What prompt rows ask of the model. Auto takes what the model can do."),
    Parameter("ChunkSize", WHOLE, 5, least=1, most=150, checked=True,
              meaning="Lines (or blocks) a task answers. More keep the GPU fuller, fewer spread the job over "
                      "more workers."),
    Parameter("BlockSize", WHOLE, 1, least=1, most=1000000, repeated=False, checked=True,
              meaning="Lines behind each range value. For files of millions of lines; with 1000, value 1 is "
                      "lines 1 to 1000."),
    Parameter("TargetRuntimeSeconds", WHOLE, 120, least=0, most=86400,
              meaning="How long a task should take. The scheduler resizes chunks towards it; 0 keeps the chunk size."),
    Parameter("RowTimeoutSeconds", WHOLE, 1200, least=1, most=86400,
              meaning="Longest wait for one answer, not counting time in the server's queue."),
    Parameter("MaxAttempts", WHOLE, 5, least=1, most=100,
              meaning="How often a row is tried when a failure may pass."),
    Parameter("MaxFailedPercent", WHOLE, 100, least=0, most=100,
              meaning="Ask nothing more in a chunk when more than this share of its rows fails. 100 never stops."),
    Parameter("StopAt", MOMENT, "", repeated=False,
              meaning="Ask nothing after this moment, such as 2027-01-31T18:00:00+01:00; the job still ends in "
                      "results."),
    Parameter("KeepRowsSeconds", WHOLE, 0, least=0, most=86400,
              meaning="Copy a running chunk's answers to the queue's bucket so often, for its next attempt if it is "
                      "interrupted. 0 never."),
    Parameter("PricePerHour", NUMBER, 0.0, least=0, most=100000,
              meaning="Dollars for a worker's hour, so that the results say what they cost. 0 where it is not known."),
    Parameter("OutputDir", OUTPUT_FOLDER, None, recorded=False,
              meaning="Everything is written under output/ in this folder."),
    Parameter("OutputField", TEXT, "generated_text", least=1, asks=True,
              meaning="The field that receives each answer. Another name lets a second job read the first "
                      "one's output."),
    Parameter("OutputUrl", ADDRESS, "", secret=True, shorter=_S3.format("writes"),
              meaning="Also send output.jsonl here: s3://BUCKET/KEY, s3://BUCKET/PREFIX/ for every finished file, "
                      "or an address to PUT to."),
    Parameter("MaxConcurrency", WHOLE, 0, least=0, most=8192,
              meaning="Requests in flight at once, all copies together. 0 takes what the servers take, and a "
                      "quarter more."),
    Parameter("GpuMemoryUtilization", NUMBER, 0.9, least=0.05, most=1.0, loads=True,
              meaning="Share of each GPU's memory that the server takes."),
    Parameter("TensorParallelSize", WHOLE, 0, least=0, most=64, loads=True,
              meaning="GPUs for each copy of the model. 0 takes the fewest that hold it, and copies of it on "
                      "the others."),
    Parameter("ServerStartTimeoutSeconds", WHOLE, 1800, least=10, most=86400, loads=True,
              meaning="How long the model may take to download and load."),
    Parameter("VllmArgs", TEXT, "", checked=True, loads=True,
              shorter="leave out what is vLLM's default, and white space in JSON values",
              meaning="Further vLLM server arguments, such as --quantization fp8 --enable-lora. They win over "
                      "the bundle's own."),
    Parameter("ServerUrl", ADDRESS, "", checked=True,
              meaning="Use this running OpenAI-compatible server and start none."),
    Parameter("ServerKeySecretId", TEXT, "", recorded=False,
              meaning="The AWS Secrets Manager id of that server's key. Without one the worker's OPENAI_API_KEY "
                      "counts."),
    Parameter("ModelInRows", TEXT, "auto", choices=("auto", "error", "ignore"), asks=True,
              meaning="Rows that name a model the server lacks. Auto lets a server of one model answer, error "
                      "refuses, ignore never looks."),
    Parameter("CondaPackages", TEXT, "python=3.11 vllm=0.19.1=cuda* cuda-toolkit=12.9 boto3", recorded=False,
              meaning="Conda packages that the queue's conda environment installs on the workers."),
    Parameter("CondaChannels", TEXT, "conda-forge", recorded=False,
              meaning="Conda channels to install from."),
    Parameter("JobScriptDir", FOLDER, "scripts", recorded=False,
              meaning="The programs that run on the workers."),
    Parameter("SystemPromptFile", FILE, "", asks=True,
              meaning="A file that holds the system prompt, for one of more than 1,024 characters."),
    Parameter("SystemPrompt", TEXT, "", asks=True, shorter="put it into a file and name that in SystemPromptFile",
              meaning="Put before rows that have no system message of their own."),
)
# fmt: on
BY_NAME: Mapping[str, Parameter] = {parameter.name: parameter for parameter in TABLE}
SECRETS = frozenset(parameter.name for parameter in TABLE if parameter.secret)
FILES = tuple(parameter.name for parameter in TABLE if parameter.kind == FILE)


def defaults() -> dict[str, Any]:
    """Return every parameter's default; None stands for one that a job must name."""
    return {parameter.name: parameter.default for parameter in TABLE}


def repeated_defaults() -> dict[str, Any]:
    """Return the defaults of the parameters that a new submission says again where they differ."""
    return {each.name: each.default for each in TABLE if each.recorded and each.repeated and not each.secret}


def record(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a job's values that are recorded, in the table's order; addresses without user and query."""
    kept = {each.name: values[each.name] for each in TABLE if _is_recorded(each) and each.name in values}
    addresses = {name: transfer.shown(kept[name]) for name in kept if BY_NAME[name].kind == ADDRESS and kept[name]}
    return kept | addresses


def read_record(recorded: object) -> dict[str, Any]:
    """Return what a file recorded, without names that are not recorded here and values of another type."""
    found = recorded if isinstance(recorded, Mapping) else {}
    return {each.name: found[each.name] for each in TABLE if _is_recorded(each) and each.holds(found.get(each.name))}


def _is_recorded(parameter: Parameter) -> bool:
    return parameter.recorded and not parameter.secret
