"""Reading files of records one record at a time: CSV, TSV, a JSON array, JSONL and Parquet.

Nothing here knows what a record means.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import json
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import bundle  # noqa: F401  (puts scripts/ on the path)
from conversion.cells import SEPARATORS, TableError, read_head, read_table
from conversion.encodings import Encodings
from conversion.json_tables import read_cells, read_rows
from conversion.parquet import read_parquet
from conversion.records import Record, RowsError, Say, plain
from host import files
from rows.members import Doubled, fields_once

FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "documents", "lines")
_BY_NAME = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_BY_NAME |= {".parquet": "parquet", ".pq": "parquet"}
SPACE = " \t\r\n"
ENDS = f"{SPACE},\x1e"  # around a line: of an array without its brackets, and of RFC 7464's sequences
READ = 1 << 16  # characters read at a time
LARGEST_RECORD = 1 << 26  # characters of one record of a JSON array; more is a broken file
_OTHERS = {
    b"PK\x03\x04": "a workbook or another packed file; save the sheet as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "an old workbook; save the sheet as CSV",
    b"PAR1": "Parquet; say --format parquet",
    b"%PDF": "a PDF; save its text",
    b"<!doctype html": "a web page, such as the one to sign in; download the file itself",
    b"<html": "a web page, such as the one to sign in; download the file itself",
}
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")


def records(path: str, form: str, say: Say, encodings: Encodings) -> Iterator[Record]:
    """Yield the records of a file, - being standard input. Raises RowsError and OSError."""
    form = form or _form(path)
    if form == "parquet":
        yield from read_parquet(path, say)
        return
    try:
        with _opened(path, encodings) as file:
            if form == "lines":
                yield from _texts(path, file)
            elif form in ("csv", "tsv"):
                yield from _table(path, file, "\t" if form == "tsv" else "", say)
            else:
                yield from _json_records(path, file)
    except UnicodeDecodeError as error:
        raise encodings.refuse(path, error) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RowsError(f"{path}: the gzip data is damaged or cut off ({error}); copy the file again") from None


def _refuse_other(path: str, head: bytes) -> None:
    """Raise RowsError for a file that holds no text, or a web page in its place."""
    for sign, what in _OTHERS.items():
        if head.lstrip()[: len(sign)].lower() == sign.lower():
            raise RowsError(f"{path} is {what}")


def _form(path: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() != ".gz"]
    form = _BY_NAME.get(suffixes[-1] if suffixes else "")
    if suffixes and suffixes[-1] in (".xlsx", ".xlsm", ".xls", ".ods"):
        raise RowsError(f"{path} is a workbook; save the sheet as CSV")
    if not form:
        raise RowsError(f"what {path} holds does not show from its name; say --format {'|'.join(FORMATS)}")
    return form


@contextlib.contextmanager
def _opened(path: str, encodings: Encodings) -> Iterator[IO[str]]:
    """Give a file's text, unpacked and decoded."""
    raw: Any = sys.stdin.buffer if path == "-" else Path(path).open("rb")  # noqa: SIM115  (closed below)
    try:
        buffered: Any = io.BufferedReader(raw, READ)
        if buffered.peek(2).startswith(files.GZIP_MAGIC):
            buffered = io.BufferedReader(cast("Any", gzip.GzipFile(fileobj=buffered)), READ)
        _refuse_other(path, buffered.peek(READ))
        with encodings.open(path, buffered) as file:
            yield file
    finally:
        raw.close()


def _texts(path: str, file: IO[str]) -> Iterator[Record]:
    """Yield a record for each line of a text that is not blank."""
    for number, line in enumerate(file, 1):
        if text := line.strip(SPACE):
            yield Record(f"{path}:{number}", {"prompt": text})


def _table(path: str, file: IO[str], separator: str, say: Say) -> Iterator[Record]:
    try:
        for line, fields in read_table(file, separator, lambda what: say(f"{path}: {what}")):
            yield Record(f"{path}:{line}", fields)
    except TableError as error:
        place = "" if error.line is None else f":{error.line}"
        raise RowsError(f"{path}{place}: {error}") from None


def find_separator(path: str, encodings: Encodings) -> str:
    """Return the character between the cells of a CSV file, a comma for any other. Raises RowsError and OSError."""
    if _form(path) != "csv":
        return ","
    with _opened(path, encodings) as file:
        separator, _, _ = read_head(file)
    return separator if separator in SEPARATORS else ","


def _json_records(path: str, file: IO[str]) -> Iterator[Record]:
    """Yield objects that stand in one array, or one on each line."""
    head = file.read(READ)
    before = head[: len(head) - len(head.lstrip(SPACE))].count("\n")
    head = head.lstrip(SPACE)
    values = _array(path, head[1:], file) if head.startswith("[") else _lines(path, head, file, before)
    for place, value in _unwrap(values):
        where = f"{path}:{place}" if head.startswith("{") else f"{path}: record {place}"
        if isinstance(value, str) and value.strip():
            value = {"prompt": value}  # noqa: PLW2901
        if not isinstance(value, dict):
            raise RowsError(f"{where} is not an object")
        try:
            fields = {name: plain(inner) for name, inner in value.items()}
        except RecursionError as error:
            raise RowsError(f"{where}: {_reason(error)}") from None
        yield Record(where, fields)


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
    if isinstance(error, Doubled):
        return str(error)
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error}"
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply; flatten it"
    return "a whole number has too many digits; write it as a text"


def _array(path: str, text: str, file: IO[str]) -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of an array's values, without reading it whole; `text` begins behind its bracket."""
    decoder = json.JSONDecoder(object_pairs_hook=fields_once)
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


def _lines(path: str, head: str, file: IO[str], before: int = 0) -> Iterator[tuple[int, Any]]:
    """Yield (line, value) of lines that are not blank; objects over several lines are read as a whole."""
    head += file.readline()
    first = head.split("\n", 1)[0]
    if first.startswith("{") and not _is_json(first.rstrip(ENDS)):
        yield from _pretty(path, head, file)
        return
    whole = itertools.chain(io.StringIO(head, newline="\n"), file)
    for number, line in enumerate(whole, 1 + before):
        if text := line.strip(ENDS):
            try:
                yield number, json.loads(text, object_pairs_hook=fields_once)
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
    decoder, at, place = json.JSONDecoder(object_pairs_hook=fields_once), 0, 0
    while at < len(text):
        place += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, getattr(error, "pos", at)) + 1
            raise RowsError(f"{path}:{line}: {_reason(error)}") from None
        yield place, value
        at = end + len(text[end:]) - len(text[end:].lstrip(SPACE))
