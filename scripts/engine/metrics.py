"""What vLLM's page of metrics tells of an engine: counters since its start, and how full its cache is.

The names are those of vLLM 0.19 to 0.33. An engine with several series of one name, such as one for each rank, counts
as their sum.
"""

from __future__ import annotations

import math
import re

COUNTERS = {
    "generation_tokens_total": "generated",
    "num_preemptions_total": "preemptions",
    "prefix_cache_queries_total": "prefix_asked",
    "prefix_cache_hits_total": "prefix_found",
}
_CACHE = "kv_cache_usage_perc"  # a share of 1, whatever its name says
_SERIES = re.compile(rf"^vllm:({'|'.join([*COUNTERS, _CACHE])})(?:\{{.*\}})? (\S+)$", re.MULTILINE)


def read_counters(page: str) -> dict[str, float]:
    """Return what a page counts, by this project's names; a counter that it lacks or that is no number is left out."""
    counts: dict[str, float] = {}
    for name, value in _read_series(page):
        if name != _CACHE:
            counts[COUNTERS[name]] = counts.get(COUNTERS[name], 0.0) + value
    return counts


def read_cache_share(page: str) -> float:
    """Return the share of the KV cache that is in use, 0 where the page does not tell."""
    return max((value for name, value in _read_series(page) if name == _CACHE), default=0.0)


def _read_series(page: str) -> list[tuple[str, float]]:
    found = []
    for name, text in _SERIES.findall(page):
        try:
            value = float(text)
        except ValueError:
            continue
        if math.isfinite(value):
            found.append((name, value))
    return found
