"""Reading files of records one record at a time: CSV, TSV, a JSON array, JSONL and Parquet.

Nothing here knows what a record means. Values are JSON values: what JSON cannot say (dates, decimals, bytes) becomes
text, NaN and infinity become null. Encodings with a byte order mark are read as such, everything else as UTF-8.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import itertools
import json
import math
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import bundle  # noqa: F401  (puts scripts/ on the path)
from conversion.cells import TableError, read_table
from conversion.json_tables import read_cells, read_rows
from host import files

FORMATS = ("csv", "tsv", "json", "jsonl", "parquet")
_BY_NAME = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_BY_NAME |= {".parquet": "parquet", ".pq": "parquet"}
SPACE = " \t\r\n"
READ = 1 << 16  # characters read at a time
LARGEST_RECORD = 1 << 26  # characters of one record of a JSON array; more is a broken file
BATCH = 256  # rows of a Parquet file in memory
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")


class RowsError(Exception):
    """A file that cannot be read as records; the message says where and what to do."""


def records(path: str, form: str = "") -> Iterator[dict[str, Any]]:
    """Yield the records of a file, - being standard input. Raises RowsError and OSError."""
    form = form or _form(path)
    if form == "parquet":
        yield from _parquet(path)
        return
    try:
        with _opened(path) as file:
            if form in ("csv", "tsv"):
                yield from _table(path, file, "\t" if form == "tsv" else "")
            else:
                yield from _json_records(path, file)
    except UnicodeDecodeError as error:
        raise RowsError(f"{path} is not UTF-8 ({error.reason}); save it as UTF-8 and try again") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RowsError(f"{path}: the gzip data is damaged or cut off ({error}); copy the file again") from None


def _form(path: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() != ".gz"]
    form = _BY_NAME.get(suffixes[-1] if suffixes else "")
    if not form:
        raise RowsError(f"what {path} holds does not show from its name; say --format {'|'.join(FORMATS)}")
    return form


@contextlib.contextmanager
def _opened(path: str) -> Iterator[IO[str]]:
    """Give a file's text, unpacked and decoded."""
    raw: Any = sys.stdin.buffer if path == "-" else Path(path).open("rb")  # noqa: SIM115  (closed below)
    try:
        buffered: Any = io.BufferedReader(raw, READ)
        if buffered.peek(2).startswith(files.GZIP_MAGIC):
            buffered = io.BufferedReader(cast("Any", gzip.GzipFile(fileobj=buffered)), READ)
        encoding = "utf-16" if buffered.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        with io.TextIOWrapper(buffered, encoding=encoding, newline="") as file:
            yield file
    finally:
        raw.close()


def _table(path: str, file: IO[str], separator: str) -> Iterator[dict[str, Any]]:
    try:
        yield from read_table(file, separator)
    except TableError as error:
        place = "" if error.line is None else f":{error.line}"
        raise RowsError(f"{path}{place}: {error}") from None


def _json_records(path: str, file: IO[str]) -> Iterator[dict[str, Any]]:
    """Yield objects that stand in one array, or one on each line."""
    head = file.read(READ).lstrip(SPACE)
    values = _array(path, head[1:], file) if head.startswith("[") else _lines(path, head, file)
    for place, value in _unwrap(values):
        if not isinstance(value, dict):
            raise RowsError(f"{path}: record {place} is not an object")
        try:
            record = {name: plain(inner) for name, inner in value.items()}
        except RecursionError as error:
            raise RowsError(f"{path}: record {place}: {_reason(error)}") from None
        yield record


