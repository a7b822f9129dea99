"""Text in the encodings that people's programs save: UTF-8, UTF-16 and, as Excel writes CSV, Windows-1252.

Bytes that are no UTF-8 are read as Windows-1252, which is said once with the first words that hold one. Where several
of them follow one another the text is in neither, such as a Japanese or a Russian one: its encoding must be named.
"""

from __future__ import annotations

import codecs
import io
import itertools
import re
from dataclasses import dataclass
from typing import IO, Any

from conversion.records import RowsError, Say

WESTERN = "cp1252"
LONGEST_RUN = 3  # bytes beyond ASCII in a row in Western text, such as a quotation mark beside an accented letter
LOOKED_AT = 512  # bytes at the start, which tell UTF-16 without a byte order mark
SHOWN = 20  # characters of a word in a message
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_FOREIGN = re.compile(rb"[\x80-\xff]+")
_names = map("western-{}".format, itertools.count())


@dataclass
class Encodings:
    """How the files of one reading are decoded. `named` is what the caller says they are in, "" for what they show."""

    say: Say
    named: str = ""
    is_told: bool = False

    def __post_init__(self) -> None:
        try:
            codecs.lookup(self.named or "utf-8")
        except LookupError:
            raise RowsError(f"--encoding {self.named!r} is not known; write utf-8, cp1252, shift_jis, ...") from None

    def open(self, path: str, raw: Any) -> IO[str]:
        """Give the text of a buffered file; line breaks stay as they are."""
        encoding = self.named or _find_encoding(raw.peek(LOOKED_AT)[:LOOKED_AT])
        return io.TextIOWrapper(raw, encoding=encoding, errors=self._name_errors(path), newline="")

    def decode(self, path: str, content: bytes) -> str:
        """Return the text of a file's bytes. Raises RowsError."""
        try:
            return content.decode(self.named or _find_encoding(content[:LOOKED_AT]), self._name_errors(path))
        except UnicodeDecodeError as error:
            raise self.refuse(path, error) from None

    def refuse(self, path: str, error: UnicodeDecodeError) -> RowsError:
        """Return the error of a file whose bytes are not in its encoding."""
        tried = error.encoding if self.named or error.encoding.startswith("utf-16") else ""
        what = f"not {tried}" if tried else "neither UTF-8 nor Windows-1252"
        return RowsError(f"{path} is {what} ({error.reason}); save it as UTF-8, or name its encoding with --encoding")

    def _name_errors(self, path: str) -> str:
        """Return the name of what is done with bytes that do not fit, as Python's decoders look it up."""
        if self.named:
            return "strict"
        name = next(_names)
        codecs.register_error(name, lambda error: self._read_western(path, error))
        return name

    def _read_western(self, path: str, error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError) or error.encoding != "utf-8":
            raise error
        run = _FOREIGN.match(error.object, error.start)
        if run is None or len(run[0]) > LONGEST_RUN:
            raise error
        text = error.object[error.start : error.end].decode(WESTERN)
        if not self.is_told:
            self.is_told = True
            word = _find_word(error.object, error.start)
            self.say(
                f"{path} is not UTF-8 and is read as Windows-1252, as Excel saves it ({word!r}); "
                "--encoding names another, and what else is not UTF-8 is read so, too"
            )
        return text, error.end


def _find_encoding(head: bytes) -> str:
    """Return UTF-16 for text with its mark, or with a zero in every other byte; anything else may be UTF-8."""
    if head[:2] in _MARKS:
        return _MARKS[head[:2]]
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        half, other = head[first::2], head[1 - first :: 2]
        if half and half.count(0) > len(half) / 2 and not other.count(0):
            return encoding
    return "utf-8-sig"


def _find_word(content: bytes, at: int) -> str:
    begin = max(content.rfind(space, 0, at) for space in (b" ", b"\n", b"\t", b",", b";", b'"')) + 1
    return re.split(r'[\s,;"]', content[begin : at + SHOWN].decode(WESTERN, "replace"), maxsplit=1)[0][:SHOWN]
