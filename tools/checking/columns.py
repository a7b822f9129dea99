"""Columns of rows that may not mean what they do: misspelt options, a user's own data, names that stand twice."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from job.data_columns import looks_like_data
from job.options import OPTIONS
from rows.json_text import shorten
from rows.row import Row

NAMES = 200  # of columns that are looked at; a file with more has names that are data
LIKENESS = 0.85
_MEANT = {
    "max_new_tokens": "max_tokens", "max_length": "max_tokens", "num_predict": "max_tokens", "maxtokens": "max_tokens",
    "topp": "top_p", "topk": "top_k", "stop_sequences": "stop", "repeat_penalty": "repetition_penalty",
}  # fmt: skip
_CLIENTS = frozenset({"generate_kwargs", "model_kwargs", "gen_kwargs", "generation_config", "model_config"})
_NOT_SENT = frozenset({"extra_headers", "extra_query", "timeout"})  # arguments of the openai client
_REQUESTS = (  # where a row may hold one
    ("sampling_params",), ("body",), ("params",),
    ("input", "sampling_params"), ("input", "openai_input"), ("input", "body"),
)  # fmt: skip
LINES = 5  # that a note names


@dataclass
class Columns:
    """What is known of the columns of the rows added so far: how often each gives pause, and on which lines first."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    firsts: dict[tuple[str, str], tuple[list[int], str]] = field(default_factory=dict)

    def add(self, row: Row, *, are_options: bool) -> None:
        """Look at a row's columns, which are options unless the job takes them for data, and at its request."""
        if row.repeats and not row.doubled:  # two values are the row's error
            names = [member.name for member in row.members]
            for name in row.fields:
                if names.count(name) > 1:
                    self._note("twice", name, row.line, row.fields[name])
        if are_options:
            for name, value in row.fields.items():
                if what := _judge(name, value, row.fields):
                    self._note(what, name, row.line, value)
        for place in _REQUESTS:
            if place[0] in row.fields:
                self._look_inside(place, row)

    def _look_inside(self, place: tuple[str, ...], row: Row) -> None:
        """Look at the options of a request, which no user's own column stands among."""
        found: Any = row.fields
        for step in place:
            found = found.get(step) if isinstance(found, dict) else None
        for name, value in found.items() if isinstance(found, dict) else ():
            whole = ".".join((*place, name))
            if name == "extra_body" and isinstance(value, dict):
                self._note("merged", whole, row.line, value)
            elif name in _NOT_SENT:
                self._note("unsent", whole, row.line, value)
            elif name == "best_of" and not found.get("use_beam_search"):
                self._note("idle", whole, row.line, value)
            elif name not in OPTIONS and (name in _CLIENTS or _meant(name)) and name not in _OF_OTHERS:
                self._note("unread", whole, row.line, value)

    def _note(self, what: str, name: str, line: int, value: Any) -> None:
        key = (what, name)
        if key in self.counts or len(self.counts) < NAMES:
            self.counts[key] += 1
            lines, _ = self.firsts.setdefault(key, ([], shorten(value)))
            if len(lines) < LINES:
                lines.append(line)

    def take(self, later: Columns) -> None:
        """Add what was seen of later lines."""
        self.counts.update(later.counts)
        for key, (lines, value) in later.firsts.items():
            own, first = self.firsts.get(key, ([], value))
            self.firsts[key] = ([*own, *lines][:LINES], first)

    def notes(self) -> Iterable[str]:
        """Yield what a person should know of the columns."""
        for (what, name), count in self.counts.items():
            lines, value = self.firsts[(what, name)]
            where = f"{count:,} {'row has' if count == 1 else 'rows have'}"
            more = ", ..." if count > len(lines) else ""
            on = f"{'line' if count == 1 else 'lines'} {', '.join(map(str, lines))}{more}"
            yield _TOLD[what].format(where=where, name=name, value=value, on=on, meant=_advise(name))


_OF_OTHERS = frozenset({"stop_sequences", "max_output_tokens", "reasoning"})  # names of routes of their own
_TOLD = {
    "twice": '{where} "{name}" twice with the same value, {value} ({on})',
    "data": '{where} a column "{name}" that looks like data, such as {value} ({on}), and is taken for an option; if it '
    "is data, OptionsInRows=sampling_params leaves all columns alone",
    "merged": '{where} "{name}", whose options are put beside the others, as the openai client does ({on})',
    "unsent": '{where} "{name}", an argument of a client, which is not sent ({on})',
    "idle": '{where} "{name}", which has no effect without use_beam_search; "n" asks for several answers ({on})',
    "unread": '{where} "{name}", which is no option and is not applied{meant} ({on})',
}


def _advise(name: str) -> str:
    meant = _meant(name.rpartition(".")[2])
    return f'; is "{meant}" meant?' if meant else "; options stand in sampling_params, or in the request itself"


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


def _judge(name: str, value: Any, fields: Mapping[str, Any]) -> str:
    """Return what a prompt row's column gives to think about, or ""."""
    if name == "best_of":
        return "" if fields.get("use_beam_search") else "idle"
    if looks_like_data(name, value):
        return "data"
    if name == "extra_body" and isinstance(value, dict):
        return "merged"
    unread = name not in OPTIONS and (name in _CLIENTS or name == "extra_headers" or _meant(name))
    return "unread" if unread else ""
