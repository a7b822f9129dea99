"""Rows and summaries as aggregate gives them to the page, made up but lifelike, for tests and benchmarks."""

from __future__ import annotations

import functools
import itertools
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from page.writer import Page, PageReport, PageRow

SUBJECTS_TEXT = """
photosynthesis tides gravity compost lichens glaciers magnetism yeast sonnets bridges vaccines inflation lighthouses
algorithms volcanoes honeybees clocks deserts libraries tectonics enzymes orbits rivers canals looms ferries
"""
SUBJECTS = tuple(SUBJECTS_TEXT.split())
OPENINGS = (
    "Explain",
    "Summarise",
    "What is",
    "Write a short note on",
    "How would you teach a child about",
    "Compare two views of",
)
WORDS_TEXT = """
the of and to in is that for it as with on by this are from at which an be or was not have has can more than but also
these when water light energy process system people small large change time form part plant surface heat force field
material structure example because through between often during usually however therefore although several important
common different simple natural early modern carbon oxygen pressure distance signal memory pattern market season
culture language measure history theory practice result question answer
"""
WORDS = tuple(WORDS_TEXT.split())
RANKED = list(itertools.accumulate(0.965**rank for rank in range(len(WORDS))))  # common words first
MARKDOWN = """## {0} in short

**{0}** matters for *three* reasons:

1. It moves energy from one place to another.
2. It can be measured, see `measure({0})`.
3. It is taught early.

| Property | Value |
|:--|--:|
| strength | {1} |
| age | {2} |

```python
def measure(name):
    return len(name) * {1}
```

> A closing thought: look twice.
"""


@functools.cache
def sentences() -> tuple[str, ...]:
    """Return a stock of sentences, so large that the compressor's window seldom sees one twice."""
    rand = random.Random(11)
    made = []
    for _ in range(20_000):
        size = rand.randint(6, 18)
        picked = rand.choices(WORDS, cum_weights=RANKED, k=size)
        picked[rand.randrange(size)] = rand.choice(SUBJECTS)
        made.append(" ".join([picked[0].capitalize(), *picked[1:]]) + ".")
    return tuple(made)


