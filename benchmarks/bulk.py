"""Large inputs, and the shards that workers would leave for them, written as the bundle itself writes them."""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from figures import SCRIPTS

sys.path.insert(0, str(SCRIPTS))

from engine.facts import Served
from engine.note import Load
from job import parameters
from results import shards
from results.partial import Writer
from results.record import Record, digest_row
from results.terms import Terms
from rows import ranges
from rows.ranges import Lines

STEP = 997  # a prime: texts begin everywhere in the pool
MODEL = "benchmark"
TERMS = Terms.of({**parameters.defaults(), "ModelName": MODEL})
SERVED = Served(MODEL, frozenset({"/v1/chat/completions"}), tokens=4096, names=frozenset({MODEL}), alone=True)


def _pool(size: int) -> str:
    """Return text of `size` characters that compresses about as prose does."""
    generator = random.Random(7)  # noqa: S311 - the same file every time
    letters = "etaoinshrdlucmfwygpbvk"
    words = ["".join(generator.choices(letters, k=generator.randint(2, 9))) for _ in range(3000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    return " ".join(generator.choices(words, weights, k=size // 3))[:size]


POOL = _pool(1 << 20)


def text(number: int, length: int) -> str:
    """Return the text that stands for a number."""
    start = number * STEP % (len(POOL) - length)
    return POOL[start : start + length]


def lines(count: int, size: int) -> Iterator[bytes]:
    """Yield prompt rows of `size` bytes each, line feed included."""
    for number in range(1, count + 1):
        head = f'{{"id": {number:09d}0, "prompt": "'.replace(": 0", ": 1", 1)
        yield f'{head}{text(number, size - len(head) - 3)}"}}\n'.encode()


def write_input(path: Path, count: int, size: int) -> str:
    """Write a file of `count` rows and return its SHA-256."""
    digest = hashlib.sha256()
    with path.open("wb", buffering=1 << 20) as file:
        for line in lines(count, size):
            digest.update(line)
            file.write(line)
    return digest.hexdigest()


def write_shards(folder: Path, source: Path, sha256: str, count: int, rows_a_shard: int, answer: int) -> int:
    """Write the shards of a finished job over `source`; return their bytes. `answer` is the length of an answer."""
    began = time.time() - count / 100
    with source.open("rb") as file:
        for first in range(1, count + 1, rows_a_shard):
            last = min(first + rows_a_shard - 1, count)
            rows = ((number, file.readline()) for number in range(first, last + 1))
            header = _header(source, sha256, count, f"{first}-{last}", began + first / 100)
            _write_shard(folder, header, rows, answer)
    return sum(path.stat().st_size for path in folder.iterdir())


def write_rest(folder: Path, source: Path, sha256: str, count: int, lines: str, answer: int) -> None:
    """Write the shard of a job over some lines of `source`, a range."""
    wanted = set(Lines(ranges.parse(lines)))
    with source.open("rb") as file:
        rows = ((number, line) for number, line in enumerate(file, 1) if number in wanted)
        _write_shard(folder, _header(source, sha256, count, lines, time.time()), rows, answer)


def _header(source: Path, sha256: str, count: int, lines: str, created: float) -> shards.Header:
    return shards.Header(
        input_sha256=sha256, input_name=source.name, input_lines=count, lines=lines, prompts=f"1-{count}",
        block_size=1, model=MODEL, job="benchmark", worker=f"worker-{int(created) % 8}", created=created,
        terms=TERMS, served=SERVED,
    )  # fmt: skip


def _write_shard(folder: Path, header: shards.Header, rows: Iterable[tuple[int, bytes]], answer: int) -> None:
    with Writer(folder, header) as writer:
        for place, (number, line) in enumerate(rows):
            writer.add(_record(number, line, answer, header.created + place / 100))
        writer.finish([Load("load")])


def _record(number: int, line: bytes, answer: int, started: float) -> Record:
    row = line.rstrip(b"\n")
    question = hashlib.sha256(row).hexdigest()[:32]  # a name like a question's; the lines' own would take a minute
    head = {
        "line": number, "status": "succeeded", "row": digest_row(row), "question": question, "dialect": "prompt",
        "endpoint": "/v1/chat/completions", "attempts": 1, "added": 4, "finish": "stop", "in": 150, "out": 64,
        "started": round(started, 3), "seconds": 1.5 + number % 100 / 40,
    }  # fmt: skip
    results = {"finish_reason": "stop", "prompt_tokens": 150, "completion_tokens": 64}
    tail = json.dumps({"generated_text": text(number * 3, answer), **results})
    return Record(head, line.rstrip(b"}\n") + b", " + tail[1:].encode())
