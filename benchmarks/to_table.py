#!/usr/bin/env python3
"""Measure tools/to_table.py on made-up answers: rows a second and peak memory of each form of a table.

usage: to_table.py [--rows 14] [--quick]        (1,000,000 rows; 20,000 with --quick)

The rows have four columns of their own and answers of four fields, about 400 bytes each. The results are written to a
temporary folder first, which is not measured. Prints row 14 of the table for run_all.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from figures import MIB, ROOT, Figure, emit, measured, say

GOAL = 200 * MIB  # bytes
FORMS = ("csv", "jsonl", "parquet", "xlsx")
MOODS = ("positive", "mixed", "negative")
REVIEW = "The kettle boils fast and is quiet, but the lid sticks, and number {} came without a cable."


def row(number: int) -> str:
    """Return one line of output.jsonl."""
    answer = {"sentiment": MOODS[number % 3], "topics": ["quality", "use"], "score": number / 8, "note": f"n{number}"}
    own = {"id": f"{number:07d}", "review": REVIEW.format(number), "stars": 1 + number % 5, "price": number / 4}
    result = {"generated_text": json.dumps(answer), "finish_reason": "stop", "prompt_tokens": 41}
    return json.dumps({**own, **result, "completion_tokens": 32})


def main() -> int:
    """Write the results, make each table of them, print the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="14", help="rows of the table; there is one")
    parser.add_argument("--quick", action="store_true", help="few rows, only to see that it runs")
    rows = 20_000 if parser.parse_args().quick else 1_000_000
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "output.jsonl"
        with results.open("w", encoding="utf-8") as file:
            file.writelines(row(number) + "\n" for number in range(1, rows + 1))
        size = results.stat().st_size
        for form in FORMS:
            table = Path(folder) / f"table.{form}"
            program = ROOT / "tools" / "to_table.py"
            costs[form] = measured([sys.executable, "-B", str(program), str(results), "-o", str(table)])
            say(f"{form}: {costs[form].wall:.0f} s, {table.stat().st_size / 1e6:,.0f} MB")
            table.unlink()
    peak = max(cost.peak for cost in costs.values())
    figure = ", ".join(f".{form} {cost.wall:.0f} s and {cost.peak / MIB:.0f} MiB" for form, cost in costs.items())
    emit(
        Figure(14, f"tools/to_table.py over {rows:,} results", "200 MiB", figure, peak < GOAL, f"{size / 1e6:,.0f} MB")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
