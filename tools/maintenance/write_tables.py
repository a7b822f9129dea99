#!/usr/bin/env python3
"""Write the tables of the documents that are made from the worker's own.

A document marks the place of a table by two comments; what stands between them is replaced:

    <!-- parameters: written by tools/maintenance/write_tables.py -->
    <!-- end of parameters -->

With --check nothing is written: the exit status tells whether every document is what the tables make of it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from job.parameters import TABLE, Kind, Parameter  # noqa: E402 - found by the line above

MARKED = re.compile(
    r"(<!-- (\w+): written by tools/maintenance/write_tables\.py -->\n).*?(<!-- end of \2 -->\n)", re.DOTALL
)
TYPES = {  # as the template and the form have them
    Kind.TEXT: "STRING",
    Kind.ADDRESS: "STRING",
    Kind.MOMENT: "STRING",
    Kind.FILE: "PATH in",
    Kind.FOLDER: "PATH in",
    Kind.OUTPUT_FOLDER: "PATH out",
    Kind.WHOLE: "INT",
    Kind.NUMBER: "FLOAT",
}


def parameter_rows() -> Iterator[str]:
    """Yield the lines of the table of parameters."""
    yield "| Name | Type, default | Meaning |"
    yield "|---|---|---|"
    for each in TABLE:
        kind = ", ".join(part for part in (TYPES[each.kind], _default(each), _bounds(each)) if part)
        yield f"| `{each.name}` | {kind} | {each.meaning.replace('|', chr(92) + '|')} |"


def _default(parameter: Parameter) -> str:
    if parameter.default is None:
        return "required"
    return "empty" if parameter.default == "" else f"`{parameter.default}`"


def _bounds(parameter: Parameter) -> str:
    numbers = parameter.type is not str and None not in (parameter.least, parameter.most)
    return f"{parameter.least} to {parameter.most}" if numbers else ""


TABLES: Mapping[str, Callable[[], Iterator[str]]] = {"parameters": parameter_rows}


def fill(document: str) -> str:
    """Return a document with its tables written anew. Raises KeyError for a table that is not known here."""
    return MARKED.sub(lambda found: found[1] + "".join(f"{row}\n" for row in TABLES[found[2]]()) + found[3], document)


def documents() -> list[Path]:
    """Return every document that may have a table."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main(argv: Sequence[str] | None = None) -> int:
    """Write the tables, or compare them with the documents."""
    parser = argparse.ArgumentParser(description="Write the tables of the documents.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a table is not what it should be")
    options = parser.parse_args(argv)
    stale = []
    for path in documents():
        before = path.read_text(encoding="utf-8")
        after = fill(before)
        if after != before:
            stale.append(path.name)
            if not options.check:
                path.write_text(after, encoding="utf-8", newline="\n")
    if stale and options.check:
        print(f"tables of {', '.join(stale)} are stale: run tools/maintenance/write_tables.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
