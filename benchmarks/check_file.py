#!/usr/bin/env python3
"""Measure tools/check.py on a generated file: lines a second and peak memory of its largest process (of four at most).

usage: check_file.py [--rows 12] [--quick]        (1,000,000 lines; 20,000 with --quick)

The rows are of all five dialects, about 200 bytes each, every one with an id of its own and one in 1,000 broken. The
file is written to a temporary folder first, which is not measured. Prints row 12 of the table for run_all.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from figures import MIB, Figure, emit

GOAL = 150 * MIB  # bytes
CHECK = Path(__file__).resolve().parent.parent / "tools" / "check.py"
TEXT = "Explain in two sentences why the number of the day matters to people who count things for a living: "


def row(number: int) -> str:
    """Return one line; one in 1,000 is no JSON."""
    if number % 1_000 == 0:
        return '{"prompt": "cut off'
    prompt = f"{TEXT}{number}"
    messages = [{"role": "user", "content": prompt}]
    kinds = (
        {"id": number, "prompt": prompt, "topic": "numbers"},
        {"custom_id": f"r{number}", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": messages}},
        {"custom_id": f"r{number}", "params": {"max_tokens": 64, "messages": messages}},
        {"id": number, "input": {"prompt": prompt, "sampling_params": {"max_tokens": 64}}},
        {"recordId": f"r{number}", "modelInput": {"messages": messages, "max_tokens": 64}},
    )
    return json.dumps(kinds[number % len(kinds)])


def cost_of(command: list[str]) -> tuple[float, float, int]:
    """Run a command; return its seconds, its CPU seconds, and the bytes of memory of its largest process at most."""
    begun = time.monotonic()
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(running.pid, 0)
    return time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> int:
    """Write the file, check it, print the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="12", help="rows of the table; there is one")
    parser.add_argument("--quick", action="store_true", help="a small file, only to see that it runs")
    lines = 20_000 if parser.parse_args().quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(row(number) + "\n" for number in range(1, lines + 1))
        size = path.stat().st_size
        seconds, cpu, peak = cost_of([sys.executable, "-B", str(CHECK), str(path), "--json"])
    figure = f"{lines / seconds:,.0f} lines/s, {peak / MIB:,.0f} MiB in its largest process"
    note = f"{size / 1e6:,.0f} MB in {seconds:.0f} s, {lines / cpu:,.0f} lines a CPU second"
    emit(Figure(12, f"tools/check.py over {lines:,} lines", "150 MiB", figure, peak < GOAL, note))
    return 0


if __name__ == "__main__":
    sys.exit(main())
