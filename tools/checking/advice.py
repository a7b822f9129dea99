"""What an answer to all of an input would take.

Numbers that nobody measured are named as assumptions beside the result. A summary.json of an earlier job replaces the
assumptions by what that job measured; prices are the caller's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checking.census import Census

ASSUMED_RATE = 1_000.0  # tokens a second of one worker; models and GPUs differ by factors of ten either way
LARGEST_FIGURE = 10**18  # of a summary; more is a broken file
ASSUMED_LOAD = 300.0  # seconds from a worker's start to its first answer


class AdviceError(Exception):
    """Figures that no estimate can be made from; the message says why."""


def estimate(
    census: Census, *, workers: int, price_per_hour: float | None, rate: float | None, summary: Path | None
) -> dict[str, Any]:
    """Return tokens, GPU time and cost of answering what the census counted, and the assumptions behind them.

    rate: tokens a second of one worker, prompt and answer together; it wins over the summary's.
    summary: the summary.json of an earlier job. Raises AdviceError for one that says nothing, and OSError.
    """
    assumptions = ["tokens are estimated at 4 bytes of text each; images and sound are not counted"]
    answered = census.nonblank - census.failing
    prompt, answer = census.prompt_tokens, census.answer_limit
    load = ASSUMED_LOAD
    if summary is not None:
        measured = _measured(summary)
        answer = round(answered * measured.answer_tokens)
        prompt = round(answered * measured.prompt_tokens)
        rate = rate or measured.rate
        assumptions = [f"rates and tokens a row as in {measured.rows:,} rows answered earlier by {measured.model}"]
    elif answer:
        assumptions.append("every answer runs to its limit of tokens, so that this is the most it takes")
    if rate is None:
        rate = ASSUMED_RATE
        assumptions.append(
            f"one worker does {rate:,.0f} tokens a second, a guess and not a measurement: "
            "run the trial below and give its summary with --summary"
        )
    assumptions.append(f"{workers} worker{'s' * (workers > 1)}, each {load / 60:.0f} minutes to load the model")
    seconds = (prompt + answer) / rate
    hours = (seconds + load * workers) / 3600
    cost = None if price_per_hour is None else round(hours * price_per_hour, 2)
    return {
        "prompt_tokens": prompt,
        "answer_tokens": answer,
        "worker_hours": round(hours, 3),
        "wall_hours": round((seconds / workers + load) / 3600, 3),
        "price_per_hour": price_per_hour,
        "cost": cost,
        "assumptions": assumptions,
    }


@dataclass(frozen=True, slots=True)
class _Measured:
    """Averages of an earlier job: tokens a row, and tokens a second of one worker."""

    rows: int
    model: str
    prompt_tokens: float
    answer_tokens: float
    rate: float


def _measured(path: Path) -> _Measured:
    """Read the averages of a summary.json. Raises AdviceError, which names the file, and OSError."""
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise AdviceError(f"{path} is not JSON ({error}); name the summary.json of an earlier job") from None
    names = ("succeeded", "seconds", "prompt_tokens", "completion_tokens", "workers")
    rows, seconds, prompt, answer, workers = (_figure(path, summary, name) for name in names)
    if rows < 1 or seconds <= 0 or prompt + answer < 1:
        raise AdviceError(f"the job of {path} answered no row, so nothing can be learnt from it")
    rate = (prompt + answer) / seconds / max(1, workers)
    return _Measured(int(rows), str(summary.get("model")), prompt / rows, answer / rows, rate)


def _figure(path: Path, summary: Any, name: str) -> float:
    value = summary.get(name) if isinstance(summary, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < LARGEST_FIGURE:
        raise AdviceError(f'{path}: "{name}" is missing or no count; name the summary.json of an earlier job')
    return float(value)
