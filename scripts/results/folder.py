"""The shards in a folder, and what is to be said of the files that are none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from results import shards, usage
from results.retry import NOTE_NAME
from results.shards import Shard, ShardError

INTERRUPTED = "was interrupted; what it had answered is used"
_LINES = re.compile(r"\.lines-0*(\d+)-0*(\d+)\.")


def find_shards(folder: Path, notes: list[str]) -> Iterator[Shard]:
    """Yield the shards, those of unfinished chunks included; what is left alone or incomplete is noted."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if NOTE_NAME.fullmatch(path.name) or usage.NAME.fullmatch(path.name) or _is_hidden(path):
            continue
        unfinished = shards.PARTIAL.fullmatch(path.name) is not None
        if not unfinished and not shards.NAME.fullmatch(path.name):
            notes.append(f"{path.name!r} is no shard's name and is left alone")
            continue
        try:
            shard = shards.open_shard(path)
        except (ShardError, OSError) as error:
            notes.append(f"{path.name!r} is left alone: {error or 'it is empty'}")
            continue
        if unfinished:
            notes.append(f"{_name_chunk(path)} {INTERRUPTED}")
        elif not shard.sound:
            notes.append(f"{path.name!r} is damaged; its readable lines are used")
        yield shard


def _name_chunk(partial: Path) -> str:
    """Return a chunk as a person knows it, by its lines."""
    lines = _LINES.match(partial.name)
    return f"a chunk of lines {lines[1]} to {lines[2]}" if lines else repr(partial.name)


def _is_hidden(path: Path) -> bool:
    """Tell whether a file is nobody's result: a temporary one, or one that the desktop or a file manager keeps."""
    return path.name.startswith(".") and not shards.PARTIAL.fullmatch(path.name)
