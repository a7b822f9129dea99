"""One line's result as a shard holds it: a head, which programs read, and the line for output.jsonl.

A record is dropped only where its line or its status cannot be read: a figure that cannot be, such as negative seconds
of a clock that was set back, is left out, and the answer beside it stays.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

NO_KEY = 0
COUNT_LIMIT = 1e11  # seconds or tokens; more is no count
_OUTPUT = b',"output":'  # cannot stand inside the record's head: there, quotes inside strings are escaped
_TEXTS = {"succeeded": ("dialect",), "failed": ("dialect", "code"), "blank": ()}  # what a head must have
_FIGURES = ("started", "seconds", "in", "cached", "out", "attempts")  # what it may have
_KEY = re.compile("[0-9a-f]{16}")
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
_parse = json.JSONDecoder().raw_decode
_GLANCE = re.compile(  # a head as `Record.encoded` writes it, its times last
    rb'\{"line":([0-9]{1,18}),"status":"([a-z]++)"(?:,"row":"([0-9a-f]{16})")?+(?:,"question":"([0-9a-f]{16})[0-9a-f]*+")?+(?:,"repeats":(1))?+'
    rb'(?:,"(?!started"|seconds"|row"|question"|repeats")[a-z_]++":(?:"[^"\\]*+"|[0-9.]++))*+'
    rb'(?:,"started":([0-9]{1,11}\.[0-9]++),"seconds":([0-9]{1,11}\.[0-9]++))?+(?:,"output":|\}\n)'
)


@dataclass(frozen=True, slots=True)
class Record:
    """One line's result. `head` is what a program needs to know, `output` the line for output.jsonl, as UTF-8."""

    head: dict[str, Any]
    output: bytes

    def encode(self) -> bytes:
        """Return the record's line, with its line feed."""
        head = _encode(self.head).encode()
        return head[:-1] + (_OUTPUT + self.output if self.output else b"") + b"}\n"


def keep_input(record: Record, raw: bytes) -> Record:
    """Return the record with its line of the input, for a merge that cannot read the input any more."""
    return Record({**record.head, "input": base64.b64encode(raw).decode()}, record.output)


def find_kept_input(record: Record) -> bytes | None:
    """Return the line of the input that a record carries, or None where it carries none."""
    try:
        return base64.b64decode(record.head["input"], validate=True)
    except (KeyError, TypeError, ValueError):
        return None


class Glance(NamedTuple):
    """What decides between two results of a line: `started` (since 1970) and `seconds` are None where it has none.

    `row` and `question` are the beginnings of these digests as numbers, NO_KEY where the record has none.
    `repeats` says that whoever asks the question again gets the same answer.
    """

    line: int
    status: str
    started: float | None
    seconds: float | None
    row: int
    question: int
    repeats: bool


def decode_record(line: bytes) -> Record:
    """Return the record of a line that `encoded` made. Raises ValueError for a line that is torn or no record."""
    if not line.endswith(b"}\n"):
        raise ValueError("torn")
    before, found, output = line.partition(_OUTPUT)
    text = before.decode("ascii") + "}" if found else line[:-1].decode("ascii")
    head, end = _parse(text)  # half the time of json.loads, which looks for encodings and white space first
    if end != len(text):
        raise ValueError("torn")
    _check(head)
    return Record(head, output[:-2])


def _check(head: Any) -> None:
    """Raise ValueError for a head that lacks what the merge reads; leave out a figure that cannot be."""
    if not isinstance(head, dict) or type(head.get("line")) is not int:
        raise ValueError("no record")
    for name in _TEXTS.get(str(head.get("status")), ("",)):
        if type(head.get(name)) is not str:
            raise ValueError("no record")
    try:  # each by name, since this runs for every row of a job
        get = head.get
        sound = 0 <= get("started", 0) < COUNT_LIMIT and 0 <= get("seconds", 0) < COUNT_LIMIT
        sound = sound and 0 <= get("in", 0) < COUNT_LIMIT and 0 <= get("out", 0) < COUNT_LIMIT
        sound = sound and 0 <= get("attempts", 0) < COUNT_LIMIT and 0 <= get("cached", 0) < COUNT_LIMIT
    except TypeError:
        sound = False
    if not sound:
        for name in _FIGURES:
            if not isinstance(head.get(name, 0), int | float) or not 0 <= head.get(name, 0) < COUNT_LIMIT:
                del head[name]


def glance(line: bytes) -> Glance:
    """Return what a record's line says first, in half the time of `decoded`. Raises ValueError as that does."""
    if (found := _GLANCE.match(line)) and (status := found[2].decode()) in _TEXTS:
        row, question, started, seconds = found[3], found[4], found[6], found[7]
        return Glance(
            int(found[1]),
            status,
            float(started) if started else None,
            float(seconds) if seconds else None,
            int(row, 16) if row else NO_KEY,
            int(question, 16) if question else NO_KEY,
            found[5] is not None,
        )
    head = decode_record(line).head
    keys = read_key(head.get("row")), read_key(head.get("question"))
    times = head.get("started"), head.get("seconds")
    return Glance(head["line"], head["status"], *times, *keys, head.get("repeats") == 1)


def read_key(digest: object) -> int:
    """Return the beginning of a digest as a number, by which records are looked up."""
    found = _KEY.match(digest) if isinstance(digest, str) else None
    return int(found[0], 16) if found else NO_KEY


def digest_row(raw: bytes) -> str:
    """Return the short digest of a line's bytes, by which a result can be traced to its row."""
    return hashlib.sha256(raw).hexdigest()[:16]
