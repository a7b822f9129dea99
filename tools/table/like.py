"""The file from which a user made the rows: its columns, in their order, and of Parquet with their types."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from conversion import tables
from conversion.encodings import Encodings
from conversion.parquet import read_types
from conversion.records import RowsError, say_nothing


@dataclass(frozen=True, slots=True)
class Like:
    """The columns' names, their Arrow types where the file has types, and the columns of bytes that hold texts.

    `separator` stands between the cells of a CSV file.
    """

    names: list[str]
    types: dict[str, Any] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()
    separator: str = ","


def read_like(path: str) -> Like:
    """Read a file's columns. Raises RowsError and OSError."""
    if Path(path).suffix.lower() in (".parquet", ".pq"):
        types, texts = read_types(path)
        return Like(list(types), types, texts)
    first = next(iter(tables.records(path, "", say_nothing, Encodings(say_nothing))), None)
    if first is None:
        raise RowsError(f"{path} holds no rows")
    return Like(list(first.fields), separator=tables.find_separator(path, Encodings(say_nothing)))
