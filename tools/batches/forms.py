"""Forms with a file (multipart/form-data), read as they come: fields into memory, the file straight to its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from batches.errors import ApiError

FIELD_BYTES = 65_536  # of all fields of a form but its file
OVERHEAD_BYTES = 65_536  # of a form besides its contents


@dataclass
class Form:
    """A form that was read: its fields, and the name and the size of its file; `filename` None where it had none."""

    fields: dict[str, str] = field(default_factory=dict)
    filename: str | None = None
    bytes: int = 0


async def read_form(request: Request, name: str, path: Path, most: int) -> Form:
    """Read a form, the content of its file `name` into `path`, of at most `most` bytes. Raises ApiError."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise ApiError(400, "the body must be a form (multipart/form-data) with a file")
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told[:20]) > most + OVERHEAD_BYTES:
        raise _refuse(most)
    with path.open("wb") as file:
        reader = _Reader(name, file, most)
        parser = MultipartParser(boundary, reader.callbacks())  # type: ignore[arg-type]
        try:
            async for block in request.stream():
                parser.write(block)
            parser.finalize()
        except FormParserError as error:
            raise ApiError(400, f"the form cannot be read: {error}") from None
    if not reader.is_ended:
        raise ApiError(400, "the form ends before its end")
    return reader.form


@dataclass
class _Reader:
    """Takes a form apart as its parser reads it."""

    name: str
    file: BinaryIO
    most: int
    form: Form = field(default_factory=Form)
    is_ended: bool = False
    _header: tuple[bytes, bytes] = (b"", b"")
    _disposition: bytes = b""
    _field: str = ""
    _is_file: bool = False
    _text: bytes = b""
    _texts: int = 0

    def callbacks(self) -> dict[str, Callable[..., None]]:
        """Return what the parser calls."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._add_header_name,
            "on_header_value": self._add_header_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._add,
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    def _begin(self) -> None:
        self._disposition, self._text, self._header = b"", b"", (b"", b"")

    def _add_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0] + data[start:end], self._header[1])

    def _add_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0], self._header[1] + data[start:end])

    def _end_header(self) -> None:
        if self._header[0].lower() == b"content-disposition":
            self._disposition = self._header[1]
        self._header = (b"", b"")

    def _end_headers(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._field = options.get(b"name", b"").decode("utf-8", "replace")
        self._is_file = self._field == self.name
        if self._is_file:
            self.form.filename = options.get(b"filename", b"upload").decode("utf-8", "replace")

    def _add(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self.form.bytes += end - start
            if self.form.bytes > self.most:
                raise _refuse(self.most)
            self.file.write(data[start:end])
            return
        self._texts += end - start
        if self._texts > FIELD_BYTES:
            raise ApiError(413, f"the form's fields are larger than {FIELD_BYTES:,} bytes")
        self._text += data[start:end]

    def _end(self) -> None:
        if not self._is_file:
            self.form.fields[self._field] = self._text.decode("utf-8", "replace")

    def _finish(self) -> None:
        self.is_ended = True


def _refuse(most: int) -> ApiError:
    return ApiError(413, f"the file is larger than {most:,} bytes", code="request_too_large", param="file")
