"""The items of one list in a large JSON object, one at a time: a body of any size is never whole in memory.

Reads a file from where it stands. Numbers that JSON has not are refused.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

_BLOCK = 1 << 20  # bytes read at a time
_SPACE = " \t\r\n"
_LONGEST = 64 << 20  # characters of one item
_CUT = 3  # characters behind a number that tell it from the beginning of another: 1 and 1e+5


class NotJson(ValueError):
    """The text is not the JSON object that was expected; the message says where and what."""


def read_items(file: BinaryIO, name: str) -> Iterator[Any]:
    """Yield the items of the list that the object in `file` has under `name`. Raises NotJson.

    Other members are read and dropped. An object without that list raises NotJson, too.
    """
    text = _Text(file)
    text.expect("{", "an object")
    is_found, is_first = False, True
    while not text.take("}"):
        if not is_first:
            text.expect(",", "a comma")
        is_first = False
        member = text.value()
        text.expect(":", "a colon")
        if member != name:
            text.value()
            continue
        if is_found:
            raise NotJson(f'"{name}" stands twice')
        is_found = True
        yield from _read_list(text, name)
    text.expect_end()
    if not is_found:
        raise NotJson(f'"{name}" is missing')


def _read_list(text: _Text, name: str) -> Iterator[Any]:
    text.expect("[", f'a list as "{name}"')
    if text.take("]"):
        return
    while True:
        yield text.value()
        if text.take("]"):
            return
        text.expect(",", "a comma")


def _refuse(name: str) -> NoReturn:
    raise NotJson(f"{name} is no number of JSON")


class _Text:
    """A file's text, read as far as it is needed; what was taken is dropped."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._scan = json.JSONDecoder(parse_constant=_refuse).raw_decode
        self._rest, self._at, self._gone, self._is_over = "", 0, 0, False

    def take(self, char: str) -> bool:
        """Take a character if it is the next one."""
        if self._find_next() != char:
            return False
        self._at += 1
        return True

    def expect(self, char: str, what: str) -> None:
        """Take a character. Raises NotJson where another stands."""
        if not self.take(char):
            raise NotJson(f"{what} is expected at character {self._gone + self._at + 1}")

    def expect_end(self) -> None:
        """Raise NotJson for anything but white space."""
        if self._find_next():
            raise NotJson(f"nothing more is expected at character {self._gone + self._at + 1}")

    def value(self) -> Any:
        """Take one JSON value. Raises NotJson."""
        self._find_next()
        while True:
            try:
                value, end = self._scan(self._rest, self._at)
            except json.JSONDecodeError as error:
                if self._is_over:
                    raise NotJson(f"{error.msg} at character {self._gone + error.pos + 1}") from None
            except RecursionError:
                raise NotJson("it is nested too deeply") from None
            else:
                if len(self._rest) - end >= _CUT or self._is_over:
                    self._at = end
                    return value
            if len(self._rest) - self._at > _LONGEST:
                raise NotJson(f"an item is longer than {_LONGEST:,} characters, or is no JSON")
            self._read(max(_BLOCK, len(self._rest) - self._at))

    def _find_next(self) -> str:
        """Return the next character that is no white space, "" at the end."""
        while True:
            while self._at < len(self._rest):
                if self._rest[self._at] not in _SPACE:
                    return self._rest[self._at]
                self._at += 1
            if self._is_over:
                return ""
            self._read(_BLOCK)

    def _read(self, size: int) -> None:
        self._gone += self._at
        block = self._file.read(size)
        self._is_over = not block
        try:
            self._rest = self._rest[self._at :] + self._decode(block, self._is_over)
        except UnicodeDecodeError:
            raise NotJson("it is not UTF-8") from None
        self._at = 0
