#!/usr/bin/env python3
"""Turn what people have into rows: CSV, TSV, a JSON array, JSONL or Parquet become JSONL with a prompt in each line.

usage: make_rows.py FILE [-o ROWS.jsonl] [--template 'Translate to French: {{text}}' | --prompt-column NAME]
                    [--columns NAME,NAME,...] [--format csv|tsv|json|jsonl|parquet]

Every column becomes a field of the row, ids as they stand ("007" stays "007"); --columns keeps only those named, and
`messages` beside a prompt that is asked instead become `messages_beside`. The prompt is --template with {{column}}
filled in, or the column that --prompt-column names, or what the layout says:

    prompt, text or messages           taken as they are, and so are lines of the batch formats that the bundle knows
    conversations (from, value)        messages; an answer at their end becomes `reference`
    instruction, input, output         prompt of instruction and input; all three stay as fields
    question, query                    prompt

Reads and writes one row at a time, "-" is standard input or output, .gz is unpacked. Parquet needs pyarrow. The file
appears whole or not at all. Exit status 1, with the row named, for what cannot be turned into rows.
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
from conversion.tables import RowsError
from host import files


def rows(
    path: str, *, form: str = "", columns: Sequence[str] = (), prompt_column: str = "", template: str = ""
) -> Iterator[dict[str, object]]:
    """Yield the rows of a file. Raises RowsError, which names the row, and OSError."""
    fill = layouts.filled(template) if template else None
    count = 0
    for count, record in enumerate(tables.records(path, form), 1):
        try:
            yield layouts.row(record, columns=columns, prompt_column=prompt_column, fill=fill)
        except layouts.LayoutError as error:
            raise RowsError(f"{path}: row {count}: {error}") from None
    if not count:
        raise RowsError(f"{path} holds no rows")


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
    parser.add_argument("file", metavar="FILE", help="what to read; - is standard input (then say --format)")
    parser.add_argument("-o", "--output", default="-", metavar="ROWS.jsonl", help="what to write (standard output)")
    parser.add_argument("--format", default="", choices=tables.FORMATS, help="default: by the file's name")
    parser.add_argument("--columns", default="", metavar="NAME,NAME", help="fields to keep (default: all)")
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument("--prompt-column", default="", metavar="NAME", help="the column that is the prompt")
    prompt.add_argument("--template", default="", metavar="TEXT", help="the prompt, with {{column}} where one goes")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Convert what the command line names; return 0, or 1 with the reason told."""
    asked = build_parser().parse_args(argv)
    if "-" not in (asked.output, asked.file) and Path(asked.output).resolve() == Path(asked.file).resolve():
        print(f"make_rows: {asked.output} is the file to read; give the rows another name", file=sys.stderr)
        return 1
    columns = [name.strip() for name in asked.columns.split(",") if name.strip()]
    try:
        with output(asked.output) as file:
            made = rows(
                asked.file,
                form=asked.format,
                columns=columns,
                prompt_column=asked.prompt_column,
                template=asked.template,
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
