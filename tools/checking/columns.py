"""Columns of rows that may not mean what they do: misspelt options, a user's own data, names that stand twice."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from job.options import OPTIONS
from rows.row import Row, shorten

NAMES = 200  # of columns that are looked at; a file with more has names that are data
LIKENESS = 0.85
WORDS = 3  # a system prompt of so few words, without a full stop, is rather a value
MANY = 16  # answers to one row; more is rather a count of something else
_MEANT = {
    "max_new_tokens": "max_tokens", "max_length": "max_tokens", "num_predict": "max_tokens", "maxtokens": "max_tokens",
    "topp": "top_p", "topk": "top_k", "stop_sequences": "stop", "repeat_penalty": "repetition_penalty",
}  # fmt: skip
_CLIENTS = frozenset({"generate_kwargs", "model_kwargs", "gen_kwargs", "generation_config", "extra_headers"})


@dataclass
class Columns:
    """What is known of the columns of the rows added so far: how often each gives pause, and at which line first."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    firsts: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)

    def add(self, row: Row, *, are_options: bool) -> None:
        """Look at a row's columns, which are options unless the job takes them for data."""
        if len(row.members) != len(row.fields) and not row.doubled:  # two values are the row's error
            names = [member.name for member in row.members]
            for name in row.fields:
                if names.count(name) > 1:
                    self._note("twice", name, row)
        if are_options:
            for name, value in row.fields.items():
                if _looks_like_data(name, value):
                    self._note("data", name, row)
                elif name not in OPTIONS and (name in _CLIENTS or _meant(name)):
                    self._note("unread", name, row)

    def _note(self, what: str, name: str, row: Row) -> None:
        key = (what, name)
        if key in self.counts or len(self.counts) < NAMES:
            self.counts[key] += 1
            self.firsts.setdefault(key, (row.line, shorten(row.fields[name])))

    def take(self, later: Columns) -> None:
        """Add what was seen of later lines."""
        self.counts.update(later.counts)
        self.firsts = {**later.firsts, **self.firsts}

    def notes(self) -> Iterable[str]:
        """Yield what a person should know of the columns."""
        for (what, name), count in self.counts.items():
            line, value = self.firsts[(what, name)]
            where = f"{count:,} {'row has' if count == 1 else 'rows have'}"
            if what == "twice":
                yield f'{where} "{name}" twice with the same value, {value}, the first on line {line}'
            elif what == "data":
                yield (
                    f'{where} a column "{name}" that looks like data, such as {value} on line {line}, and is taken '
                    "for an option; if it is data, OptionsInRows=sampling_params leaves all columns alone"
                )
            else:
                meant = f'; is "{_meant(name)}" meant?' if _meant(name) else "; options stand in sampling_params"
                yield f'{where} a column "{name}", first on line {line}, which is no option and is not applied{meant}'


_known: dict[str, str] = {}


def _meant(name: str) -> str:
    """Return the option that a name misspells, or ""."""
    if name not in _known:
        if len(_known) > NAMES:
            return ""
        plain = name.replace("-", "_").lower()
        near = difflib.get_close_matches(plain, OPTIONS, 1, LIKENESS)
        _known[name] = _MEANT.get(plain) or (near[0] if near and name not in OPTIONS else "")
    return _known[name]


def _looks_like_data(name: str, value: Any) -> bool:
    if name == "system" and isinstance(value, str):
        return len(value.split()) <= WORDS and not value.rstrip().endswith((".", "!", "?", ":"))
    if name == "n":
        return isinstance(value, int) and value > MANY
    if name == "stop" and isinstance(value, str):
        return len(value) > 1 and value[0].isalpha() and " " in value.strip()
    return name == "model" and isinstance(value, str) and " " in value.strip()
