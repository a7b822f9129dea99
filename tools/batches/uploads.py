"""Uploads in parts, as OpenAI's API has them: parts are kept on the disk, and joined into a file at the end."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from batches.errors import ApiError, not_found
from batches.kept_files import KeptFile, KeptFiles
from batches.store import draw_id

SCHEMA = """
CREATE TABLE IF NOT EXISTS uploads (
    id TEXT PRIMARY KEY, filename TEXT NOT NULL, purpose TEXT NOT NULL, mime_type TEXT NOT NULL, bytes INTEGER NOT NULL,
    created INTEGER NOT NULL, status TEXT NOT NULL, keep INTEGER, file TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS parts (
    id TEXT PRIMARY KEY, upload TEXT NOT NULL, bytes INTEGER NOT NULL, created INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS parts_upload ON parts (upload);
"""
OPEN_SECONDS = 3600  # in which an upload must be completed
_COLUMNS = ("id", "filename", "purpose", "mime_type", "bytes", "created", "status", "keep", "file")
_BLOCK = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload: pending, completed into `file`, cancelled or expired. `keep`: how long its file is kept, or None."""

    id: str
    filename: str
    purpose: str
    mime_type: str
    bytes: int
    created: int
    status: str = "pending"
    keep: int | None = None
    file: str = ""

    def as_json(self, file: KeptFile | None = None) -> dict[str, Any]:
        """Return the API's object."""
        return {
            "id": self.id, "object": "upload", "bytes": self.bytes, "created_at": self.created,
            "expires_at": self.created + OPEN_SECONDS, "filename": self.filename, "purpose": self.purpose,
            "status": self.status, "file": file.as_json() if file else None,
        }  # fmt: skip


class Uploads:
    """All uploads, whose files end among `files`."""

    def __init__(self, files: KeptFiles) -> None:
        self._files, self._store = files, files.store
        self.folder = self._store.folder / "parts"
        self.folder.mkdir(exist_ok=True)

    def add(self, upload: Upload) -> Upload:
        """Keep a new upload."""
        marks = ", ".join("?" * len(_COLUMNS))
        with self._store.change() as database:
            values = [getattr(upload, name) for name in _COLUMNS]
            database.execute(f"INSERT INTO uploads ({', '.join(_COLUMNS)}) VALUES ({marks})", values)  # noqa: S608
        return upload

    def get(self, name: str) -> Upload:
        """Return an upload. Raises ApiError."""
        found = self._store.read("SELECT * FROM uploads WHERE id = ?", (name,))
        if not found:
            raise not_found("Upload", name)
        upload = _read(found[0])
        late = upload.status == "pending" and upload.created + OPEN_SECONDS < time.time()
        return replace(upload, status="expired") if late else upload

    def get_open(self, name: str) -> Upload:
        """Return an upload that takes parts. Raises ApiError."""
        upload = self.get(name)
        if upload.status != "pending":
            raise ApiError(400, f"Upload is {upload.status}", param="upload_id")
        return upload

    def add_part(self, upload: Upload, path: Path, size: int) -> dict[str, Any]:
        """Keep a part whose content lies at `path`; return the API's object."""
        now, name = int(time.time()), draw_id("part_")
        path.rename(self.folder / name)
        with self._store.change() as database:
            database.execute("INSERT INTO parts VALUES (?, ?, ?, ?)", (name, upload.id, size, now))
        return {"id": name, "object": "upload.part", "created_at": now, "upload_id": upload.id}

    def complete(self, upload: Upload, parts: Sequence[str], md5: str | None) -> dict[str, Any]:
        """Join parts, in the order in which they are named, into a file. Raises ApiError."""
        own = {row["id"] for row in self._store.read("SELECT id FROM parts WHERE upload = ?", (upload.id,))}
        if strange := next((name for name in parts if name not in own), None):
            raise ApiError(400, f"No such part: {strange[:80]}", param="part_ids")
        name, digest, size = draw_id("file-"), hashlib.md5(usedforsecurity=False), 0
        with self._files.path(name).open("wb") as whole:
            for part in parts:
                with (self.folder / part).open("rb") as content:
                    while block := content.read(_BLOCK):
                        size += whole.write(block)
                        digest.update(block)
        wrong = f"the parts are {size:,} bytes, not {upload.bytes:,}" if size != upload.bytes else ""
        if md5 and md5.lower() != digest.hexdigest():
            wrong = "the md5 is not that of the parts"
        if wrong:
            self._files.path(name).unlink()
            raise ApiError(400, wrong, param="md5" if md5 and size == upload.bytes else "part_ids")
        now = int(time.time())
        expires = now + upload.keep if upload.keep else None
        with self._store.change():
            file = self._files.add(KeptFile(name, upload.filename, upload.purpose, size, now, expires))
            self._end(upload, "completed", name)
        self._forget_parts(own)
        return replace(upload, status="completed", file=name).as_json(file)

    def cancel(self, upload: Upload) -> dict[str, Any]:
        """Give an upload up; return the API's object."""
        own = {row["id"] for row in self._store.read("SELECT id FROM parts WHERE upload = ?", (upload.id,))}
        self._end(upload, "cancelled", "")
        self._forget_parts(own)
        return replace(upload, status="cancelled").as_json()

    def _end(self, upload: Upload, status: str, file: str) -> None:
        with self._store.change() as database:
            database.execute("UPDATE uploads SET status = ?, file = ? WHERE id = ?", (status, file, upload.id))
            database.execute("DELETE FROM parts WHERE upload = ?", (upload.id,))

    def _forget_parts(self, names: set[str]) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)


def _read(row: sqlite3.Row) -> Upload:
    return Upload(**{name: row[name] for name in _COLUMNS})
