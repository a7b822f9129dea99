"""Tables as Parquet, by pyarrow: each column of one type, by the kinds of its values or by the file it came from."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from table.columns import Column
from table.like import Like
from table.values import MISSING, write_json
from table.writers import TableError, Writer

ROWS_A_GROUP = 16_384
BYTES_A_GROUP = 8 << 20  # of JSON text
_WHOLE = frozenset({"int", "long"})
_HALVES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # of surrogate pairs, which UTF-8 cannot hold


class ParquetWriter(Writer):
    """Groups of rows, each written when it is full. Own columns have the types of the file that they are like."""

    def __init__(self, path: Path, columns: Sequence[Column], like: Like) -> None:
        import pyarrow as pa  # an optional library: to_table.py has looked for it
        from pyarrow import parquet

        self._arrow, self._columns = pa, columns
        given = [like.types.get(column.heading) if column.part == "own" else None for column in columns]
        self._types = [kind or self._infer(column.kinds) for kind, column in zip(given, columns, strict=True)]
        self._readers = [
            _encode if column.heading in like.texts else self._choose_reader(kind)
            for kind, column in zip(self._types, columns, strict=True)
        ]
        pairs = [(column.heading, kind) for column, kind in zip(columns, self._types, strict=True)]
        self._schema = pa.schema(pairs)
        self._file = parquet.ParquetWriter(path, self._schema)
        self._rows: list[Sequence[Any]] = []
        self._bytes = 0

    def write(self, values: Sequence[Any]) -> None:
        """Take a row; a full group is written. Raises TableError for a value that is not of its column's type."""
        self._rows.append(values)
        self._bytes += sum(map(_estimate, values))
        if len(self._rows) >= ROWS_A_GROUP or self._bytes >= BYTES_A_GROUP:
            self._flush()

    def finish(self) -> None:
        """Write the last group."""
        self._flush()

    def close(self) -> None:
        """End the file."""
        self._file.close()

    def _flush(self) -> None:
        arrays = [self._make(place) for place in range(len(self._columns))]
        self._file.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        self._rows, self._bytes = [], 0

    def _infer(self, kinds: set[str]) -> Any:
        """Return the type that holds every value as it stands; text where there is no other."""
        arrow = self._arrow
        if kinds and kinds <= _WHOLE:
            return arrow.int64()
        if kinds and kinds <= {"int", "float"}:
            return arrow.float64()
        if kinds == {"numbers"}:
            return arrow.list_(arrow.float64())
        return arrow.bool_() if kinds == {"bool"} else arrow.string()

    def _choose_reader(self, kind: Any) -> Callable[[Any], Any]:
        """Return what makes of a value the Python value, or the text, from which an array of this type is made."""
        types = self._arrow.types
        if types.is_string(kind) or types.is_large_string(kind) or self._is_told(kind):
            return _text
        if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
            return _decode
        return lambda value: value

    def _is_told(self, kind: Any) -> bool:
        """Tell whether values of a type stand in JSON as texts."""
        types = self._arrow.types
        return bool(types.is_temporal(kind) or types.is_decimal(kind))

    def _make(self, place: int) -> Any:
        kind, read = self._types[place], self._readers[place]
        found = (row[place] for row in self._rows)
        values = [None if value is None or value is MISSING else read(value) for value in found]
        try:
            if self._is_told(kind):
                return self._arrow.array(values, self._arrow.string()).cast(kind)
            return self._arrow.array(values, kind)
        except (self._arrow.ArrowException, TypeError, OverflowError, ValueError) as error:
            name = self._columns[place].heading
            raise TableError(f"the column {name!r} holds what is no {kind}: {error}; leave --like out") from None


def _estimate(value: Any) -> int:
    """Return about how many bytes a value takes."""
    return len(value) if isinstance(value, str) else 24 * len(value) if isinstance(value, dict | list) else 8


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else write_json(value)
    return text if text.isascii() else text.translate(_HALVES)


def _encode(value: Any) -> bytes:
    return _text(value).encode()


def _decode(value: Any) -> bytes:
    return base64.b64decode(_text(value), validate=True)
