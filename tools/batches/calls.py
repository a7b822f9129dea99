"""Single calls as they are kept: each a row of the database, and a line of a batch once it is gathered.

A call is asked by exactly one of two: a batch, which it is bound to, or a running engine at once (`live`). A program
that was killed finds the second kind again and gathers them as it does all others.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from batches.runpod_shapes import Job, State, Wanted
from batches.store import Store, draw_id

SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, endpoint TEXT NOT NULL, state TEXT NOT NULL,
    given TEXT NOT NULL, created REAL NOT NULL, started REAL NOT NULL DEFAULT 0, ended REAL NOT NULL DEFAULT 0,
    expires REAL NOT NULL, execution REAL NOT NULL, batch TEXT NOT NULL DEFAULT '', live INTEGER NOT NULL DEFAULT 0,
    output TEXT NOT NULL DEFAULT '', error TEXT NOT NULL DEFAULT '', retries INTEGER NOT NULL DEFAULT 0,
    webhook TEXT NOT NULL, due REAL NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0,
    read INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS calls_waiting ON calls (endpoint, seq) WHERE state = 'IN_QUEUE' AND batch = '';
CREATE INDEX IF NOT EXISTS calls_batch ON calls (batch);
CREATE INDEX IF NOT EXISTS calls_due ON calls (due) WHERE due > 0;
"""
_OPEN = "state NOT IN ('COMPLETED', 'FAILED', 'TIMED_OUT', 'CANCELLED')"
_WAITING = "state = 'IN_QUEUE' AND batch = '' AND live = 0"
KEEP_SECONDS = 7 * 86_400.0  # that an ended call's answer can be fetched


