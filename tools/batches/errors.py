"""What goes wrong with a request, once for all APIs, and the shape in which each API tells it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from fastapi.responses import JSONResponse

INVALID = "invalid_request_error"
_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class ApiError(Exception):
    """A request that is refused: the status, what is wrong in words, and for programs `code` and `param`."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param
        self.headers = dict(headers or {})


def not_found(what: str, name: str) -> ApiError:
    """Return the error of an id that nothing has."""
    return ApiError(404, f"No such {what} object: {name[:80]}", param="id")


def answer_error(path: str, error: ApiError) -> JSONResponse:
    """Return an error as the API that a path belongs to tells it."""
    known = {"x-should-retry": "false"} if error.status < 500 else {}  # the same request would be refused again
    return JSONResponse(_shape(path)(error), status_code=error.status, headers={**known, **error.headers})


def _shape(path: str) -> Any:
    if path.startswith("/v1/messages"):
        return _anthropic
    return _runpod if path.startswith("/v2/") and "/openai/" not in path else _openai


def _openai(error: ApiError) -> dict[str, Any]:
    kind = INVALID if error.status < 500 else "server_error"
    return {"error": {"message": error.message, "type": kind, "param": error.param, "code": error.code}}


def _anthropic(error: ApiError) -> dict[str, Any]:
    usual = INVALID if error.status < 500 else "api_error"
    told = {"type": _ANTHROPIC_TYPES.get(error.status, usual), "message": error.message}
    return {"type": "error", "error": told, "request_id": f"req_{secrets.token_hex(12)}"}


def _runpod(error: ApiError) -> dict[str, Any]:
    return {"error": error.message}
