"""A page of one row of every kind that it knows how to show."""

from __future__ import annotations

import math
import random

from page.writer import PageRow
from support.pages.kinds_of_batch_lines import batch_kinds
from support.pages.kinds_of_prompt_rows import Kind, prompt_kinds
from support.pages.page_rows import SUBJECTS, page_row


def unit_vector(rand: random.Random, size: int = 64, centre: int = 0) -> list[float]:
    """Return a vector of length one, near one of a few centres so that a map has groups."""
    raw = [rand.gauss(0, 0.4) + (2.0 if i % 5 == centre % 5 else 0) for i in range(size)]
    length = math.sqrt(sum(value * value for value in raw))
    return [round(value / length, 6) for value in raw]


def kinds() -> list[Kind]:
    """Return every kind, in the order of the gallery's rows."""
    return prompt_kinds() + batch_kinds()


def gallery() -> list[PageRow]:
    """Return a page's rows: every kind once, then embeddings enough for a map."""
    rand = random.Random(3)
    rows = [page_row(n + 1, line, rand, **more) for n, (_, line, more) in enumerate(kinds())]
    for n in range(40):
        line = {
            "text": f"A note about {SUBJECTS[n % 5]}",
            "topic": SUBJECTS[n % 5],
            "embedding": unit_vector(rand, centre=n),
            "prompt_tokens": 6,
        }
        rows.append(page_row(len(rows) + 1, line, rand, endpoint="/v1/embeddings"))
    return rows
