"""A server's list of models, in whichever shape it is written, and which of them is meant by a name.

OpenAI's is `{"data": [{"id": ...}]}`; others give a bare list, another key, texts, or patterns (`openai/*`). A list is
no proof: a server may answer for a model that it does not list (`engine/given.py`).
"""

from __future__ import annotations

import difflib
import fnmatch
from dataclasses import dataclass
from typing import Any

from engine.facts import Served

SHOWN = 5  # names in a message
_NAMES = ("id", "model", "name", "model_id", "model_name", "key", "slug")
_LISTS = ("data", "models", "model_list", "items", "result")
_CONTEXTS = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length")


@dataclass(frozen=True, slots=True)
class Listed:
    """The names that a server lists, the longest context of each where it is told, and whether they are one model."""

    names: tuple[str, ...] = ()
    contexts: tuple[int | None, ...] = ()
    alone: bool = False

    def find(self, model: str) -> str:
        """Return the listed name that is meant by a model's, "" where none is: itself, or itself with a tag."""
        if model in self.names or any("*" in name and fnmatch.fnmatchcase(model, name) for name in self.names):
            return model
        tagged = [name for name in self.names if name in (f"{model}:latest", f"models/{model}")]
        alike = tagged or [name for name in self.names if name.lower() == model.lower()]
        return alike[0] if len(alike) == 1 else ""

    def nearest(self, model: str) -> list[str]:
        """Return the listed names that are most like a model's."""
        near = difflib.get_close_matches(model, self.names, SHOWN, 0.3)
        return near or sorted(self.names)[:SHOWN]

    def choose(self, model: str) -> Served:
        """Return what is served: the model by its own name where the list has it, else the first listed."""
        found = self.find(model) or next(iter(self.names), model)
        tokens = next((one for name, one in zip(self.names, self.contexts, strict=True) if name == found), None)
        known = frozenset() if any("*" in name for name in self.names) else frozenset(self.names)
        return Served(found, tokens=tokens, names=known, alone=self.alone)


def read_models(value: Any) -> Listed:
    """Return what a list of models names; nothing where it is no list that can be read."""
    entries = _find_entries(value)
    named = [(name, entry) for entry in entries if (name := _name(entry))]
    contexts = tuple(_context(entry) for _, entry in named)
    return Listed(tuple(name for name, _ in named), contexts, _is_one(named))


def _find_entries(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        for key in _LISTS:
            inner = value.get(key)
            if isinstance(inner, list):
                return inner
            if isinstance(inner, dict) and all(isinstance(each, dict) for each in inner.values()):
                return [{"id": name, **each} for name, each in inner.items()]
    return []


def _name(entry: Any) -> str:
    if isinstance(entry, str):
        return entry
    found = next((entry[name] for name in _NAMES if entry.get(name)), "") if isinstance(entry, dict) else ""
    return found if isinstance(found, str) else str(found) if isinstance(found, int) else ""


def _context(entry: Any) -> int | None:
    told = [entry[name] for name in _CONTEXTS if name in entry] if isinstance(entry, dict) else []
    return next((each for each in told if isinstance(each, int) and not isinstance(each, bool) and each > 0), None)


def _is_one(named: list[tuple[str, Any]]) -> bool:
    """Tell whether a list has one model, under whatever names; an adapter has another for its parent."""
    entries = [(name, entry if isinstance(entry, dict) else {}) for name, entry in named]
    roots = {str(entry.get("root") or name) for name, entry in entries}
    patterned = any("*" in name for name, _ in named)
    return len(roots) == 1 and not patterned and not any(entry.get("parent") for _, entry in entries)
