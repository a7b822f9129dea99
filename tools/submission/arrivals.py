"""Results as they arrive in a folder: those of shards that were not there at first, and how a terminal shows them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from host import runner
from results import shards
from results.record import Record
from results.shards import Shard, ShardError
from setup_env import say

SHOWN = 230  # characters of an answer: three lines of a terminal
FIRST = 3  # answers of a job that are shown
_INNER = ("content", "text", "message", "choices", "body", "response", "output", "result", "modelOutput", "data")


@dataclass(frozen=True, slots=True)
class Count:
    """How many lines have an answer, and how many failed."""

    succeeded: int = 0
    failed: int = 0

    @property
    def done(self) -> int:
        """Return how many lines were asked to their end."""
        return self.succeeded + self.failed


@dataclass
class Arrivals:
    """What has arrived in a folder of finished files since this was made; with `all_of_it`, all that is there."""

    output: Path
    all_of_it: bool = False
    _before: frozenset[str] = field(init=False)
    _counts: dict[Path, Count] = field(init=False, default_factory=dict)  # of finished shards, which change no more

    def __post_init__(self) -> None:
        self._before = frozenset(() if self.all_of_it else self._stems())

    def shards(self) -> Iterator[Shard]:
        """Yield each shard that was not there at first, those still written to included."""
        for stem, path in self._stems().items():
            if stem not in self._before:
                with contextlib.suppress(OSError, ShardError):
                    yield shards.open_shard(path)

    def records(self) -> list[Record]:
        """Return the results that arrived, by their lines."""
        found = [record for shard in self.shards() for record in shard.records()]
        return sorted(found, key=lambda record: int(record.head["line"]))

    def count(self) -> Count:
        """Count the results that arrived."""
        counts = list(map(self.count_shard, self.shards()))
        return Count(sum(each.succeeded for each in counts), sum(each.failed for each in counts))

    def count_shard(self, shard: Shard) -> Count:
        """Count the results of one of the shards."""
        if shard.path in self._counts:
            return self._counts[shard.path]
        found = Counter(glance.status for _, _, glance in shard.glances())
        count = Count(found["succeeded"], found["failed"])
        if shard.sound:
            self._counts[shard.path] = count
        return count

    def _stems(self) -> dict[str, Path]:
        """Return the shards there are, by the part of their names that they keep when they are finished."""
        return {_stem(path): path for path in sorted((self.output / "results").glob("*lines-*"))}


@dataclass
class FirstAnswers:
    """Shows the first answers that arrive, until as many as wanted have been; `field` is the OutputField."""

    arrivals: Arrivals
    field: str
    wanted: int = FIRST
    _shown: set[int] = dataclasses.field(default_factory=set)

    def show(self) -> None:
        """Show what is new and still wanted."""
        if len(self._shown) >= self.wanted:
            return
        for record in self.arrivals.records():
            if record.head["status"] == "succeeded" and record.head["line"] not in self._shown:
                self._shown.add(record.head["line"])
                say(describe(record, self.field))
                if len(self._shown) >= self.wanted:
                    return


def _stem(path: Path) -> str:
    return ".".join(path.name.removeprefix(".").split(".")[:3])  # after it a job's key, or what kind of file it is


def describe(record: Record, field: str) -> str:
    """Return a line that shows a result: its line and its answer, or why there is none."""
    place = f"  line {record.head['line']}: "
    try:
        row = json.loads(record.output) if record.output else {}
    except ValueError:
        row = {}
    if record.head["status"] == "failed":
        return place + runner.printable(f"FAILED ({record.head['code']}) {_find_text(row.get('error'))}", SHOWN)
    value = row.get(field) if isinstance(row, dict) else None
    text = value if isinstance(value, str) else json.dumps(value) if value is not None else _find_text(row)
    return place + runner.printable(text, SHOWN)


def _find_text(value: Any) -> str:
    """Return the first text of an answer in any API's form."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return next(filter(None, map(_find_text, value)), "")
    if isinstance(value, dict):
        return next(filter(None, (_find_text(value[name]) for name in _INNER if name in value)), "")
    return ""
