"""summary.json: the counts of a job, what it used, and what to run again."""

from __future__ import annotations

import array
import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dialects.reply import CUT_OFF
from job import parameters
from results import cost
from results.engine_use import EngineUse, add_up
from results.folder import INTERRUPTED
from results.merge import Merge
from results.repeats import Repeats
from results.spans import count_seconds
from results.usage import Usage
from results.work import Work, add_up_time
from rows import ranges

MANY_ALIKE, SHARE_ALIKE = 10, 0.1  # from here on, answers that are equal are told


@dataclass
class Counts:
    """Counts over every requested line that the input has."""

    succeeded: int = 0
    failed: int = 0
    missing: int = 0
    blank: int = 0
    truncated: int = 0
    empty: int = 0
    refused: int = 0
    shared: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    dialects: Counter[str] = field(default_factory=Counter)
    endpoints: Counter[str] = field(default_factory=Counter)
    repeats: Repeats = field(default_factory=Repeats)
    failed_lines: array.array[int] = field(default_factory=lambda: array.array("Q"))

    def add(self, line: int, head: dict[str, Any], *, is_missing: bool) -> None:
        """Count one line's result."""
        if head["status"] == "blank":
            self.blank += 1
            return
        self.dialects[head["dialect"]] += 1
        if endpoint := head.get("endpoint"):
            self.endpoints[endpoint] += 1
        if head["status"] == "failed":
            self.failed += 1
            self.missing += is_missing
            self.errors[head["code"]] += 1
            self.failed_lines.append(line)
            return
        self.succeeded += 1
        self.truncated += head.get("finish") in CUT_OFF
        self.empty += bool(head.get("empty"))
        self.refused += bool(head.get("refused"))
        if "says" in head and not head.get("shared"):
            self.repeats.add(head["says"], line)
        if head.get("shared"):  # its tokens are counted with the line that was asked
            self.shared += 1
            return
        self.prompt_tokens += head.get("in") or 0
        self.cached_tokens += head.get("cached") or 0
        self.completion_tokens += head.get("out") or 0


def summarise(counts: Counts, merge: Merge, values: Mapping[str, Any], usages: Sequence[Usage] = ()) -> dict[str, Any]:
    """Return the summary; `values` are what is known of the job's parameters, `usages` what the service counted.

    Raises AssertionError when the counts do not add up: that would be a fault here.
    """
    requested = len(merge.requested)
    present = len(merge.requested.up_to(merge.input.lines))
    if counts.succeeded + counts.failed + counts.blank != present:
        raise AssertionError(f"{present} lines were asked for, {counts} accounts for another number")
    spans = [span for work in merge.works for span in work.shown.all]
    seconds = count_seconds(spans)
    used = merge.used
    workers = len({shard.header.worker for shard in used})
    use = EngineUse(len(used), workers, add_up(shard.engines for shard in used))
    spent = add_up_time(merge.works)
    tokens = counts.prompt_tokens + counts.completion_tokens
    return {
        "requested": requested,
        "succeeded": counts.succeeded,
        "failed": counts.failed,
        "missing": counts.missing,
        "blank": counts.blank,
        "past_end": requested - present,
        "not_requested": merge.input.lines - present,
        "rerun": _find_rerun(counts),
        "truncated": counts.truncated,
        "empty": counts.empty,
        "refused": counts.refused,
        "shared": counts.shared,
        "reused": sum(work.answers for work in merge.reused),
        "repeated": counts.repeats.find_commonest(),
        "prompt_tokens": counts.prompt_tokens,
        "cached_tokens": counts.cached_tokens,
        "completion_tokens": counts.completion_tokens,
        "seconds": round(seconds, 3),
        "tokens_per_second": round(counts.completion_tokens / seconds, 2) if seconds else 0.0,
        "model_loads": len({load.name for shard in used for load in shard.loads}),
        "engines": use.as_json(),
        "cost": cost.price(spent, tokens, values.get("PricePerHour") or 0.0, usages),
        "errors": dict(counts.errors.most_common()),
        "dialects": dict(counts.dialects),
        "endpoints": dict(counts.endpoints),
        "model": merge.newest.header.model if merge.newest else values.get("ModelName", ""),
        "input": {"name": merge.input.name, "sha256": merge.input.sha256, "lines": merge.input.lines},
        "started": _write_time(min(first for first, _ in spans)) if spans else None,
        "finished": _write_time(max(last for _, last in spans)) if spans else None,
        "workers": workers,
        "shards": len(used),
        "placement": sorted({shard.header.placement for shard in used} - {""}),
        "parameters": parameters.record(values),
        "records": {
            "total": counts.succeeded + counts.failed,
            "processed": counts.succeeded + counts.failed - counts.missing,
            "success": counts.succeeded,
            "error": counts.failed,
            "input_tokens": counts.prompt_tokens,
            "output_tokens": counts.completion_tokens,
        },
        "notes": [*merge.notes, *_tell_reused(merge.reused), *use.advise(values.get("MaxConcurrency", 0))],
    }


def _tell_reused(works: Sequence[Work]) -> list[str]:
    """Say how many answers of earlier jobs are shown that would be others if they were asked again."""
    many = sum(work.varying for work in works)
    if not many:
        return []
    moments = [work.shard.header.created for work in works if work.varying]
    jobs = len({work.shard.header.job for work in works if work.varying})
    first, last = _write_time(min(moments)), _write_time(max(moments))
    whose = f"{jobs} earlier jobs (begun {first} to {last})" if jobs > 1 else f"an earlier job (begun {first})"
    are = "1 answer is" if many == 1 else f"{many:,} answers are"
    return [f"{are} reused of {whose}; above temperature 0, asking again may give others"]


def tell_answers(whole: dict[str, Any]) -> str:
    """Say of how many answers a person should look at one; nothing where there are none."""
    known = {"truncated": "cut off", "empty": "empty", "refused": "refused"}
    told = [f"{whole[name]:,} {word}" for name, word in known.items() if whole[name]]
    repeated = whole["repeated"]
    if repeated and repeated["rows"] >= max(MANY_ALIKE, whole["succeeded"] * SHARE_ALIKE):
        told.append(f"{repeated['rows']:,} the same, as in line {repeated['line']}")
    return ", ".join(told)


def mark_unfinished(whole: dict[str, Any], progress: str) -> None:
    """Say in a summary that its job still runs, and how far it is; chunks at work were not interrupted."""
    whole["unfinished"] = progress
    waiting = f"{whole['missing']:,} lines have no result yet and count as missing until it ends"
    others = [note for note in whole["notes"] if not note.endswith(INTERRUPTED)]
    whole["notes"] = [f"UNFINISHED: the job still runs ({progress}); {waiting}", *others]


def _find_rerun(counts: Counts) -> str | None:
    expression = ranges.write(counts.failed_lines)
    return expression if 0 < len(expression) <= ranges.EXPRESSION_LIMIT else None


def _write_time(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
