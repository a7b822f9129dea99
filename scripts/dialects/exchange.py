"""What passes between a row and the server: what is asked, and what came back.

A dialect makes an Ask of a row, the server's client answers it with an Answer or a Failure, and the dialect writes the
output line of either.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rows.errors import CODES, RowError
from rows.json_text import quote

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
MESSAGE_LIMIT = 2_000  # characters of a server's words, or of an error's, kept in a failure


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: the route on the server and the JSON body.

    `file_url` names audio that is sent as a file, `schema` tells that the job's ResponseSchemaFile governs the answer,
    `lent` is the body's field that holds the job's MaxTokens, "" where the row has its own limit, `replaced` is the
    model that the row names where another answers, and `from_job` are the body's fields that the job gave, the one that
    holds its system prompt included. `form` tells apart rows that ask the same and are answered in different shapes.
    """

    route: str
    body: dict[str, Any]
    file_url: str = ""
    schema: bool = False
    lent: str = ""
    replaced: str = ""
    from_job: frozenset[str] = frozenset()
    form: str = ""

    def encode(self) -> bytes:
        """Return the body as JSON. Raises RowError invalid_value for what JSON or UTF-8 cannot say."""
        try:
            return _encode(self.body).encode("utf-8")
        except UnicodeEncodeError:
            raise RowError("invalid_value", "a text holds half of a surrogate pair (\\ud800 to \\udfff)") from None
        except ValueError:
            raise RowError("invalid_value", "a number is too large for JSON (infinity)") from None


@dataclass(frozen=True, slots=True)
class Answer:
    """A 2xx answer: its body as one line of JSON text, kept as the server wrote it, and the same body parsed."""

    status: int
    text: str
    body: Any
    request_id: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a row has no answer. `status` is the HTTP status or None, `body` the server's own JSON error or ""."""

    code: str
    message: str
    status: int | None = None
    attempts: int = 0
    body: str = ""

    @staticmethod
    def of(error: Exception) -> Failure:
        """Return the failure of a row that cannot be asked, or that met an error which nobody thought of."""
        if isinstance(error, RowError):
            return Failure(error.code, error.message)
        return Failure("internal_error", f"{type(error).__name__}: {error}"[:MESSAGE_LIMIT])

    @property
    def http_status(self) -> int:
        """Return the HTTP status that tells whose fault it is: 4xx where the request is to be mended, else 5xx."""
        if self.status is not None and self.status >= 400:
            return self.status
        redirected = self.status is not None and self.status >= 300
        known = CODES.get(self.code)
        return 500 if redirected or (known is not None and known.may_pass) else 400

    def as_json(self) -> str:
        """Return the error object of this project's own rows."""
        keys = {"code": self.code, "message": self.message, "status": self.status, "attempts": self.attempts}
        return quote(keys)
