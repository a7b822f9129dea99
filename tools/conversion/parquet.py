"""Records of Parquet files as warehouses write them: text kept as bytes, nanoseconds, far years, a name twice.

pyarrow alone is needed. A value that Python has no type for, such as a moment with nanoseconds, becomes text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from conversion.records import Record, RowsError, Say, number_names, plain, say_nothing

BATCH = 256  # rows in memory


def read_parquet(path: str, say: Say) -> Iterator[Record]:
    """Yield the records of a file, - being standard input. Raises RowsError."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise RowsError(f"reading {path} needs pyarrow, which this Python lacks: pip install pyarrow") from None
    source: Any = sys.stdin.buffer if path == "-" else path
    try:
        table = _Table(parquet.ParquetFile(source), say)
        yield from (Record(f"{path}: row {place}", fields) for place, fields in enumerate(table.rows(), 1))
    except (ValueError, TypeError, RuntimeError, OSError, OverflowError) as error:  # pyarrow's own are of these
        raise RowsError(f"{path} cannot be read as Parquet: {error}") from None


def read_types(path: str) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the Arrow types of a file's columns, and those of bytes that hold texts. Raises RowsError."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise RowsError(f"reading {path} needs pyarrow, which this Python lacks: pip install pyarrow") from None
    try:
        table = _Table(parquet.ParquetFile(path), say_nothing)
        types = dict(zip(table.names, (column.type for column in table.file.schema_arrow), strict=True))
        return types, frozenset(table.names[place] for place in table.texts)
    except (ValueError, RuntimeError, OSError) as error:
        raise RowsError(f"{path} cannot be read as Parquet: {error}") from None


@dataclass
class _Table:
    """A file's columns: their names, once each, and which of them are bytes that hold texts."""

    file: Any
    say: Say
    names: list[str] = field(default_factory=list)
    texts: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        columns = list(self.file.schema_arrow)
        self.names = number_names([column.name for column in columns], self.say)
        for place, column in enumerate(columns):
            if _is_bytes(column.type):
                self._look_at(place, column.name)

    def _look_at(self, place: int, name: str) -> None:
        """Note whether a column of bytes holds texts: warehouses often do not mark them as such."""
        alone = [column.name for column in self.file.schema_arrow].count(name) == 1
        for batch in self.file.iter_batches(batch_size=BATCH, columns=[name] if alone else None):
            if not all(map(_is_text, _values(batch.column(0 if alone else place)))):
                self.say(f"the column {name!r} holds bytes that are no text; they are base64 in the rows")
                return
        self.texts.add(place)
        self.say(f"the column {name!r} holds bytes that are text, and is taken as text")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows' fields."""
        for batch in self.file.iter_batches(batch_size=BATCH):
            columns = [self._column(place, batch.column(place)) for place in range(len(self.names))]
            for values in zip(*columns, strict=True):
                yield dict(zip(self.names, values, strict=True))

    def _column(self, place: int, column: Any) -> list[Any]:
        values = _values(column)
        if str(column.type).startswith("timestamp"):
            values = [value if value is None else str(value).replace(" ", "T", 1) for value in values]
        return [
            plain(value.decode("utf-8") if place in self.texts and value is not None else value) for value in values
        ]


def _values(column: Any) -> list[Any]:
    """Return a column's values; what Python's own types cannot hold, such as nanoseconds, as text."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        found: list[Any] = column.cast(_change_moments(column.type, pa.string())).to_pylist()
    except pa.ArrowInvalid:  # a zone that this machine does not know
        found = column.cast(_change_moments(column.type, pa.int64())).to_pylist()
    return found


def _change_moments(kind: Any, moment: Any) -> Any:
    """Return a type with another in place of the moments that Python may not hold: its years end at 9999."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time64(kind):
        return moment
    if pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_change_moments(kind.value_type, moment))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _change_moments(each.type, moment)) for each in kind])
    return kind


def _is_bytes(kind: Any) -> bool:
    named = str(kind)
    return named in ("binary", "large_binary", "binary_view") or named.startswith(
        ("fixed_size_binary", "dictionary<values=binary")
    )


def _is_text(value: Any) -> bool:
    if value is None:
        return True
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(char.isprintable() or char.isspace() for char in text)
