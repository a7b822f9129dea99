"""What a page holds: its blocks unpacked, as a browser does it."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path

LETTERS = {"À": 0, "Á": 13, "Â": 60}
PARTS = ("output", "input", "sent")


def from_text(text: str) -> bytes:
    """Undo to_text, bit by bit."""
    bits = "".join(f"{LETTERS.get(letter, ord(letter)):07b}" for letter in text)
    data = int(bits, 2).to_bytes(len(bits) // 8, "big")
    return data[1 : len(data) - data[0]]


def rows_of(path: Path) -> dict[int, tuple[bytes, ...]]:
    """Return {line: (output, input, sent)} of the rows that a page holds."""
    found: dict[int, tuple[bytes, ...]] = {}
    for text in re.findall(r'class="block">([^<]*)</script>', path.read_text(encoding="utf-8")):
        head, _, body = zlib.decompress(from_text(text)).partition(b"\n")
        columns = json.loads(head)
        for line, *sizes in zip(columns["line"], *(columns[part] for part in PARTS), strict=True):
            parts = []
            for size in sizes:
                parts.append(body[:size])
                body = body[size:]
            found[line] = tuple(parts)
    return found
