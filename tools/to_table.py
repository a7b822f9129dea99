#!/usr/bin/env python3
"""Make a table of a job's results: the rows' own columns as they were, then a column for each field of the answers.

usage: to_table.py RESULTS -o answers.xlsx|.csv|.parquet|.jsonl [--details] [--like reviews.csv]

RESULTS is output.jsonl or the OutputDir that has it. Answers that are JSON objects become columns, values of several
parts stay JSON; other answers stay one column. --details adds how each answer came about: finish reason, tokens, error.
--like keeps the columns of the file from which make_rows.py made the rows, in its order, and of Parquet with its types.

Numbers stay as output.jsonl has them. In .csv and .xlsx no text is a live formula, and what is longer than a cell of a
spreadsheet is cut and says so. Reads the results twice, a line at a time, so that memory stays small; the file appears
whole or not at all. .xlsx needs openpyxl, .parquet pyarrow. Exit status 1, with the reason, for what makes no table.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import bundle  # noqa: F401  (puts scripts/ on the path)
from conversion.records import RowsError
from host import files
from rows.errors import RowError
from table.columns import Census, Column, fill, plan
from table.like import Like, read_like
from table.lines import Result, read_result
from table.parquet import ParquetWriter
from table.writers import CsvWriter, JsonlWriter, TableError, Writer, XlsxWriter

FORMS = (".xlsx", ".csv", ".parquet", ".jsonl")
LIBRARIES = {".xlsx": "openpyxl", ".parquet": "pyarrow"}
NAMED = 12  # columns that the last lines name
_CUT = (("cell is", "it"), ("cells are", "them"))


def find_results(path: Path) -> Path:
    """Return the output.jsonl that a path names. Raises TableError."""
    if path.is_file():
        return path
    places = [path / "output" / "output.jsonl", path / "output.jsonl"]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        advice = f"merge first: python3 scripts/aggregate.py --input-file FILE --output-dir {path}"
        raise TableError(f"there is no output.jsonl in {path} ({advice})" if path.is_dir() else f"{path} is not there")
    return found


def read_results(file: BinaryIO, name: str) -> Iterator[Result]:
    """Yield the results of a file from its beginning. Raises TableError, which names the line."""
    file.seek(0)
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                yield read_result(number, line.rstrip(b"\n"))
            except RowError as error:
                raise TableError(f"{name}:{number}: {error.message}") from None


def open_writer(path: Path, form: str, columns: Sequence[Column], like: Like | None) -> Writer:
    """Return the writer of a form. Raises TableError where its library is missing."""
    if form == ".parquet":
        return ParquetWriter(path, columns, like or Like([]))
    if form == ".xlsx":
        return XlsxWriter(path, columns)
    if form == ".csv":
        return CsvWriter(path, columns, like.separator if like else ",")
    return JsonlWriter(path, columns)


def write_table(results: Path, output: Path, like: Like | None, *, details: bool) -> list[str]:
    """Write the table; return what there is to say of it. Raises TableError and OSError."""
    with results.open("rb") as file:
        census = Census()
        for result in read_results(file, results.name):
            census.add(result)
        if not census.rows:
            raise TableError(f"{results} holds no results")
        columns, is_split = plan(census, like, details=details), census.is_split
        form = output.suffix.lower()
        with files.name_at_end(output) as temporary, open_writer(temporary, form, columns, like) as writer:
            for result in read_results(file, results.name):
                writer.write([*fill(columns, result, is_split=is_split)])
    return _tell(census, columns, writer, details=details)


def _tell(census: Census, columns: Sequence[Column], writer: Writer, *, details: bool) -> list[str]:
    names = [column.heading for column in columns]
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    told = [f"{_count(census.rows, 'row')}, {_count(len(names), 'column')}: {', '.join(names[:NAMED])}{more}"]
    if census.failed:
        why = "" if details else "; --details says why"
        told.append(_count(census.failed, "row has no answer", "rows have no answer") + why)
    if census.is_split and census.parts["whole"]:
        one, many = "answer is no JSON object and stays whole", "answers are no JSON objects and stay whole"
        told.append(_count(census.texts - census.objects, one, many))
    if writer.cut:
        one, many = (f"{what} cut at what a spreadsheet's can hold; .jsonl has {them} whole" for what, them in _CUT)
        told.append(_count(writer.cut, one, many))
    own = census.parts["own"]
    told += [f"no row has a column {c.heading!r}" for c in columns if c.part == "own" and c.name not in own]
    return told


def check_form(output: Path) -> None:
    """Raise TableError for a file whose form is unknown, or cannot be written here for want of a library."""
    if output.suffix.lower() not in FORMS:
        raise TableError(f"{output} does not say its form; name it *{', *'.join(FORMS)}")
    library = LIBRARIES.get(output.suffix.lower())
    if library and not importlib.util.find_spec(library):
        form = output.suffix.lower()
        raise TableError(
            f"writing {form} needs {library}, which this Python lacks: pip install {library} (or write .csv)"
        )


def make_table(results: Path, output: Path, *, like: str = "", details: bool = False) -> int:
    """Write a table and say what it holds; return 0, or 1 with the reason told."""
    try:
        check_form(output)
        found = find_results(results)
        if output.resolve() == found.resolve():
            print(f"to_table: {output} is the file to read; give the table another name", file=sys.stderr)
            return 1
        told = write_table(found, output, read_like(like) if like else None, details=details)
    except (TableError, RowsError, OSError) as error:
        print(f"to_table: {error}", file=sys.stderr)
        return 1
    print("\n".join(told), file=sys.stderr)
    return 0


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def build_parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser(description="Make a table of a job's results, with answers as columns.")
    parser.add_argument("results", metavar="RESULTS", type=Path, help="output.jsonl, or the OutputDir that has it")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", type=Path, help=f"what to write: {', '.join(FORMS)}"
    )
    parser.add_argument("--details", action="store_true", help="add finish reason, tokens and error")
    parser.add_argument(
        "--like", default="", metavar="FILE", help="keep the columns of this file alone, as it has them"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Write the table that the command line asks for; return 0, or 1 with the reason told."""
    asked = build_parser().parse_args(argv)
    return make_table(asked.results, asked.output, like=asked.like, details=asked.details)


if __name__ == "__main__":
    sys.exit(main())
