#!/usr/bin/env python3
"""Measure what the bundle costs and print the table, goal and figure side by side.

usage: run_all.py [--quick] [--output FILE] [ROW ...]      for example: run_all.py, run_all.py 4 5, run_all.py --quick 1

Needs Linux, Python 3.11 or newer and PyPI; makes its environments and the model by tools/setup_env.py. The whole takes
15 to 30 minutes on two idle cores, 5 GB of disk in the temporary folder (TMPDIR), and a machine that does nothing else:
ratios are of runs that follow each other. --quick takes small sizes, to see that everything runs; its figures are no
measurement. --output writes the table there, too. Exit status 0 when every row could be measured, also below its goal.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from figures import ROOT, Figure, say, table

sys.path.insert(0, str(ROOT / "tools"))

import setup_env

HERE = Path(__file__).resolve().parent
PROGRAMS: dict[str, tuple[int, ...]] = {
    "engine.py": (1, 2, 3, 10),
    "overhead.py": (4, 5),
    "scale.py": (6, 7, 8, 11, 13),
    "results_page.py": (9,),
    "check_file.py": (12,),
    "to_table.py": (14,),
    "copies.py": (15,),
    "front.py": (16,),
    "two_copies.py": (17,),
    "batch_api.py": (18, 19, 20),
    "embeddings.py": (21,),
}
MODELS = {
    "engine.py": setup_env.SMALL_MODEL,
    "front.py": setup_env.ENCODER_MODEL,
    "two_copies.py": setup_env.SMALL_MODEL,
    "embeddings.py": setup_env.ENCODER_MODEL,
}
ROWS = range(1, 1 + max(row for rows in PROGRAMS.values() for row in rows))


def command(program: str, rows: Sequence[int], *, quick: bool) -> list[str]:
    """Return the command that measures rows, in the environment that its program needs."""
    kind = "test" if program in ("results_page.py", "to_table.py") else "run-cpu"
    made = [str(setup_env.environment(kind)), "-B", str(HERE / program)]
    if program == "results_page.py":
        return made
    made += ["--rows", ",".join(map(str, rows)), *(["--quick"] if quick else [])]
    return [*made, "--model", str(setup_env.model(MODELS[program]))] if program in MODELS else made


def measure(program: str, rows: Sequence[int], *, quick: bool) -> tuple[list[Figure], bool]:
    """Run one program; return its figures, and whether it ended well."""
    say(f"== {program}, rows {', '.join(map(str, rows))}")
    begun = time.monotonic()
    variables = {**os.environ, "PYTHONNOUSERSITE": "1"}
    process = subprocess.Popen(
        command(program, rows, quick=quick), stdout=subprocess.PIPE, text=True, env=variables, cwd=HERE
    )
    assert process.stdout is not None
    figures = []
    for line in process.stdout:
        figures.append(Figure(**json.loads(line)))
        say(f"row {figures[-1].row}: {figures[-1].figure} (goal: {figures[-1].goal})")
    well = process.wait() == 0
    say(f"== {program}: {'done' if well else 'FAILED'}, {time.monotonic() - begun:.0f} s")
    return figures, well


def machine() -> str:
    """Return the machine's name, for the table."""
    found = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    names = [line.partition(":")[2].strip() for line in found.splitlines() if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    load = os.getloadavg()[1]
    return (
        f"{os.cpu_count()} cores of {names[0] if names else platform.machine()}, {memory:.0f} GiB of memory, "
        f"Linux {platform.release()}, Python {platform.python_version()}, load average {load:.1f} at the start"
    )


def row_number(text: str) -> int:
    """Return a row of the table. Raises ValueError for another number, as argparse wants it."""
    if int(text) not in ROWS:
        raise ValueError(text)
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the rows asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, only to see that everything runs")
    parser.add_argument("--output", type=Path, help="write the table to this file, too")
    parser.add_argument("row", nargs="*", type=row_number, metavar="ROW", help=f"1 to {ROWS[-1]} (all)")
    given = parser.parse_args(argv)
    wanted, where = set(given.row) or set(ROWS), machine()
    figures, failed = [], []
    for program, rows in PROGRAMS.items():
        if asked := [row for row in rows if row in wanted]:
            found, well = measure(program, asked, quick=given.quick)
            figures += [figure for figure in found if figure.row in wanted]
            failed += [] if well else [program]
    arguments = " ".join(sys.argv[1:] if argv is None else argv)
    text = f"{table(figures)}\n\n`python3 benchmarks/run_all.py {arguments}`".rstrip(" `") + f"`, {where}.\n"
    print(text)
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    if failed:
        say(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
