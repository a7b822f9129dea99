#!/usr/bin/env python3
"""Turn what people have into rows: CSV, TSV, JSON, JSONL, Parquet and documents become JSONL with a prompt a line.

usage: make_rows.py FILE [FILE ...] [-o ROWS.jsonl] [--template 'Summarise: {{text}}' | --prompt-column NAME]
                    [--columns NAME,NAME,...] [--skip-empty] [--format csv|tsv|json|jsonl|parquet|documents|lines]
                    [--encoding NAME]

Every column becomes a field of the row, ids as they stand ("007" stays "007"); --columns keeps only those named, and
`messages` beside a prompt that is asked instead become `messages_beside`. The prompt is --template with {{column}}
filled in, or the column that --prompt-column names, or what the layout says:

    prompt, text or messages           taken as they are, and so are lines of the batch formats that the bundle knows
    conversations (from, value)        messages; an answer at their end becomes `reference`
    instruction, input, output         prompt of instruction and input; all three stay as fields
    question, query                    prompt
    a folder or .txt and .md files     a row each: `file`, its name, and `text` (--format lines: a line each)

Reads and writes one row at a time, "-" is standard input or output, .gz is unpacked. Parquet needs pyarrow. Text is
UTF-8, UTF-16, or Windows-1252 as Excel saves it, which is said; --encoding names any other. A column whose name stands
twice is numbered. The file appears whole or not at all. Exit status 1, with the place named, for what cannot be turned
into rows; --skip-empty leaves out the records without a prompt and says how many.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import bundle  # noqa: F401  (puts scripts/ on the path)
from conversion import layouts, tables
from conversion.documents import are_documents, read_documents
from conversion.encodings import Encodings
from conversion.records import Record, RowsError
from host import files


def read(paths: Sequence[str], form: str = "", encoding: str = "") -> Iterator[Record]:
    """Yield the records of files, or of the documents in a folder. Raises RowsError and OSError."""
    encodings = Encodings(say, encoding)
    if form == "documents" or (not form and are_documents(paths)):
        yield from read_documents(paths, say, encodings)
        return
    for path in paths:
        yield from tables.records(path, form, say, encodings)


def rows(
    records: Iterator[Record],
    *,
    columns: Sequence[str] = (),
    prompt_column: str = "",
    template: str = "",
    skip_empty: bool = False,
) -> Iterator[dict[str, object]]:
    """Yield the rows of records. Raises RowsError, which names the place."""
    fill = layouts.filled(template) if template else None
    skipped, record = 0, None
    for record in records:
        try:
            yield layouts.row(record.fields, columns=columns, prompt_column=prompt_column, fill=fill)
        except layouts.EmptyError as error:
            if not skip_empty:
                raise RowsError(f"{record.place}: {error}, or leave out all such with --skip-empty") from None
            skipped += 1
        except layouts.LayoutError as error:
            raise RowsError(f"{record.place}: {error}") from None
    if record is None:
        raise RowsError("there are no rows in it")
    if skipped:
        say(f"{skipped:,} {'record without a prompt is' if skipped == 1 else 'records without a prompt are'} left out")


def say(text: str) -> None:
    """Tell the person who converts what was noticed."""
    print(f"make_rows: note: {text}", file=sys.stderr)


def write(made: Iterable[dict[str, object]], file: TextIO) -> int:
    """Write rows as JSONL and return how many."""
    count = 0
    for row in made:
        file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
        count += 1
    return count


@contextlib.contextmanager
def output(path: str) -> Iterator[TextIO]:
    """Give the file to write to; a named one appears when the block ends well."""
    if path == "-":
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
        yield sys.stdout
        return
    with (
        files.name_at_end(Path(path)) as temporary,
        # a lone surrogate of the input cannot be UTF-8; it is shown as ?
        temporary.open("w", encoding="utf-8", newline="\n", errors="replace") as file,
    ):
        yield file


def build_parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser(description="Turn CSV, TSV, JSON, JSONL or Parquet into rows, one a line.")
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="what to read, a folder of documents too; - is standard input"
    )
    parser.add_argument("-o", "--output", default="-", metavar="ROWS.jsonl", help="what to write (standard output)")
    parser.add_argument("--format", default="", choices=tables.FORMATS, help="default: by the file's name")
    parser.add_argument("--encoding", default="", metavar="NAME", help="of text, where it is none that is recognised")
    parser.add_argument("--columns", default="", metavar="NAME,NAME", help="fields to keep (default: all)")
    parser.add_argument("--skip-empty", action="store_true", help="leave out records without a prompt")
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument("--prompt-column", default="", metavar="NAME", help="the column that is the prompt")
    prompt.add_argument("--template", default="", metavar="TEXT", help="the prompt, with {{column}} where one goes")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Convert what the command line names; return 0, or 1 with the reason told."""
    asked = build_parser().parse_args(argv)
    if asked.output != "-" and any(Path(asked.output).resolve() == Path(file).resolve() for file in asked.files):
        print(f"make_rows: {asked.output} is the file to read; give the rows another name", file=sys.stderr)
        return 1
    columns = [name.strip() for name in asked.columns.split(",") if name.strip()]
    try:
        with output(asked.output) as file:
            made = rows(
                read(asked.files, asked.format, asked.encoding),
                columns=columns,
                prompt_column=asked.prompt_column,
                template=asked.template,
                skip_empty=asked.skip_empty,
            )
            count = write(made, file)
    except BrokenPipeError:
        return 1
    except (RowsError, layouts.LayoutError, OSError) as error:
        print(f"make_rows: {error}", file=sys.stderr)
        return 1
    advice = "" if asked.output == "-" else f"; check them: python3 tools/check.py {asked.output}"
    print(f"{count:,} rows{advice}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
