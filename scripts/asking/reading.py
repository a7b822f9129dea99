"""Reading what a server sent: an answer out of a 2xx body, or why there is none.

Most answers are one JSON object. Servers also send numbers that JSON has not, streams that nobody asked for, plain text
where subtitles were asked for, errors under 200, and the word that a request waits in a queue.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from asking.stream import join_stream
from asking.unanswered import Unanswered
from dialects.exchange import MESSAGE_LIMIT, Answer, Failure
from dialects.reply import is_given_up
from engine import refusals, routes
from host import transfer
from rows.errors import CODES, QUOTA_USED_UP
from rows.json_text import escape_separators, quote, quote_finite, shorten

_RESULTS = frozenset({"choices", "data", "output", "content", "results"})  # one of these is in an answer
_CODES = {code.status: name for name, code in CODES.items() if code.status}
_WAITS = frozenset({"queued", "in_progress", "in_queue", "pending", "processing", "accepted"})


def read_answer(route: str, status: int, content: bytes, headers: Mapping[str, str], key: str = "") -> Answer:
    """Return what a 2xx body answers. Raises Unanswered, without the key in its words."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        text, value, holes = _read_body(content, kind)
    except ValueError:
        if route in routes.ROUTES["speech"] and kind in ("", "text/plain", "text/vtt", "application/x-subrip"):
            return _answer(status, quote(spoken := content.decode("utf-8", "replace")), spoken, headers)
        another = bool(kind) and not kind.endswith(("json", "event-stream"))  # the server would send the same again
        message = f"the server answered in {shorten(kind)}" if another else "it was cut off or garbled"
        failure = Failure("invalid_answer", f"the server's answer is not JSON: {message}", status)
        raise Unanswered(failure, passing=not another) from None
    _refuse_what_is_none(status, text, value, key)
    if holes and route not in routes.GENERATING and _lacks_numbers(value):
        message = "the server's answer holds numbers that are none (NaN or infinity)"
        raise Unanswered(Failure("invalid_answer", message, status), passing=False)
    return _answer(status, text, value, headers)


def _answer(status: int, text: str, value: Any, headers: Mapping[str, str]) -> Answer:
    return Answer(status, text, value, headers.get("x-request-id") or f"req_{uuid.uuid4().hex}")


def _refuse_what_is_none(status: int, text: str, value: Any, key: str) -> None:
    """Raise Unanswered for a body that is no answer whatever was asked."""
    if isinstance(value, dict):
        if _means_error(value):
            raise _error_inside(status, refusals.hide_key(text, key), value, key)
        waits = str(value.get("status")).lower() in _WAITS or status == 202
        if waits and not any(value.get(name) for name in _RESULTS):
            told = (
                "the server put the request into a queue of its own and sent no answer; ServerUrl must answer at once"
            )
            raise Unanswered(Failure("invalid_answer", told, status), passing=False)
    if is_given_up(value):
        message = "the engine gave the request up before its answer was whole"
        raise Unanswered(Failure("aborted", message, status), passing=True)


def _read_body(content: bytes, kind: str) -> tuple[str, Any, bool]:
    """Return a body as one line of JSON text, its value, and whether numbers in it had to become null.

    Raises ValueError for what is not JSON or not an object.
    """
    if kind == "text/event-stream" or content.lstrip()[:6] in (b"data: ", b"event:"):
        value = join_stream(content.decode("utf-8-sig", "replace"))
        return quote_finite(value), value, False
    return read_json(content)


def read_json(content: bytes) -> tuple[str, Any, bool]:
    """Return a JSON body as one line of text, its value, and whether numbers that are none became null in both.

    Raises ValueError for what is not JSON or not an object.
    """
    holes: list[str] = []
    try:
        text = content.decode("utf-8-sig").strip()
        value = json.loads(text, parse_constant=holes.append)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict | list):
        raise ValueError("not an object")  # noqa: TRY004 - the caller asks whether the bytes are an answer
    if holes:
        return quote_finite(value), value, True
    one_line = text.replace("\r", " ").replace("\n", " ") if "\n" in text or "\r" in text else text
    return escape_separators(one_line), value, False


def _lacks_numbers(value: Any) -> bool:
    """Tell whether a list of numbers has a hole, as an embedding with NaN in it has."""
    if isinstance(value, dict):
        return any(map(_lacks_numbers, value.values()))
    return isinstance(value, list) and (None in value or any(map(_lacks_numbers, value)))


def _means_error(value: dict[str, Any]) -> bool:
    """Tell whether a body under a 2xx is an error, as gateways send, or a response that failed (OpenAI's Responses)."""
    if value.get("object") == "error" or value.get("status") == "failed":
        return True
    return bool(value.get("error")) and not any(value.get(name) for name in _RESULTS)


def _error_inside(status: int, text: str, value: dict[str, Any], key: str) -> Unanswered:
    inner = value["error"] if isinstance(value.get("error"), dict) else value
    told = inner.get("code")
    own = told if isinstance(told, int) and 400 <= told < 600 else None
    words = refusals.hide_key(refusals.describe(value), key)
    if own is None and "validation" in (
        inner.get("error_type"),
        words.lower().partition(" error")[0].rpartition(" ")[2],
    ):
        own = 422  # TGI 2.4 refuses a request so
    code, passing = _meaning(own or 500, words)
    message = f"under HTTP {status} the server sent an error: {words or text}"[:MESSAGE_LIMIT]
    return Unanswered(Failure(code, message, own, body=text if own else ""), passing=passing)


def read_refusal(status: int, content: bytes, headers: Mapping[str, str], key: str) -> Unanswered:
    """Return what a status other than 2xx means; the key, which some servers repeat, is not in its words."""
    try:
        body, value, _ = read_json(content)
    except ValueError:
        body, value = "", None
    words = refusals.read_words(content, status)
    if 300 <= status < 400:
        elsewhere = headers.get("location", "?").partition("?")[0]  # a query may hold a secret
        words = f"the server answers elsewhere, at {elsewhere}; set ServerUrl to that address"
    code, passing = _meaning(status, words)
    words, body = refusals.hide_key(words, key), refusals.hide_key(body, key)
    failure = Failure(code, words[:MESSAGE_LIMIT], status, body=body if isinstance(value, dict) else "")
    return Unanswered(failure, passing=passing, after=refusals.read_after(headers.get("retry-after")))


def _meaning(status: int, words: str) -> tuple[str, bool]:
    """Return an HTTP status's error code, and whether a later attempt may pass."""
    if refusals.is_used_up(status, words):
        return QUOTA_USED_UP, False
    code = _CODES.get(status, "server_error" if status >= 500 else "invalid_request")
    return code, transfer.may_pass(status)
