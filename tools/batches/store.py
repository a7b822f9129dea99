"""The one database of the program: SQLite, with a write-ahead log, in the data folder.

A change of state is one transaction, and what it promises is on the disk when it returns: a program killed at any
moment finds after its restart either all of a change or nothing of it. Contents of any size lie in files beside it.
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

BUSY_SECONDS = 30.0  # for another program, such as a backup, to let the database go


class Store:
    """The database in a folder, for all threads of the program; `schema` of those that keep something in it."""

    def __init__(self, folder: Path, *schemas: str) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = folder
        self._lock = threading.RLock()
        self._database = sqlite3.connect(
            folder / "batches.sqlite", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._database.row_factory = sqlite3.Row
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        for schema in schemas:
            self._database.executescript(schema)

    @contextlib.contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Give the database for one transaction, which is kept when the block ends well; blocks may be nested."""
        with self._lock:
            if self._database.in_transaction:
                yield self._database
                return
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        with self._lock:
            return self._database.execute(sql, values).fetchall()

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()


def draw_id(prefix: str) -> str:
    """Return an id that nobody can guess."""
    return prefix + secrets.token_hex(16)
