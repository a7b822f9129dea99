"""Answers of servers, for the tests of what is read of them."""

from __future__ import annotations

from typing import Any

from dialects.answers import read_results
from dialects.exchange import Answer, Ask
from job.defaults import Defaults


def results(route: str, body: dict[str, Any]) -> dict[str, Any]:
    return read_results(Ask(route, {}), Answer(200, "", body, ""), Defaults())


def choice(content: Any = "yes", end: Any = "stop", **message: Any) -> dict[str, Any]:
    return {"message": {"content": content, **message}, "finish_reason": end}
