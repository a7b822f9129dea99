"""Large inputs, and the shards that workers would leave for them, written as the bundle itself writes them."""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from figures import SCRIPTS

sys.path.insert(0, str(SCRIPTS))

from results import shards
from results.partial import Writer
from results.record import Record

STEP = 997  # a prime: texts begin everywhere in the pool
MODEL = "benchmark"


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
            header = shards.Header(
                input_sha256=sha256, input_name=source.name, input_lines=count, lines=f"{first}-{last}",
                prompts=f"1-{count}", block_size=1, model=MODEL, job="benchmark",
                worker=f"worker-{first // rows_a_shard % 8}", created=began + first / 100,
            )  # fmt: skip
            with Writer(folder, header) as writer:
                for number in range(first, last + 1):
                    writer.add(_record(number, file.readline(), answer, began + number / 100))
                writer.finish(["load"])
    return sum(path.stat().st_size for path in folder.iterdir())


def _record(number: int, line: bytes, answer: int, started: float) -> Record:
    head = {
        "line": number, "status": "succeeded", "row": hashlib.sha256(line).hexdigest()[:16], "dialect": "prompt",
        "endpoint": "/v1/chat/completions", "attempts": 1, "finish": "stop", "in": 150, "out": 64,
        "started": round(started, 3), "seconds": 1.5 + number % 100 / 40,
    }  # fmt: skip
    results = {"finish_reason": "stop", "prompt_tokens": 150, "completion_tokens": 64}
    tail = json.dumps({"generated_text": text(number * 3, answer), **results})
    return Record(head, line.rstrip(b"}\n") + b", " + tail[1:].encode())
