"""Batches as they are kept: one row each, whichever API it came by.

A batch goes validating > queued > submitting > running > finalizing > completed, failed, expired or cancelled. Every
change names the states from which it is one, so that two threads, or a thread and a client, cannot both make it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from batches.store import Store, draw_id

SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, face TEXT NOT NULL, state TEXT NOT NULL,
    created INTEGER NOT NULL, expires INTEGER NOT NULL, spec TEXT NOT NULL, model TEXT NOT NULL, job TEXT NOT NULL,
    total INTEGER NOT NULL, succeeded INTEGER NOT NULL, failed INTEGER NOT NULL,
    times TEXT NOT NULL, errors TEXT NOT NULL, results TEXT NOT NULL, why TEXT NOT NULL, mark TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS batches_face ON batches (face, seq);
CREATE INDEX IF NOT EXISTS batches_state ON batches (state);
CREATE INDEX IF NOT EXISTS batches_mark ON batches (mark);
"""
REPEAT_SECONDS = 30  # in which a create that says the same is the same create, sent again
RETRY_SECONDS = 600  # the same where the client itself says that it sends it again: its longest wait for an answer
KEY_SECONDS = 86_400  # the same where an idempotency key says so


class State(StrEnum):
    """How far a batch is."""

    VALIDATING = "validating"
    QUEUED = "queued"
    SUBMITTING = "submitting"
    RUNNING = "running"
    FINALIZING = "finalizing"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


WAITING = (State.VALIDATING, State.QUEUED)
ACTIVE = (*WAITING, State.SUBMITTING, State.RUNNING, State.FINALIZING)
ENDED = (State.COMPLETED, State.FAILED, State.EXPIRED, State.CANCELLED)


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch.

    spec: what the client said, as its face keeps it. model: the entry of the table of models, "" until it is known.
    job: by which its back-end knows the job, "" until it runs. times: when a state was reached, and `cancelling`.
    errors: of the input, as the APIs tell them. results: what its face made of the job's results. why: it failed.
    """

    id: str
    face: str
    state: State
    created: int
    expires: int
    spec: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    job: str = ""
    total: int = 0
    succeeded: int = 0
    failed: int = 0
    times: dict[str, int] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    seq: int = 0

    @property
    def is_ended(self) -> bool:
        """Tell whether nothing of it changes any more."""
        return self.state in ENDED

    @property
    def is_cancelling(self) -> bool:
        """Tell whether the client asked to cancel it."""
        return "cancelling" in self.times


_JSON = frozenset({"spec", "times", "errors", "results"})
_COLUMNS = tuple(each.name for each in fields(Batch))


@dataclass(frozen=True, slots=True)
class Repeat:
    """What tells a create from one that is sent again: a mark of what it says, and how old the first may be."""

    mark: str
    seconds: int

    @classmethod
    def read(cls, face: str, said: Any, headers: Mapping[str, str]) -> Repeat:
        """Return the mark of a create by what it says and its headers."""
        if key := headers.get("idempotency-key"):
            return cls(_digest([face, "key", key]), KEY_SECONDS)
        is_retry = headers.get("x-stainless-retry-count", "0") not in ("", "0")
        return cls(_digest([face, "said", said]), RETRY_SECONDS if is_retry else REPEAT_SECONDS)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Page:
    """Some batches in the order in which they are listed, and whether more follow."""

    batches: list[Batch]
    has_more: bool


class Batches:
    """All batches of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, batch: Batch, repeat: Repeat | None = None) -> tuple[Batch, bool]:
        """Keep a new batch; return it, or the earlier one that this create repeats, and whether it is new."""
        with self.store.change() as database:
            if repeat and (earlier := self._find_repeated(repeat, batch.created)):
                return earlier, False
            values = {name: _write(name, getattr(batch, name)) for name in _COLUMNS if name != "seq"}
            values["mark"] = repeat.mark if repeat else ""
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            database.execute(f"INSERT INTO batches ({names}) VALUES ({marks})", [*values.values()])  # noqa: S608 - own names
            return self.get(batch.id) or batch, True

    def _find_repeated(self, repeat: Repeat, now: int) -> Batch | None:
        sql = "SELECT * FROM batches WHERE mark = ? AND created >= ? ORDER BY seq DESC LIMIT 1"
        found = self.store.read(sql, (repeat.mark, now - repeat.seconds))
        return _read(found[0]) if found else None

    def get(self, name: str, face: str | None = None) -> Batch | None:
        """Return the batch of an id, None when there is none, or it is another face's."""
        found = self.store.read("SELECT * FROM batches WHERE id = ?", (name,))
        batch = _read(found[0]) if found else None
        return batch if batch and face in (None, batch.face) else None

    def active(self) -> list[Batch]:
        """Return the batches that have not ended, oldest first."""
        marks = ", ".join("?" * len(ACTIVE))
        sql = f"SELECT * FROM batches WHERE state IN ({marks}) ORDER BY seq"  # noqa: S608 - question marks alone
        return [_read(row) for row in self.store.read(sql, ACTIVE)]

    def page(self, face: str | None, limit: int, *, after: int | None = None, before: int | None = None) -> Page:
        """Return the newest batches of a face (None: of all), past the one of `seq` after, or those before `before`."""
        wanted, order = ("seq > ?", "ASC") if before is not None else ("seq < ?", "DESC")
        place = before if before is not None else after if after is not None else 1 << 62
        sql = f"SELECT * FROM batches WHERE {wanted} AND (? IS NULL OR face = ?) ORDER BY seq {order} LIMIT ?"  # noqa: S608
        found = [_read(row) for row in self.store.read(sql, (place, face, face, limit + 1))]
        kept = found[:limit]
        return Page(kept[::-1] if before is not None else kept, len(found) > limit)

    def change(self, name: str, since: tuple[State, ...], state: State | None = None, **values: Any) -> Batch | None:
        """Change a batch that is in one of the states; return it as it is then, or None where it is in none of them.

        A new state's time is noted with it.
        """
        with self.store.change() as database:
            batch = self.get(name)
            if batch is None or batch.state not in since:
                return None
            if state is not None and state != batch.state:
                values |= {"state": state, "times": {**batch.times, **values.get("times", {}), state: int(time.time())}}
            sets = ", ".join(f"{column} = ?" for column in values)
            written = [_write(column, value) for column, value in values.items()]
            database.execute(f"UPDATE batches SET {sets} WHERE id = ?", [*written, name])  # noqa: S608 - own names
            return self.get(name)

    def ask_to_cancel(self, name: str) -> Batch | None:
        """Note that a client wants a batch cancelled; return it, None where there is none. One that ended stays."""
        with self.store.change():
            batch = self.get(name)
            if batch is None or batch.is_ended or batch.is_cancelling:
                return batch
            return self.change(name, ACTIVE, times={**batch.times, "cancelling": int(time.time())})

    def delete(self, name: str) -> None:
        """Forget a batch."""
        with self.store.change() as database:
            database.execute("DELETE FROM batches WHERE id = ?", (name,))


def make_batch(face: str, prefix: str, spec: dict[str, Any], seconds: int, *, state: State = State.VALIDATING) -> Batch:
    """Return a new batch of a face, which expires after so many seconds."""
    now = int(time.time())
    return Batch(draw_id(prefix), face, state, now, now + seconds, spec)


def _write(name: str, value: Any) -> Any:
    return json.dumps(value) if name in _JSON else value


def _read(row: sqlite3.Row) -> Batch:
    values = {name: json.loads(row[name]) if name in _JSON else row[name] for name in _COLUMNS}
    return Batch(**{**values, "state": State(values["state"])})
