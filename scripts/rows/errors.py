"""Why a row has no answer: the codes, and the error of a line that cannot be asked."""

from __future__ import annotations

KILLED_SERVER = "server_crash"  # a row that no server survives


class RowError(Exception):
    """A line that cannot be asked. `code` is for programs, the message says what is wrong and how to mend it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