def _unwrap(values: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Yield the values, or the rows of a table that is the only value, or a list of lists."""
    firsts = list(itertools.islice(values, 2))
    only = firsts[0][1] if len(firsts) == 1 else None
    rows = read_rows(only) if isinstance(only, dict) else None
    if rows is None and firsts and all(isinstance(value, list) for _, value in firsts):
        rows = read_cells([value for _, value in itertools.chain(firsts, values)])
    yield from enumerate(rows, 1) if rows is not None else itertools.chain(firsts, values)


def _reason(error: ValueError | RecursionError) -> str:
    """Say why a text cannot be read as JSON, and what to do where the decoder does not."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error}"
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply; flatten it"
    return "a whole number has too many digits; write it as a text"


def _array(path: str, text: str, file: IO[str]) -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of an array's values, without reading it whole; `text` begins behind its bracket."""
    decoder = json.JSONDecoder()
    place, step = 1, READ
    while not (text := text.lstrip(SPACE)).startswith("]"):
        try:
            value, end = decoder.raw_decode(text, _start(text) if place > 1 else 0)
        except json.JSONDecodeError as error:
            block = file.read(step) if len(text) < LARGEST_RECORD else ""
            if not block and not text:
                raise RowsError(
                    f"{path}: the array is not closed behind record {place - 1} (is the file whole?)"
                ) from None
            if not block:
                raise RowsError(f"{path}: record {place}: not JSON: {error.msg} (is the file whole?)") from None
            text, step = text + block, 2 * step  # twice as much, so that a large record is not tried all too often
            continue
        except (ValueError, RecursionError) as error:
            raise RowsError(f"{path}: record {place}: {_reason(error)}") from None
        yield place, value
        text, place, step = text[end:], place + 1, READ
    rest = text[1:]
    while not rest.strip(SPACE) and (block := file.read(READ)):
        rest = block
    if rest.strip(SPACE):
        raise RowsError(f"{path}: more follows behind the array's end, after record {place - 1}; one array is read")


def _start(text: str) -> int:
    """Return where the value behind a comma begins."""
    comma = _COMMA.match(text)
    if comma is None:
        raise json.JSONDecodeError("a comma is missing", text, 0)
    return comma.end()


def _lines(path: str, head: str, file: IO[str]) -> Iterator[tuple[int, Any]]:
    """Yield (line, value) of lines that are not blank; objects over several lines are read as a whole."""
    head += file.readline()
    first = head.split("\n", 1)[0]
    if first.startswith("{") and not _is_json(first):
        yield from _pretty(path, head, file)
        return
    whole = itertools.chain(io.StringIO(head, newline="\n"), file)
    for number, line in enumerate(whole, 1):
        if line.strip(SPACE):
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise RowsError(f"{path}:{number}: {_reason(error)}") from None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _pretty(path: str, head: str, file: IO[str]) -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of objects that follow one another, each over several lines."""
    text = head + file.read(LARGEST_RECORD)
    decoder, at, place = json.JSONDecoder(), 0, 0
    while at < len(text):
        place += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, getattr(error, "pos", at)) + 1
            raise RowsError(f"{path}:{line}: {_reason(error)}") from None
        yield place, value
        at = end + len(text[end:]) - len(text[end:].lstrip(SPACE))


def _parquet(path: str) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise RowsError(f"reading {path} needs pyarrow, which this Python lacks: pip install pyarrow") from None
    source: Any = sys.stdin.buffer if path == "-" else path
    try:
        table = parquet.ParquetFile(source)
        texts = {name for name in _bytes_columns(table) if _holds_texts(table, name)}
        for batch in table.iter_batches(batch_size=BATCH):
            for record in batch.to_pylist():
                yield {name: plain(_as_text(value) if name in texts else value) for name, value in record.items()}
    except (ValueError, RuntimeError, OSError) as error:  # pyarrow's own errors are of these
        raise RowsError(f"{path} cannot be read as Parquet: {error}") from None


def read_types(path: str) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the Arrow types of a Parquet file's columns, and those of bytes that hold texts. Raises RowsError."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise RowsError(f"reading {path} needs pyarrow, which this Python lacks: pip install pyarrow") from None
    try:
        table = parquet.ParquetFile(path)
        texts = frozenset(name for name in _bytes_columns(table) if _holds_texts(table, name))
        return {each.name: each.type for each in table.schema_arrow}, texts
    except (ValueError, RuntimeError, OSError) as error:
        raise RowsError(f"{path} cannot be read as Parquet: {error}") from None


def _bytes_columns(table: Any) -> list[str]:
    return [each.name for each in table.schema_arrow if str(each.type) in ("binary", "large_binary")]


def _holds_texts(table: Any, name: str) -> bool:
    """Tell whether a column of bytes holds texts: warehouses often do not mark them as such."""
    for batch in table.iter_batches(batch_size=BATCH, columns=[name]):
        for value in batch.column(0).to_pylist():
            text = _as_text(value)
            if isinstance(text, bytes) or not all(char.isprintable() or char.isspace() for char in text or ""):
                return False
    return True


def _as_text(value: Any) -> Any:
    try:
        return value.decode("utf-8") if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def plain(value: Any) -> Any:
    """Return the JSON value of a value."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
