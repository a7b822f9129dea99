"""The models that clients may name, and the jobs' parameters behind each: a table in a TOML file.

    ["gpt-4o-mini"]
    ModelName = "Qwen/Qwen2.5-7B-Instruct"
    MaxModelLen = 8192
    aliases = ["gpt-4o"]

Every name of the template's parameters may stand there. Without a table there is one model, which answers for every
name that a client gives, as the bundle's own rows have it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from job.parameters import BY_NAME, TABLE, JobError, Kind

NOT_FOR_MODELS = frozenset({"InputFile", "InputUrl", "Prompts", "OutputUrl", "StopAt"}) | frozenset(
    each.name for each in TABLE if each.kind in (Kind.FOLDER, Kind.OUTPUT_FOLDER)
)
ALIASES = "aliases"


class ModelsError(Exception):
    """A table of models that cannot be used; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model by the name that clients see, with the parameters of its jobs."""

    name: str
    parameters: Mapping[str, str]
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Models:
    """The table. `any_name` tells that its first model answers for names that it does not have."""

    table: tuple[Model, ...]
    any_name: bool = False

    def find(self, name: object) -> Model | None:
        """Return the model that answers for a name; None for the name asks for the first."""
        if name is None:
            return self.table[0]
        for model in self.table:
            if name in (model.name, *model.aliases):
                return model
        return self.table[0] if self.any_name else None

    def get(self, name: str) -> Model:
        """Return the model of a name in the table; the first where the table has it no more."""
        return next((model for model in self.table if model.name == name), self.table[0])

    @property
    def names(self) -> list[str]:
        """Return every name that a client may use."""
        return [name for model in self.table for name in (model.name, *model.aliases)]


def make_single(parameters: Mapping[str, str]) -> Models:
    """Return the table of one model, which is the jobs' own."""
    name = parameters.get("ModelName") or str(BY_NAME["ModelName"].default)
    shown = Path(name).name if Path(name).is_absolute() else name
    return Models((Model(shown, dict(parameters)),), any_name=True)


def read_models(path: Path, parameters: Mapping[str, str]) -> Models:
    """Return the table of a file; `parameters` hold where a model says nothing else. Raises ModelsError."""
    try:
        whole = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelsError(f"{path}: {error}") from None
    if not whole:
        raise ModelsError(f"{path} names no model")
    table = tuple(_read_model(path, name, said, parameters) for name, said in whole.items())
    names = Models(table).names
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise ModelsError(f"{path}: two models are named {doubled!r}")
    return Models(table)


def _read_model(path: Path, name: str, said: Any, parameters: Mapping[str, str]) -> Model:
    if not isinstance(said, dict):
        raise ModelsError(f"{path}: {name} must be a table of parameters, such as [{name!r}] and ModelName = ... below")
    aliases = said.get(ALIASES, [])
    if not isinstance(aliases, list) or not all(isinstance(each, str) for each in aliases):
        raise ModelsError(f"{path}: aliases of {name!r} must be a list of names")
    own = {key: _write(value) for key, value in said.items() if key != ALIASES}
    for key, text in own.items():
        if key not in BY_NAME or key in NOT_FOR_MODELS:
            raise ModelsError(f"{path}: {name!r} sets {key}, which is no parameter of a model")
        try:
            BY_NAME[key].read(text)
        except JobError as error:
            raise ModelsError(f"{path}: {name!r}: {error}") from None
    return Model(name, {**parameters, **own}, tuple(aliases))


def _write(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
