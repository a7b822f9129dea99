"""Files that clients uploaded, and those made of results: a row each, the content under a name of the store's own."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from batches.store import Store

SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, filename TEXT NOT NULL, purpose TEXT NOT NULL,
    bytes INTEGER NOT NULL, created INTEGER NOT NULL, expires INTEGER
);
"""
OLD_SECONDS = 86_400  # of a content that has no row: no upload takes so long, and none goes on after a restart


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file; `expires` None keeps it until it is deleted."""

    id: str
    filename: str
    purpose: str
    bytes: int
    created: int
    expires: int | None = None
    seq: int = 0

    def as_json(self) -> dict[str, object]:
        """Return the File object of OpenAI's API."""
        return {
            "id": self.id, "object": "file", "bytes": self.bytes, "created_at": self.created, "filename": self.filename,
            "purpose": self.purpose, "status": "processed", "status_details": None, "expires_at": self.expires,
        }  # fmt: skip


class KeptFiles:
    """All files of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.folder = store.folder / "files"
        self.folder.mkdir(exist_ok=True)

    def path(self, name: str) -> Path:
        """Return where the content of an id lies, or is to lie."""
        return self.folder / name

    def add(self, file: KeptFile) -> KeptFile:
        """Keep a file whose content is in place."""
        values = (file.id, file.filename, file.purpose, file.bytes, file.created, file.expires)
        sql = "INSERT INTO files (id, filename, purpose, bytes, created, expires) VALUES (?, ?, ?, ?, ?, ?)"
        with self.store.change() as database:
            database.execute(sql, values)
        return file

    def get(self, name: str) -> KeptFile | None:
        """Return the file of an id, None where there is none, or no more."""
        found = self.store.read("SELECT * FROM files WHERE id = ?", (name,))
        file = _read(found[0]) if found else None
        return file if file and (file.expires is None or file.expires > time.time()) else None

    def page(self, limit: int, *, after: int | None, newest_first: bool, purpose: str | None) -> list[KeptFile]:
        """Return up to `limit` files past the one of `seq` after."""
        wanted, order = ("seq < ?", "DESC") if newest_first else ("seq > ?", "ASC")
        place = after if after is not None else 1 << 62 if newest_first else 0
        sql = f"""SELECT * FROM files WHERE {wanted} AND (? IS NULL OR purpose = ?) AND (expires IS NULL OR expires > ?)
            ORDER BY seq {order} LIMIT ?"""  # noqa: S608 - own words
        return [_read(row) for row in self.store.read(sql, (place, purpose, purpose, int(time.time()), limit))]

    def delete(self, name: str) -> bool:
        """Delete a file; return whether there was one."""
        with self.store.change() as database:
            is_there = database.execute("DELETE FROM files WHERE id = ?", (name,)).rowcount > 0
        if is_there:
            self.path(name).unlink(missing_ok=True)
        return is_there

    def sweep(self) -> None:
        """Delete what has expired, and contents that a killed program left without a row."""
        now = time.time()
        for row in self.store.read("SELECT id FROM files WHERE expires IS NOT NULL AND expires <= ?", (int(now),)):
            self.delete(row["id"])
        known = {row["id"] for row in self.store.read("SELECT id FROM files")}
        for path in self.folder.iterdir():
            if path.name not in known and path.stat().st_mtime < now - OLD_SECONDS:
                path.unlink(missing_ok=True)


def _read(row: sqlite3.Row) -> KeptFile:
    names = ("id", "filename", "purpose", "bytes", "created", "expires", "seq")
    return KeptFile(**{name: row[name] for name in names})