def sentence_text(rand: random.Random, words: int) -> str:
    """Return prose-like text of about so many words; common words come up more often, as in real prose."""
    return " ".join(rand.choices(sentences(), k=max(1, words // 12)))


def prompt_row(line: int, rand: random.Random, *, failed: bool = False, words: int = 120) -> PageRow:
    """Return one prompt row with Markdown now and then."""
    subject = rand.choice(SUBJECTS)
    row: dict[str, Any] = {
        "prompt": f"{rand.choice(OPENINGS)} {subject}.",
        "id": f"{line:06d}",
        "topic": subject,
        "level": rand.choice(["easy", "medium", "hard"]),
    }
    size = max(5, int(rand.lognormvariate(0, 0.5) * words))
    if failed:
        row["error"] = {
            "code": "context_length_exceeded",
            "message": f"This model's maximum context length is 4096 tokens; line {line} has 5120.",
            "status": 400,
            "attempts": 1,
        }
    else:
        text = (
            MARKDOWN.format(subject.capitalize(), rand.randint(2, 99), rand.randint(100, 2000))
            if line % 7 == 1
            else sentence_text(rand, size)
        )
        row |= {
            "generated_text": text,
            "finish_reason": "length" if rand.random() < 0.06 else "stop",
            "prompt_tokens": 9 + line % 5,
            "completion_tokens": int(len(text) / 4.4),
        }
    return page_row(line, row, rand, failed=failed)


def page_row(
    line: int,
    row: dict[str, Any],
    rand: random.Random,
    *,
    failed: bool = False,
    dialect: str = "prompt",
    endpoint: str = "/v1/chat/completions",
    given: bytes = b"",
) -> PageRow:
    """Return `row` as the page gets it, with times that look like three workers' ones."""
    worker = f"session-{line % 3 + 1}"
    seconds = 0.4 + rand.lognormvariate(1, 0.5)
    return PageRow(
        line=line,
        status="failed" if failed else "succeeded",
        dialect=dialect,
        endpoint=endpoint,
        output=json.dumps(row, ensure_ascii=False).encode(),
        input=given,
        started=1_764_435_600.0 + line * 0.02 + (40 if worker.endswith("3") else 0),
        seconds=seconds,
        attempts=1,
        worker=worker,
    )


def prompt_rows(
    count: int, *, failed: frozenset[int] = frozenset({17}), seed: int = 7, words: int = 120
) -> Iterator[PageRow]:
    """Yield `count` prompt rows."""
    rand = random.Random(seed)
    for line in range(1, count + 1):
        yield prompt_row(line, rand, failed=line in failed, words=words)


def object_rows(count: int, *, seed: int = 5) -> Iterator[PageRow]:
    """Yield `count` reviews whose answers are JSON objects."""
    rand = random.Random(seed)
    for line in range(1, count + 1):
        answer = {
            "sentiment": rand.choice(("positive", "mixed", "negative")),
            "topics": rand.sample(("quality", "price", "delivery", "service", "use"), rand.randint(1, 3)),
            "score": round(rand.random(), 3),
            "note": sentence_text(rand, 24),
        }
        own = {"id": f"{line:06d}", "prompt": sentence_text(rand, 80), "stars": rand.randint(1, 5)}
        counts = {"finish_reason": "stop", "prompt_tokens": 90, "completion_tokens": 60}
        yield page_row(line, {**own, "generated_text": json.dumps(answer), **counts}, rand)


def summary(requested: int, *, failed: int = 1, truncated: int = 0, **more: Any) -> dict[str, Any]:
    """Return a summary.json that fits such rows."""
    return {
        "requested": requested,
        "succeeded": requested - failed,
        "failed": failed,
        "missing": 0,
        "blank": 0,
        "past_end": 0,
        "not_requested": 0,
        "rerun": "17" if failed == 1 else None,
        "truncated": truncated,
        "prompt_tokens": requested * 11,
        "completion_tokens": requested * 160,
        "seconds": 252.4,
        "tokens_per_second": round(requested * 160 / 252.4, 1),
        "model_loads": 3,
        "cost": {
            "worker_seconds": 720.0,
            "load_seconds": 120.0,
            "answering_seconds": 590.0,
            "idle_seconds": 10.0,
            "in_vain_seconds": 72.0,
            "in_vain": {"not_shown_seconds": 60.0, "failed_seconds": 12.0, "loads_again_seconds": 0.0},
            "sessions": 3,
            "untold_sessions": 1,
            "price_per_hour": 1.5,
            "dollars": 0.3,
            "dollars_in_vain": 0.03,
            "dollars_per_million_tokens": 5.848,
            "service": {"jobs": [f"job-{'a' * 32}"], "runtime_seconds": 900.0, "dollars": None},
        },
        "cached_tokens": requested * 2,
        "engines": {
            "seconds": 750.0,
            "full": 0.62,
            "part": 0.2,
            "little": 0.1,
            "idle": 0.08,
            "tokens_per_second": 64.2,
            "preemptions": 7,
            "highest_cache_use": 0.91,
        },
        "errors": {"context_length_exceeded": failed} if failed else {},
        "dialects": {"prompt": requested},
        "endpoints": {"/v1/chat/completions": requested},
        "model": "Qwen/Qwen2.5-7B-Instruct",
        "input": {"name": "sample_prompts.jsonl", "sha256": "9f2c" * 16, "lines": requested},
        "started": "2025-11-29T17:00:00Z",
        "finished": "2025-11-29T17:04:12Z",
        "workers": 3,
        "placement": ["4 copies of the model, each on 1 GPU: it needs 17.2 GiB and a server takes 20.2 GiB of a GPU"],
        "parameters": {
            "ModelName": "Qwen/Qwen2.5-7B-Instruct",
            "MaxTokens": 256,
            "Temperature": 0.7,
            "Prompts": f"1-{requested}",
        },
        "records": {
            "total": requested,
            "processed": requested,
            "success": requested - failed,
            "error": failed,
            "input_tokens": 1,
            "output_tokens": 1,
        },
        "notes": [],
        **more,
    }


def write_page(path: Path, summary: dict[str, Any], rows: Iterable[PageRow]) -> PageReport:
    """Write a page of rows as aggregate does."""
    with Page(path.parent) as page:
        for row in rows:
            page.add(row)
        return page.write(path, summary)
