"""What a job cost, for its summary: the workers' time by what it went to, and dollars where a price is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from results.usage import Usage, add_usages
from results.work import Spent

HOUR = 3600  # seconds
CENTS = 4  # decimals of dollars: a small job costs less than a cent


def price(spent: Spent, tokens: int, price_per_hour: float, usages: Sequence[Usage]) -> dict[str, Any]:
    """Return what the shown answers cost, and apart what was in vain.

    price_per_hour: dollars for a worker's hour, 0 where nobody told it; then the service's own figure tells it, if any.
    """
    time, service = spent.time, add_usages(usages)
    rate = price_per_hour
    if not rate and service and service.dollars and service.runtime_seconds:
        rate = service.dollars / service.runtime_seconds * HOUR
    dollars = time.useful / HOUR * rate if rate else None
    return {
        "worker_seconds": round(time.useful, 3),
        "load_seconds": round(time.load, 3),
        "answering_seconds": round(time.answering, 3),
        "idle_seconds": round(time.idle, 3),
        "in_vain_seconds": round(time.in_vain, 3),
        "in_vain": {
            "not_shown_seconds": round(time.not_shown, 3),
            "failed_seconds": round(time.failed, 3),
            "loads_again_seconds": round(time.loads_again, 3),
        },
        "sessions": spent.sessions,
        "untold_sessions": spent.untold,
        "price_per_hour": round(rate, CENTS) if rate else None,
        "dollars": _round(dollars),
        "dollars_in_vain": _round(time.in_vain / HOUR * rate if rate else None),
        "dollars_per_million_tokens": _round(dollars / tokens * 1e6 if dollars is not None and tokens else None),
        "service": _tell_service(service, usages),
    }


def _round(dollars: float | None) -> float | None:
    return None if dollars is None else round(dollars, CENTS)


def _tell_service(service: Usage | None, usages: Sequence[Usage]) -> dict[str, Any] | None:
    if service is None:
        return None
    figures = {"runtime_seconds": round(service.runtime_seconds, 3), "dollars": _round(service.dollars)}
    return {"jobs": [each.job for each in usages], **figures}


def tell(cost: Mapping[str, Any]) -> list[str]:
    """Say it in lines for a terminal."""
    if not cost["worker_seconds"] and not cost["in_vain_seconds"]:
        return []
    parts = ", ".join(f"{name} {tell_time(cost[f'{name}_seconds'])}" for name in ("load", "answering", "idle"))
    lines = [f"worker time of these answers: {tell_time(cost['worker_seconds'])} ({parts})"]
    if cost["dollars"] is not None:
        lines[0] += f", ${cost['dollars']:,.2f} at ${cost['price_per_hour']:g} an hour"
    if cost["dollars_per_million_tokens"] is not None:
        lines[0] += f", ${cost['dollars_per_million_tokens']:,.2f} per million tokens"
    if cost["in_vain_seconds"] >= 1:
        lost = f", ${cost['dollars_in_vain']:,.2f}" if cost["dollars_in_vain"] is not None else ""
        lines.append(f"in vain besides: {tell_time(cost['in_vain_seconds'])} of workers{lost}")
    if service := cost["service"]:
        known = f", ${service['dollars']:,.2f}" if service["dollars"] is not None else ""
        lines.append(f"the service counted {tell_time(service['runtime_seconds'])} of workers{known}")
    return lines


def tell_time(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:,.1f} min" if seconds < 2 * HOUR else f"{seconds / HOUR:,.1f} h"
