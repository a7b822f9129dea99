"""Row 15: what our side of a request costs where one task keeps four engines full.

Four stub servers that answer after a fixed time stand for four copies of a model. The chunk program asks them all,
4,096 requests in flight together, as on a worker with four large GPUs. So many rows are asked that each connection
carries several of them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from figures import SCRIPTS, Figure, emit, say
from overhead import write_rows
from session import Session, stats, stub

sys.path.insert(0, str(SCRIPTS))

from engine.note import load_note, write_note

COPIES, IN_FLIGHT, ROWS, ANSWER_SECONDS = 4, 4096, 16_384, 2.0
CPU_GOAL = 0.4  # ms a row


def cost_of_copies(folder: Path, rows: int) -> None:
    """Measure row 15."""
    file = folder / "rows.jsonl"
    write_rows(file, rows)
    with ExitStack() as stack:
        urls = [stack.enter_context(stub(ANSWER_SECONDS)) for _ in range(COPIES)]
        session = Session(folder, file, "stub", f"1-{rows}", concurrency=IN_FLIGHT)
        session.start(server_url=urls[0])
        note = load_note(folder / "session")
        engines = tuple(replace(note.engines[0], number=number, url=url) for number, url in enumerate(urls))
        write_note(replace(note, engines=engines), folder / "session")
        for url in urls:
            stats(url)
        cost = session.chunk(f"1-{rows}")
        seen = [stats(url) for url in urls]
    assert sum(each["requests"] for each in seen) == rows, seen
    session.aggregate()
    assert session.summary()["succeeded"] == rows
    per_row, peak = 1000 * cost.cpu / rows, sum(each["peak"] for each in seen)
    ideal = -(-rows // IN_FLIGHT) * ANSWER_SECONDS
    figure = f"{per_row:.2f} ms, wall {cost.wall / ideal:.2f} of ideal, {peak:.0f} in flight at most"
    measure = f"Client cost, {rows:,} rows over {COPIES} servers, {IN_FLIGHT:,} in flight, process start included"
    emit(Figure(15, measure, f"{CPU_GOAL} ms of CPU a row", figure, met=per_row <= CPU_GOAL))


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the rows")
    parser.add_argument("--rows", default="15", help="rows of the table; there is one")
    rows = ROWS // 4 if parser.parse_args().quick else ROWS
    say(f"row 15: {rows:,} rows against {COPIES} stub servers ...")
    with tempfile.TemporaryDirectory() as name:
        cost_of_copies(Path(name), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
