"""Tables as files: CSV and JSONL with Python alone, .xlsx by openpyxl. A row is written as it comes.

In a file for spreadsheets no text is a live formula, none is longer than a cell can be, and control characters are
shown as their pictures.
"""

from __future__ import annotations

import abc
import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import bundle  # noqa: F401  (puts scripts/ on the path)
from table.columns import Column
from table.values import MISSING, Written, cut, show, write_json

ROWS_OF_A_SHEET, COLUMNS_OF_A_SHEET = 1_048_576, 16_384
LARGEST_INT = 10**15  # spreadsheets keep fifteen digits of a whole number
_FORMULA = re.compile(r"[\s\0\"']*[=+\-@\uff0b\uff0d\uff1d\uff20|%]|[\t\r\n]")
_NUMBER = re.compile(r"[\s\"']*[-+]?[0-9]+([.,][0-9]+)*([eE][-+]?[0-9]+)?\s*%?[\s\"']*")


class TableError(Exception):
    """A table that cannot be written; the message says why and what to do."""


class Writer(abc.ABC):
    """A table on its way into a file. Use as a context manager, whose end completes the file."""

    cut = 0  # cells that were longer than the form holds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.close()

    @abc.abstractmethod
    def write(self, values: Sequence[Any]) -> None:
        """Write a row. Raises TableError for one that the form cannot hold."""

    def finish(self) -> None:  # noqa: B027 - most forms have nothing left to write
        """Write what is left."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the file."""


def is_formula(text: str) -> bool:
    """Tell whether a spreadsheet could take a text for a formula; a number is none."""
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text)


class CsvWriter(Writer):
    """Values with a comma or another separator between them, in UTF-8 with a byte order mark: spreadsheets know it."""

    def __init__(self, path: Path, columns: Sequence[Column], separator: str = ",") -> None:
        self._file = path.open("w", encoding="utf-8-sig", newline="")
        self._csv = csv.writer(self._file, delimiter=separator)
        self._csv.writerow([self._text(column.heading) for column in columns])

    def write(self, values: Sequence[Any]) -> None:
        """Write a row."""
        self._csv.writerow([self._show(value) for value in values])

    def _show(self, value: Any) -> str | None:
        if value is None or value is MISSING:
            return None
        if isinstance(value, str):
            return self._text(value)
        text = write_json(value)
        return self._fit(show(text)) if isinstance(value, dict | list) else text

    def _text(self, text: str) -> str:
        shown = show(text)
        return self._fit(f"'{shown}" if is_formula(text) else shown)

    def _fit(self, text: str) -> str:
        whole = cut(text)
        self.cut += whole is not text
        return whole

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class JsonlWriter(Writer):
    """One JSON object a row, numbers as output.jsonl has them; a row has no member for a value that it lacks."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self._names = [write_json(column.heading) for column in columns]
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def write(self, values: Sequence[Any]) -> None:
        """Write a row."""
        members = zip(self._names, values, strict=True)
        texts = [f"{name}: {write_json(value)}" for name, value in members if value is not MISSING]
        self._file.write(f"{{{', '.join(texts)}}}\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class XlsxWriter(Writer):
    """A workbook of one sheet, its first row the headings."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        import openpyxl  # an optional library: to_table.py has looked for it
        from openpyxl.cell import WriteOnlyCell

        if len(columns) > COLUMNS_OF_A_SHEET:
            raise TableError(f"a sheet holds {COLUMNS_OF_A_SHEET:,} columns, these are {len(columns):,}; write .jsonl")
        self._path, self._rows, self._make = path, 0, WriteOnlyCell
        self._book = openpyxl.Workbook(write_only=True)
        self._sheet = self._book.create_sheet("Answers")
        self._sheet.freeze_panes = "A2"
        self._append([self._text(column.heading) for column in columns])

    def write(self, values: Sequence[Any]) -> None:
        """Write a row. Raises TableError for more rows than a sheet holds."""
        self._append([self._show(value) for value in values])

    def _append(self, cells: list[Any]) -> None:
        self._rows += 1
        if self._rows > ROWS_OF_A_SHEET:
            raise TableError(f"a sheet holds {ROWS_OF_A_SHEET:,} rows with its headings; write .csv or .parquet")
        self._sheet.append(cells)

    def _show(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if value is None or value is MISSING or isinstance(value, bool):
            return None if value is MISSING else value
        is_kept = isinstance(value, float) and not isinstance(value, Written)
        if is_kept or (isinstance(value, int) and abs(value) < LARGEST_INT):
            return value
        if isinstance(value, Written) and value.is_exact:
            return float(value)
        return self._text(write_json(value))

    def _text(self, text: str) -> Any:
        shown = show(text)
        whole = cut(shown)
        self.cut += whole is not shown
        if not whole.startswith(("=", "#")):
            return whole
        cell = self._make(self._sheet, value=whole)
        cell.data_type, cell.quotePrefix = "s", True  # a text, though it begins as a formula or an error does
        return cell

    def finish(self) -> None:
        """Save the workbook."""
        self._book.save(self._path)

    def close(self) -> None:
        """Close the workbook."""
        self._book.close()
