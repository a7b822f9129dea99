"""Failures that are not the rows' own: of what the job gives all rows, of who asks, or of the model and its endpoint.

Where rows fail alike and nothing is answered in between, a control is asked: the job's own settings with a plain
question. If it fails like them, the rows are not to blame, and no other row of the kind is asked; which setting is to
blame is found by leaving them out. A control that is answered acquits the job.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from asking.unanswered import Unanswered
from dialects.base import has_system
from dialects.exchange import Ask, Failure
from engine import routes
from engine.refusals import LIMITS
from host import runner
from rows.errors import JOB_REFUSED, QUOTA_USED_UP, SCHEMA_REFUSED

ALIKE = 5  # rows that fail alike until a control is asked, twice as many after each that was answered
_PRESSING = frozenset({408, 409, 425, 429, 502, 503, 504, 529})  # the server's state, which passes
_HI: dict[str, dict[str, Any]] = {
    routes.CHAT: {"messages": [{"role": "user", "content": "Hi"}]},
    routes.COMPLETIONS: {"prompt": "Hi"},
    routes.RESPONSES: {"input": "Hi"},
    routes.MESSAGES: {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1},
    **{key: {"input": "Hi"} for key in ("/v1/embeddings", "/classify", "/pooling")},
    **{key: {"queries": "Hi", "documents": ["Hi"]} for key in ("/v1/score", "/score")},
    **{key: {"query": "Hi", "documents": ["Hi"]} for key in ("/v1/rerank", "/rerank", "/v2/rerank")},
}
_STRUCTURES = frozenset({"response_format", "structured_outputs", "text", "output_config"})
_SYSTEMS = frozenset({"messages", "instructions", "system"})
_LIMITS = frozenset({*LIMITS, "max_output_tokens"})
_SCHEMA, _SYSTEM = "ResponseSchemaFile", "SystemPrompt"
Key = tuple[str, str, bool]
TryOut = Callable[[Ask], Awaitable[Unanswered | None]]


@dataclass(slots=True)
class _Streak:
    """Rows of one kind that failed alike, nothing answered in between."""

    words: tuple[str, int | None, str] = ("", None, "")
    count: int = 0
    enough: int = ALIKE
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class CommonFault:
    """What is known of faults that rows of a kind have in common. `try_out` asks a control."""

    def __init__(self, try_out: TryOut) -> None:
        self._try_out = try_out
        self._streaks: dict[Key, _Streak] = {}
        self._found: dict[Key, Failure] = {}

    def find(self, ask: Ask) -> Failure | None:
        """Return the fault that a row would fail with, whatever it asks."""
        return self._found.get(_key(ask)) if self._found else None

    def note_answer(self, ask: Ask) -> None:
        """Learn that a row was answered."""
        if streak := self._streaks.get(_key(ask)):
            streak.count = 0

    async def note_failure(self, ask: Ask, failed: Unanswered) -> None:
        """Learn that a row failed; returns once it is known whether it is to blame."""
        failure = failed.failure
        is_state = failure.status in _PRESSING and failure.code != QUOTA_USED_UP
        if failure.status is None or is_state or ask.route not in _HI or ask.file_url:
            return
        streak = self._streaks.setdefault(_key(ask), _Streak())
        async with streak.lock:
            words = _name_kind(failure)
            streak.count = streak.count + 1 if words == streak.words else 1
            streak.words = words
            if streak.count >= streak.enough and self.find(ask) is None:
                streak.count, streak.enough = 0, 2 * streak.enough
                await self._judge(ask, failure)

    async def _judge(self, ask: Ask, failure: Failure) -> None:
        """Find out whether what rows have in common is to blame."""
        settings = _settings_of(ask)
        if not await self._fails_alike(ask, settings, failure):
            return
        if await self._fails_alike(ask, {}, failure):
            if (failure.status or 0) < 500:  # a server that fails at everything may be well again soon
                self._convict(ask, Failure(failure.code, failure.message, failure.status))
            return
        if await self._fails_alike(ask, settings, failure):  # once more: what failed between two answers may pass
            name = await self._find_setting(ask, settings, failure)
            why = Failure(JOB_REFUSED, f"the server refuses {name}: {failure.message}", failure.status)
            self._convict(ask, replace(why, code=SCHEMA_REFUSED) if name == _SCHEMA else why)

    async def _find_setting(self, ask: Ask, settings: dict[str, dict[str, Any]], failure: Failure) -> str:
        for name in settings:
            others = {other: fields for other, fields in settings.items() if other != name}
            if not await self._fails_alike(ask, others, failure):
                return name
        return "what the job gives every row"

    async def _fails_alike(self, ask: Ask, settings: dict[str, dict[str, Any]], failure: Failure) -> bool:
        failed = await self._try_out(_make_control(ask, settings))
        return failed is not None and _name_kind(failed.failure) == _name_kind(failure)

    def _convict(self, ask: Ask, why: Failure) -> None:
        runner.say(f"rows fail alike, and it is not for what they ask: {runner.printable(why.message, 600)}")
        told = f"{why.message}; found on other rows of the chunk, this one was not asked to its end"
        self._found[_key(ask)] = Failure(why.code, told, why.status)


def _name_kind(failure: Failure) -> tuple[str, int | None, str]:
    """Return what alike failures have in common: their words, but for what is quoted, counted or numbered."""
    return failure.code, failure.status, re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\S*\d\S*", "", failure.message)


def _key(ask: Ask) -> Key:
    """Return what rows must have in common to fail for one reason."""
    return ask.route, str(ask.body.get("model", "")), ask.schema


def _settings_of(ask: Ask) -> dict[str, dict[str, Any]]:
    """Return the fields of a request that the job gave, by the parameter that gave them."""
    found: dict[str, dict[str, Any]] = {}
    if ask.schema:
        found[_SCHEMA] = {name: ask.body[name] for name in _STRUCTURES & ask.body.keys()}
    for name in sorted(ask.from_job & ask.body.keys() - _LIMITS):
        parameter = _SYSTEM if name in _SYSTEMS else "Temperature" if name == "temperature" else "SamplingParams"
        found.setdefault(parameter, {})[name] = ask.body[name]
    return found


def _make_control(ask: Ask, settings: dict[str, dict[str, Any]]) -> Ask:
    """Return a plain question with these settings, to the model that rows ask."""
    body: dict[str, Any] = {name: ask.body[name] for name in ("model",) if name in ask.body} | _HI[ask.route]
    if ask.route == routes.CHAT:
        body |= {name: 1 for name in LIMITS if name in ask.body}
    for fields in settings.values():
        body |= fields
    if ask.route == routes.CHAT and "messages" in settings.get(_SYSTEM, {}):
        first = ask.body["messages"][:1]
        body["messages"] = [*(first if has_system(first) else []), *_HI[routes.CHAT]["messages"]]
    return Ask(ask.route, body)
