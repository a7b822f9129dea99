"""The data of results.html: rows in small compressed blocks, as text that nothing in a row can act on.

A block is a zlib stream of `one line of JSON (the columns), a newline, the rows' bytes one after another`. The stream
goes into the page as text of 7 bits a character (1.17 bytes a byte, where base64 takes 1.33). Three of the characters
would not survive an HTML parser (NUL, carriage return, `<`), so Latin letters stand for them. No letter of a row is
readable there: markup, a closing script tag or a line separator in an answer is data and stays data.

Blocks are spooled to a temporary file while the rows stream by. They are compressed on a thread of their own (zlib runs
without the interpreter's lock), so that reading rows goes on; memory holds a few blocks.
"""

from __future__ import annotations

import json
import math
import tempfile
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

ROWS_A_BLOCK = 1_000
BYTES_A_BLOCK = 1 << 20  # of rows; what a browser unpacks to show one row
AHEAD = 3  # blocks being compressed while further rows come
LEVEL = 5  # zlib: 6 gains 5 % and takes twice as long
SUBSTITUTES = {b"\0": "À".encode(), b"\r": "Á".encode(), b"<": "Â".encode()}


@dataclass(frozen=True, slots=True)
class PageRow:
    """One requested line as the page gets it; `output` and `input` are bytes of JSON without a newline."""

    line: int
    status: str  # succeeded, failed or missing
    dialect: str  # prompt, openai, anthropic, runpod, bedrock or none
    endpoint: str
    output: bytes
    input: bytes  # the input line where the output lacks it, and of failed rows; b"" otherwise
    started: float | None  # seconds since 1970
    seconds: float | None
    attempts: int
    worker: str
    sent: bytes = b""  # JSON of the prompt or the messages that a template made of the row

    @property
    def size(self) -> int:
        """Return the bytes of the row."""
        return len(self.output) + len(self.input) + len(self.sent)


@dataclass(frozen=True, slots=True)
class Block:
    """Where a finished block lies in the spool."""

    first: int
    rows: int
    raw: int  # bytes of rows
    offset: int = 0
    size: int = 0


# Character n of a group takes the upper 7-n bits of byte n and, above them, the lower n bits of byte n-1.
_HIGH = [bytes(b >> n for b in range(256)) for n in range(8)]
_LOW = [bytes(((b & ((1 << n) - 1)) << (7 - n)) & 0x7F for b in range(256)) for n in range(8)]


def to_text(data: bytes) -> bytes:
    """Return `data` as UTF-8 of 7 bits a character; its first byte says how many zero bytes fill up the last group.

    Seven bytes become eight characters. The work is done on whole columns (every 7th byte), so no Python loop runs over
    the bytes.
    """
    padding = -(len(data) + 1) % 7
    data = bytes([padding]) + data + bytes(padding)
    columns = [data[n::7] for n in range(7)]
    out = bytearray(len(data) // 7 * 8)
    for n in range(8):
        high = columns[n].translate(_HIGH[n + 1]) if n < 7 else bytes(len(columns[0]))
        low = columns[n - 1].translate(_LOW[n]) if n else bytes(len(columns[0]))
        out[n::8] = _either(high, low)
    text = bytes(out)
    for raw, letter in SUBSTITUTES.items():
        text = text.replace(raw, letter)
    return text


def _either(one: bytes, other: bytes) -> bytes:
    """Return the bitwise or of two byte strings of one length."""
    return (int.from_bytes(one, "big") | int.from_bytes(other, "big")).to_bytes(len(one), "big")


class Spool:
    """Collects rows into blocks and writes them to a temporary file below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - close() closes it
        self._compressor = ThreadPoolExecutor(1, thread_name_prefix="page-blocks")
        self._compressing: deque[tuple[Block, Future[bytes]]] = deque()
        self._pending: list[PageRow] = []
        self._pending_bytes = 0
        self.blocks: list[Block] = []
        self.rows = 0
        self.raw = 0

    def add(self, row: PageRow) -> None:
        """Take one row; a full block is compressed and spooled."""
        self._pending.append(row)
        self._pending_bytes += row.size
        self.rows += 1
        self.raw += row.size
        if len(self._pending) >= ROWS_A_BLOCK or self._pending_bytes >= BYTES_A_BLOCK:
            self._compress()

    def flush(self) -> None:
        """Write the rows collected so far."""
        if self._pending:
            self._compress()
        while self._compressing:
            self._write_oldest()

    def _compress(self) -> None:
        """Hand the collected rows to the compressor; wait where it is behind."""
        block = Block(first=self._pending[0].line, rows=len(self._pending), raw=self._pending_bytes)
        self._compressing.append((block, self._compressor.submit(_compress_rows, self._pending)))
        self._pending, self._pending_bytes = [], 0
        if len(self._compressing) > AHEAD:
            self._write_oldest()

    def _write_oldest(self) -> None:
        block, text = self._compressing.popleft()
        self.blocks.append(replace(block, offset=self._file.tell(), size=self._file.write(text.result())))

    def drop_last(self) -> None:
        """Forget the newest block."""
        block = self.blocks.pop()
        self.rows -= block.rows
        self.raw -= block.raw

    def read(self, block: Block) -> bytes:
        """Return the text of a block."""
        self._file.seek(block.offset)
        return self._file.read(block.size)

    def close(self) -> None:
        """Delete the temporary file."""
        self._compressor.shutdown(cancel_futures=True)
        self._file.close()


def _compress_rows(rows: list[PageRow]) -> bytes:
    """Return a finished block's text."""
    return to_text(zlib.compress(pack(rows), LEVEL))


def pack(rows: list[PageRow]) -> bytes:
    """Return one block's bytes: the columns as a line of JSON, then each row's output, input and what was sent."""
    columns = {
        "line": [row.line for row in rows],
        "status": [row.status for row in rows],
        "dialect": [row.dialect for row in rows],
        "endpoint": [row.endpoint for row in rows],
        "output": [len(row.output) for row in rows],
        "input": [len(row.input) for row in rows],
        "sent": [len(row.sent) for row in rows],
        "started": [_round(row.started) for row in rows],
        "seconds": [_round(row.seconds) for row in rows],
        "attempts": [row.attempts for row in rows],
        "worker": [row.worker for row in rows],
    }
    head = json.dumps(columns, separators=(",", ":")).encode("ascii", "replace")
    return b"\n".join([head, b"".join(_bytes(rows))])


def _round(value: float | None) -> float | None:
    """Return a time to the millisecond; JSON has no word for infinity."""
    return None if value is None or not math.isfinite(value) else round(value, 3)


def _bytes(rows: list[PageRow]) -> Iterator[bytes]:
    for row in rows:
        yield row.output
        yield row.input
        yield row.sent
