"""The lines of OpenAI's batches: which of a file a job can ask, and what answers say they took."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from batches.models import Models
from batches.store import draw_id

SHOWN = 20  # lines that a batch's errors name


class _Refused(Exception):
    """A line that cannot be asked."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code, self.param = code, param


@dataclass
class Reading:
    """Reads the lines of a file, and remembers what is to be told of them."""

    models: Models
    endpoint: str
    model: str = ""
    asked: int = 0
    refused: int = 0
    is_alias: bool = False
    errors: list[dict[str, Any]] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def read(self, number: int, raw: bytes) -> tuple[bytes, dict[str, Any] | None]:
        """Return a line as the job asks it, blank where it does not, and the error of one that cannot be asked."""
        if not raw.strip():
            return b"", None
        custom_id = None
        try:
            fields = json.loads(raw.removeprefix(b"\xef\xbb\xbf"))
            custom_id = fields.get("custom_id") if isinstance(fields, dict) else None
            line = self._check(fields, raw)
        except _Refused as error:
            return b"", self._refuse(number, custom_id, error.code, str(error), error.param)
        except (ValueError, RecursionError):
            return b"", self._refuse(number, None, "invalid_json_line", "This line is not valid JSON.", None)
        self.asked += 1
        return line, None

    def _check(self, fields: Any, raw: bytes) -> bytes:
        if not isinstance(fields, dict):
            raise _Refused("invalid_json_line", "This line is JSON, but no object.")
        for name, kind, what in (("custom_id", str, "a string"), ("body", dict, "an object")):
            if not isinstance(fields.get(name), kind):
                raise _Refused("missing_required_parameter", f"'{name}' must be {what}.", name)
        if fields["custom_id"] in self._seen:
            raise _Refused("duplicate_custom_id", "An earlier line has this custom_id.", "custom_id")
        named = fields["body"].get("model")
        model = self.models.find(named)
        if model is None:
            raise _Refused("model_not_found", f"The model {str(named)[:80]!r} does not exist here.", "body.model")
        if self.model and model.name != self.model:
            raise _Refused("model_mismatch", "Another line of this file names another model.", "body.model")
        self._seen.add(fields["custom_id"])
        self.model = model.name
        self.is_alias |= named in model.aliases or (named == model.name and named != model.parameters.get("ModelName"))
        if "url" not in fields:
            return json.dumps({"method": "POST", "url": self.endpoint, **fields}).encode()
        return raw.strip(b"\r\n").removeprefix(b"\xef\xbb\xbf")

    def _refuse(self, number: int, custom_id: Any, code: str, message: str, param: str | None) -> dict[str, Any]:
        self.refused += 1
        if len(self.errors) < SHOWN:
            self.errors.append({"code": code, "message": message, "param": param, "line": number})
        error = {"code": code, "message": f"line {number}: {message}"}
        name = custom_id if isinstance(custom_id, str) else None
        return {"id": draw_id("batch_req_"), "custom_id": name, "response": None, "error": error}


@dataclass
class Usage:
    """Adds up the tokens of answers, whichever API they are of."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0

    def add(self, body: Any) -> None:
        """Add what an answer says."""
        said = body.get("usage") if isinstance(body, dict) else None
        if not isinstance(said, dict):
            return
        self.input += _find(said, "prompt_tokens", "input_tokens")
        self.output += _find(said, "completion_tokens", "output_tokens")
        for names in ("prompt_tokens_details", "input_tokens_details"):
            self.cached += _find(said.get(names) or {}, "cached_tokens")
        for names in ("completion_tokens_details", "output_tokens_details"):
            self.reasoning += _find(said.get(names) or {}, "reasoning_tokens")

    def as_json(self) -> dict[str, Any]:
        """Return the API's object."""
        return {
            "input_tokens": self.input,
            "input_tokens_details": {"cached_tokens": self.cached},
            "output_tokens": self.output,
            "output_tokens_details": {"reasoning_tokens": self.reasoning},
            "total_tokens": self.input + self.output,
        }


def _find(said: dict[str, Any], *names: str) -> int:
    return next((said[name] for name in names if isinstance(said.get(name), int)), 0)
