"""RunPod's serverless API in shapes: what a request says, and how a job of that API is told.

Source: RunPod documentation, "Endpoint operations" and "Job states"; the runpod client, 1.12.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rows.json_text import quote

DEFAULT_TTL, LONGEST_TTL = 24 * 3600.0, 7 * 24 * 3600.0  # seconds
DEFAULT_EXECUTION = 600.0  # seconds; here a job's own RowTimeoutSeconds holds where a request says nothing
RUN_BYTES, RUNSYNC_BYTES = 10 << 20, 20 << 20
LEAST_WAIT, DEFAULT_WAIT, LONGEST_WAIT = 1_000, 90_000, 300_000  # milliseconds of /runsync


class State(StrEnum):
    """A job's state in this API."""

    QUEUED = "IN_QUEUE"
    RUNNING = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        """Tell whether nothing follows."""
        return self not in (State.QUEUED, State.RUNNING)


FINAL = tuple(state for state in State if state.is_final)


class BadRequest(Exception):
    """A request that is not taken; the message says why."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a /run or /runsync asks for. `ttl` and `execution` are seconds, `execution` 0 where nothing is said."""

    given: dict[str, Any]
    ttl: float = DEFAULT_TTL
    execution: float = 0.0
    webhook: str = ""

    @property
    def streams(self) -> bool:
        """Tell whether the request wants its answer piece by piece."""
        inner = [self.given, self.given.get("openai_input"), self.given.get("body"), self.given.get("sampling_params")]
        return any(isinstance(each, dict) and each.get("stream") is True for each in inner)

    @property
    def line(self) -> bytes:
        """Return the request as a line of the bundle."""
        return write_line(self.given)


def write_line(given: dict[str, Any], name: str = "") -> bytes:
    """Return a line of the bundle that asks for an `input`; with a name it carries that as its id."""
    own = {"id": name} if name else {}
    return json.dumps({**own, "input": given}, separators=(",", ":")).encode()


def read_wanted(body: bytes) -> Wanted:
    """Return what a request's body asks for. Raises BadRequest."""
    try:
        value = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict) or not isinstance(value.get("input"), dict) or not value["input"]:
        raise BadRequest('"input" is missing: the body must be {"input": {...}}')
    policy = value.get("policy") or {}
    webhook = value.get("webhook") or ""
    if not isinstance(policy, dict):
        raise BadRequest('"policy" must be an object')
    if not isinstance(webhook, str):
        raise BadRequest('"webhook" must be an address')
    ttl = _seconds(policy, "ttl", 10_000, DEFAULT_TTL)
    return Wanted(value["input"], min(ttl, LONGEST_TTL), _seconds(policy, "executionTimeout", 5_000, 0.0), webhook)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _seconds(policy: dict[str, Any], name: str, least: int, default: float) -> float:
    value = policy.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
        raise BadRequest(f'"policy.{name}" must be a number of milliseconds, {least:,} or more')
    return float(value) / 1000


def read_wait(text: str | None) -> float:
    """Return the seconds that a /runsync waits for its answer. Raises BadRequest."""
    if text is None:
        return DEFAULT_WAIT / 1000
    if not text.isdecimal() or len(text) > 9:
        raise BadRequest('"wait" must be a number of milliseconds')
    return min(max(int(text), LEAST_WAIT), LONGEST_WAIT) / 1000


@dataclass(frozen=True, slots=True)
class Job:
    """A job of this API. Times are seconds since 1970, 0 where they have not come; `output` is JSON text.

    batch: which answers it, "" for none.
    """

    id: str
    endpoint: str
    state: State
    created: float
    started: float = 0.0
    ended: float = 0.0
    output: str = ""
    error: str = ""
    retries: int = 0
    batch: str = ""

    def as_json(self) -> str:
        """Return the status object."""
        told: dict[str, str] = {"id": quote(self.id), "status": quote(self.state.value)}
        if self.started:
            told["delayTime"] = str(_milliseconds(self.created, self.started))
        if self.ended and self.started:
            told["executionTime"] = str(_milliseconds(self.started, self.ended))
        if self.retries:
            told["retries"] = str(self.retries)
        if self.state == State.COMPLETED:
            told["output"] = self.output or "null"
        elif self.error:
            told["error"] = quote(self.error)
        return "{" + ", ".join(f"{quote(name)}: {text}" for name, text in told.items()) + "}"


def _milliseconds(begin: float, end: float) -> int:
    return max(0, round((end - begin) * 1000))


def describe_failure(text: str) -> str:
    """Return the error of a failed line, which the bundle writes as an object, in a sentence."""
    value = json.loads(text)
    if not isinstance(value, dict):
        return str(value)
    return f"{value.get('code')}: {value.get('message')}"
