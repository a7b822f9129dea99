"""Reading single records of many shards, of which no more than some are open at once."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from results import shards
from results.chosen import Place
from results.record import Record, decode_record

OPEN_FILES = 256  # at most, and of those that this program may open no more than a share
_SHARE = 4
BUFFER = 1 << 16  # bytes read of a shard at a time


class Reader:
    """Reads records by their places. `paths` are the shards', by number."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self._files: dict[int, BinaryIO] = {}
        self._most = _find_most()

    def read(self, place: Place) -> Record | None:
        """Return the record at a place, or None for one that no worker wrote."""
        number, offset, length = place
        file = self._open(number)
        file.seek(offset)  # records that follow each other lie in one buffer, so that this costs no call
        try:
            return decode_record(file.read(length))
        except (ValueError, RecursionError):  # the shard is whole, but this is none
            return None

    def _open(self, number: int) -> BinaryIO:
        if number not in self._files:
            if len(self._files) >= self._most:
                self._files.pop(next(iter(self._files))).close()
            self._files[number] = shards.open_file(self.paths[number], BUFFER)
        return self._files[number]

    def close(self) -> None:
        """Close the shards."""
        while self._files:
            self._files.popitem()[1].close()


def _find_most() -> int:
    """Return how many shards to keep open."""
    try:
        import resource
    except ImportError:  # Windows, which allows 512
        return OPEN_FILES // _SHARE
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)  # 256 is the preset of a Mac; negative: without end
    return max(1, min(OPEN_FILES, allowed // _SHARE)) if allowed >= 0 else OPEN_FILES
