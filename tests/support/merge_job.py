"""A job as aggregate.py finds it: an input and a folder of shards, and what becomes of each row."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aggregate
from dialects.line import RawLine
from engine.facts import Served
from engine.note import Load
from job import parameters
from results import shards
from results.partial import Writer
from results.record import Record, digest_row
from results.terms import Terms
from support.programs import outcome

INPUT = [
    b'{"id": 1, "prompt": "a"}',
    b'{"id": 2, "prompt": "b"}',
    b"",
    b'{"id": 4, "prompt": "d"}',
    b'{"id": 5, "prompt": "e"}',
]
TERMS = Terms.of(parameters.defaults())
SERVED = Served("m", frozenset({"/v1/chat/completions"}))
EARLY, LATE = 1_000_000.0, 2_000_000.0  # seconds since 1970


@dataclass
class Job:
    """An input, a folder of shards, and what aggregate.py makes of them."""

    folder: Path
    lines: list[bytes] = field(default_factory=lambda: list(INPUT))
    files: dict[str, list[bytes]] = field(default_factory=dict)  # lines of each input that a header was made for

    def __post_init__(self) -> None:
        self.input = self.folder / "input.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.input.write_bytes(b"".join(line + b"\n" for line in self.lines))
        self.output = self.folder / "output"
        self.results = self.output / "results"
        self.results.mkdir(parents=True)

    def header(
        self, prompts: str = "1-5", *, created: float = EARLY, worker: str = "w", path: Path | None = None
    ) -> shards.Header:
        """Return the header of a shard over the whole range."""
        content = (path or self.input).read_bytes()
        self.files[hashlib.sha256(content).hexdigest()] = content.split(b"\n")
        return shards.Header(
            input_sha256=hashlib.sha256(content).hexdigest(),
            input_name="input.jsonl",
            input_lines=content.count(b"\n"),
            lines=prompts,
            prompts=prompts,
            block_size=1,
            model="m",
            job="j",
            worker=worker,
            created=created,
            terms=TERMS,
            served=SERVED,
        )

    def shard(self, results: dict[int, str], header: shards.Header | None = None) -> Path:
        """Write a shard: line to answer, "!" and a code for a failure, "" for a blank line."""
        header = header or self.header()
        raws = self.files[header.input_sha256]
        with Writer(self.results, header) as writer:
            for line, result in results.items():
                raw = raws[line - 1] if line <= len(raws) else b""
                writer.add(record(line, result, header.created + line, raw))
            return writer.finish([Load(f"load-{header.worker}")])

    def merge(self, *more: str) -> int:
        """Run aggregate.py as a user does by hand."""
        return aggregate.main([f"--input-file={self.input}", f"--output-dir={self.folder}", *more])

    def outcomes(self) -> dict[int, str]:
        """Return what became of each row, by its id."""
        written = (json.loads(line) for line in (self.output / "output.jsonl").read_bytes().splitlines())
        return {row.get("id", row.get("line")): outcome(row) for row in written}

    def summary(self) -> dict[str, Any]:
        """Return summary.json."""
        found: dict[str, Any] = json.loads((self.output / "summary.json").read_bytes())
        return found

    def notes(self) -> str:
        """Return what was said about files left alone."""
        return "\n".join(self.summary()["notes"])

    def counts(self) -> list[int]:
        """Return requested, succeeded, failed, missing, blank and past_end."""
        return [self.summary()[name] for name in ("requested", "succeeded", "failed", "missing", "blank", "past_end")]


def record(line: int, result: str, started: float, raw: bytes = b"") -> Record:
    """Return a record of a raw line: an answer, a failure ("!code"), or a blank line ("")."""
    if not result:
        return Record({"line": line, "status": "blank"}, b"")
    asked = TERMS.find_question(RawLine(line, raw), SERVED)
    keys = {"row": digest_row(raw), **({"question": asked.name} if asked else {})} if raw else {}
    times = {"started": started, "seconds": 1.0}
    rest = {"attempts": 1, "added": 1, "dialect": "prompt", "endpoint": "/v1/chat/completions"}
    row: dict[str, Any] = {"id": line, **(json.loads(raw) if asked else {})}
    if result.startswith("!"):
        row["error"] = {"code": result[1:], "message": "m", "status": None, "attempts": 1}
        head = {"line": line, "status": "failed", **keys, "code": result[1:], **rest, **times}
        return Record(head, json.dumps(row).encode())
    row["generated_text"] = result
    head = {"line": line, "status": "succeeded", **keys, "in": 2, "out": 3, **rest, **times}
    return Record(head, json.dumps(row).encode())