@dataclass(frozen=True, slots=True)
class Queue:
    """The calls of an endpoint that nobody asks yet: how many, and when the first and the last of them came."""

    endpoint: str
    calls: int
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that waits: what it asks, and until when."""

    id: str
    given: dict[str, Any]
    expires: float


@dataclass(frozen=True, slots=True)
class Notice:
    """What a client wants to be told of by a POST: the job, where to, and how often that was tried."""

    job: Job
    address: str
    tries: int


class Calls:
    """All calls of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, endpoint: str, wanted: Wanted, *, live: bool = False) -> Job:
        """Keep a new call. Another asks it at once where it is `live`."""
        now = time.time()
        job = Job(draw_id(""), endpoint, State.RUNNING if live else State.QUEUED, now, now if live else 0.0)
        values = {
            "id": job.id, "endpoint": endpoint, "state": job.state, "given": json.dumps(wanted.given), "created": now,
            "started": job.started, "expires": now + wanted.ttl, "execution": wanted.execution, "live": int(live),
            "webhook": wanted.webhook,
        }  # fmt: skip
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        with self.store.change() as database:
            database.execute(f"INSERT INTO calls ({names}) VALUES ({marks})", [*values.values()])  # noqa: S608 - own names
        return job

    def find(self, endpoint: str, name: str) -> Job | None:
        """Return a call of an endpoint."""
        found = self.store.read("SELECT * FROM calls WHERE id = ? AND endpoint = ?", (name, endpoint))
        return _read(found[0]) if found else None

    def queues(self) -> list[Queue]:
        """Return what waits to be gathered, by endpoint."""
        sql = f"""SELECT endpoint, COUNT(*) AS calls, MIN(created) AS first, MAX(created) AS last
            FROM calls WHERE {_WAITING} GROUP BY endpoint"""  # noqa: S608 - the module's own words
        return [Queue(row["endpoint"], row["calls"], row["first"], row["last"]) for row in self.store.read(sql)]

    def take(self, endpoint: str, most: int, most_bytes: int) -> list[Waiting]:
        """Return the oldest calls that wait, as many as a job takes; at least one where there is one."""
        sql = f"SELECT id, given, expires FROM calls WHERE endpoint = ? AND {_WAITING} ORDER BY seq LIMIT ?"  # noqa: S608
        taken, size = list[Waiting](), 0
        for row in self.store.read(sql, (endpoint, most)):
            size += len(row["given"])
            if taken and size > most_bytes:
                break
            taken.append(Waiting(row["id"], json.loads(row["given"]), row["expires"]))
        return taken

    def bind(self, names: Iterable[str], batch: str) -> int:
        """Bind calls that wait to a batch; return how many still waited."""
        sql = f"UPDATE calls SET batch = ? WHERE id = ? AND {_WAITING}"  # noqa: S608
        with self.store.change() as database:
            return sum(database.execute(sql, (batch, name)).rowcount for name in names)

    def start(self, batch: str) -> None:
        """Note that a batch's job runs."""
        with self.store.change() as database:
            sql = "UPDATE calls SET state = ?, started = ? WHERE batch = ? AND state = ?"
            database.execute(sql, (State.RUNNING, time.time(), batch, State.QUEUED))

    def settle(self, results: Sequence[tuple[str, State, str, str]]) -> None:
        """Note how calls ended, (id, state, output, error) each; one that had ended stays."""
        now = time.time()
        sql = f"""UPDATE calls SET state = ?, output = ?, error = ?, ended = ?, live = 0,
            started = CASE WHEN started THEN started ELSE ? END, due = CASE WHEN webhook = '' THEN 0 ELSE ? END
            WHERE id = ? AND {_OPEN}"""  # noqa: S608 - the module's own words
        with self.store.change() as database:
            database.executemany(
                sql, [(state, output, error, now, now, now, name) for name, state, output, error in results]
            )

    def settle_rest(self, batch: str, state: State, error: str) -> None:
        """Note how those calls of a batch ended that have no result."""
        sql = f"SELECT id FROM calls WHERE batch = ? AND {_OPEN}"  # noqa: S608
        self.settle([(row["id"], state, "", error) for row in self.store.read(sql, (batch,))])

    def cancel(self, endpoint: str, name: str) -> Job | None:
        """Cancel a call that has not ended; return it as it is then, None where there is none."""
        job = self.find(endpoint, name)
        if job and not job.state.is_final:
            self.settle([(name, State.CANCELLED, "", "")])
        return self.find(endpoint, name)

    def find_idle_batch(self, name: str) -> str:
        """Return the batch of a call where all its calls have ended, "" where one has not."""
        sql = f"""SELECT batch FROM calls WHERE id = ? AND batch != ''
            AND NOT EXISTS (SELECT 1 FROM calls AS other WHERE other.batch = calls.batch AND {_OPEN})"""  # noqa: S608
        found = self.store.read(sql, (name,))
        return str(found[0]["batch"]) if found else ""

    def retry(self, endpoint: str, name: str) -> Job | None:
        """Put a call that failed or ran out of time into the queue again; None where that cannot be."""
        sql = """UPDATE calls SET state = 'IN_QUEUE', batch = '', started = 0, ended = 0, output = '', error = '',
            read = 0, retries = retries + 1, expires = ? + (expires - created), created = ?, due = 0, tries = 0
            WHERE id = ? AND endpoint = ? AND state IN ('FAILED', 'TIMED_OUT')"""
        now = time.time()
        with self.store.change() as database:
            if not database.execute(sql, (now, now, name, endpoint)).rowcount:
                return None
        return self.find(endpoint, name)

    def hand_out(self, name: str) -> bool:
        """Note that a stream's reader has a call's output; tell whether it is the first time."""
        with self.store.change() as database:
            return database.execute("UPDATE calls SET read = 1 WHERE id = ? AND read = 0", (name,)).rowcount > 0

    def purge(self, endpoint: str) -> int:
        """Take what waits out of an endpoint's queue; return how many calls that were."""
        sql = f"UPDATE calls SET state = 'CANCELLED', ended = ? WHERE endpoint = ? AND {_WAITING}"  # noqa: S608
        with self.store.change() as database:
            return database.execute(sql, (time.time(), endpoint)).rowcount

    def count(self, endpoint: str) -> dict[State, int]:
        """Return how many calls of an endpoint are in each state."""
        sql = "SELECT state, COUNT(*) AS calls FROM calls WHERE endpoint = ? GROUP BY state"
        found = {State(row["state"]): int(row["calls"]) for row in self.store.read(sql, (endpoint,))}
        return {state: found.get(state, 0) for state in State}

    def count_retries(self, endpoint: str) -> int:
        """Return how often calls of an endpoint were asked again."""
        sql = "SELECT COALESCE(SUM(retries), 0) AS retries FROM calls WHERE endpoint = ?"
        return int(self.store.read(sql, (endpoint,))[0]["retries"])

    def recover(self) -> None:
        """Put the calls that were asked at once when the program ended into the queue; call once, at its start."""
        with self.store.change() as database:
            database.execute(f"UPDATE calls SET state = 'IN_QUEUE', started = 0, live = 0 WHERE live = 1 AND {_OPEN}")  # noqa: S608

    def expire(self) -> None:
        """End what waited for longer than it may, and forget what ended long ago."""
        now = time.time()
        late = self.store.read(f"SELECT id FROM calls WHERE {_WAITING} AND expires < ?", (now,))  # noqa: S608
        self.settle(
            [(row["id"], State.TIMED_OUT, "", "it waited in the queue for longer than its ttl") for row in late]
        )
        with self.store.change() as database:
            database.execute(
                f"DELETE FROM calls WHERE ended > 0 AND ended < ? AND NOT ({_OPEN}) AND due = 0",  # noqa: S608
                (now - KEEP_SECONDS,),
            )

    def notices(self, most: int = 100) -> list[Notice]:
        """Return what clients are to be told of now."""
        sql = "SELECT * FROM calls WHERE due > 0 AND due <= ? ORDER BY due LIMIT ?"
        return [Notice(_read(row), row["webhook"], row["tries"]) for row in self.store.read(sql, (time.time(), most))]

    def note_told(self, name: str, again: float | None) -> None:
        """Note that a client was told of a call, or when that is tried `again`, in seconds from now."""
        due = 0.0 if again is None else time.time() + again
        with self.store.change() as database:
            database.execute("UPDATE calls SET due = ?, tries = tries + 1 WHERE id = ?", (due, name))


def _read(row: sqlite3.Row) -> Job:
    names: tuple[Any, ...] = ("id", "endpoint", "created", "started", "ended", "output", "error", "retries", "batch")
    return Job(state=State(row["state"]), **{name: row[name] for name in names})
