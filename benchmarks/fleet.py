#!/usr/bin/env python3
"""Simulate a fleet on jobs of many sizes: time and cost for several sizes of tasks, from measured parts.

usage: fleet.py [--rows N] [--rate TOKENS_A_SECOND] [--load SECONDS] [--price PER_HOUR] [...]

The parts are arguments; their defaults were measured with this project's benchmarks on two cores, the others are
assumptions and printed as such. Nothing is fitted to the result. A second table has what the tools suggest
(tools/checking/sizes.py, the one place of that rule) for 10^3 to 10^6 rows, beside the cheapest of all sizes, which is
mostly one worker for one load, and the cheapest that takes no longer.

A task: the host's and the program's time around it, then its rows through one engine. k rows in flight share
rate * k / (k + half) tokens a second; at most `concurrency` are in flight, the longest first, and the engine drains at
the task's end. A worker: `load` seconds, then tasks, each the next of the queue. An interruption costs half a task and
another load. A worker is paid from its start to the end of its last task. Not in it: resizing by TargetRuntimeSeconds,
transfers of the input, and Aggregate.
"""

from __future__ import annotations

import argparse
import functools
import heapq
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from figures import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from checking import sizes

HOUR = 3600.0  # seconds
WORKERS = (1, 8, 64)
ROWS = (1_000, 10_000, 100_000, 1_000_000)
FEWEST = 100  # rows of the smallest tasks that are tried
SAME = 1.01  # times the hours; less is no difference
SIZES = (100, 500, 2_000, 5_000, 10_000, 25_000, 100_000)  # lines a task


@dataclass(frozen=True, slots=True)
class Parts:
    """What the simulation is made of. Times in seconds, lengths in tokens."""

    rate: float
    half: float
    load: float
    overhead: float
    shortest: int
    longest: int
    concurrency: int
    interruptions: float  # of a worker, an hour
    price: float  # of a worker, an hour


@dataclass(frozen=True, slots=True)
class Outcome:
    """A whole job: hours until it is done, hours of all workers, and the share of them in which rows were answered."""

    hours: float
    worker_hours: float
    useful: float


@functools.cache
def task_seconds(rows: int, parts: Parts, seed: int = 1) -> float:
    """Return how long one task's rows take in the engine, its tail included."""
    lengths = random.Random(seed)  # noqa: S311 - the same job every time
    todo = sorted((lengths.uniform(parts.shortest, parts.longest) for _ in range(rows)), reverse=True)
    clock, served = 0.0, 0.0  # seconds, and tokens that a row in flight all the time would have
    running: list[float] = []  # what `served` will be when each row is done
    waiting: Iterator[float] = iter(todo)
    for length in waiting:
        heapq.heappush(running, served + length)
        if len(running) >= parts.concurrency:
            clock, served = _next(running, clock, served, parts)
    while running:
        clock, served = _next(running, clock, served, parts)
    return clock


def _next(running: list[float], clock: float, served: float, parts: Parts) -> tuple[float, float]:
    """Let the row that is done first be done; return the clock and what was served."""
    in_flight = len(running)
    done = heapq.heappop(running)
    each = parts.rate / (in_flight + parts.half)
    return clock + (done - served) / each, done


def simulate(rows: int, per_task: int, workers: int, parts: Parts) -> Outcome:
    """Return what a job of so many rows takes with tasks of `per_task` rows."""
    full, rest = divmod(rows, per_task)
    work = [task_seconds(per_task, parts)] * full + ([task_seconds(rest, parts)] if rest else [])
    queue = [(parts.load, number) for number in range(workers)]  # when each worker is free
    heapq.heapify(queue)
    ends = [0.0] * workers  # of each worker's last task; a worker without one is not paid
    for seconds in work:
        free, number = heapq.heappop(queue)
        whole = parts.overhead + seconds
        lost = parts.interruptions * whole / HOUR * (whole / 2 + parts.load)
        ends[number] = free + whole + lost
        heapq.heappush(queue, (ends[number], number))
    paid = sum(ends)
    return Outcome(max(ends) / HOUR, paid / HOUR, sum(work) / paid)


def report(rows: int, parts: Parts, per_task: Sequence[int]) -> Iterator[str]:
    """Yield the table's lines."""
    yield "| Lines a task | " + " | ".join(f"{n} worker{'s' * (n > 1)}: hours, cost, useful" for n in WORKERS) + " |"
    yield "|---|" + "---|" * len(WORKERS)
    for size in per_task:
        yield f"| {size:,} | " + " | ".join(_cell(simulate(rows, size, n, parts), parts) for n in WORKERS) + " |"


def compare(parts: Parts) -> Iterator[str]:
    """Yield the table of what the tools suggest."""
    yield "| Rows | Workers | Suggested | Hours | Cost | Over the cheapest that takes no longer | Over the cheapest |"
    yield "|---|---|---|---|---|---|---|"
    work = sizes.Work(row=parts.longest * sizes.LIMIT_SHARE, engine=parts.concurrency)
    for rows in ROWS:
        for workers in WORKERS:
            suited = sizes.suit(rows, replace(work, workers=workers))
            chosen = simulate(rows, suited.BlockSize * suited.ChunkSize, workers, parts)
            every = [simulate(rows, each, workers, parts) for each in _every_size(rows)]
            as_fast = [each for each in every if each.hours <= chosen.hours * SAME]
            over = [_over(chosen, [*as_fast, chosen]), _over(chosen, every)]
            yield (
                f"| {rows:,} | {workers} | BlockSize={suited.BlockSize} ChunkSize={suited.ChunkSize} "
                f"| {chosen.hours:,.2f} | {chosen.worker_hours * parts.price:,.2f} | {over[0]} | {over[1]} |"
            )


def _over(chosen: Outcome, others: Sequence[Outcome]) -> str:
    return f"{100 * (chosen.worker_hours / min(each.worker_hours for each in others) - 1):+.1f} %"


def _every_size(rows: int) -> list[int]:
    """Return sizes of tasks from one task up to tasks of FEWEST rows, a fifth apart."""
    counts = {1, *(round(1.2**step) for step in range(60) if 1.2**step * FEWEST <= rows)}
    return [-(-rows // count) for count in sorted(counts)]


def _cell(outcome: Outcome, parts: Parts) -> str:
    return f"{outcome.hours:,.1f} h, {outcome.worker_hours * parts.price:,.0f}, {100 * outcome.useful:.0f} %"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the assumptions and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=541, help="tokens/s of a full engine (benchmarks 1 and 3)")
    parser.add_argument("--half", type=float, default=11.6, help="rows in flight at half of it (the same)")
    parser.add_argument("--load", type=float, default=31, help="s until a worker's first row (benchmark 10)")
    parser.add_argument("--overhead", type=float, default=3.5, help="s around a task (0.5: benchmark 5; 3 assumed)")
    parser.add_argument("--shortest", type=int, default=4, help="tokens of the shortest answer")
    parser.add_argument("--longest", type=int, default=252, help="tokens of the longest; lengths are spread evenly")
    parser.add_argument("--concurrency", type=int, default=256, help="MaxConcurrency")
    parser.add_argument("--interruptions", type=float, default=0.05, help="of a worker an hour (assumed)")
    parser.add_argument("--price", type=float, default=1.0, help="of a worker's hour (assumed)")
    given = vars(parser.parse_args(argv))
    rows = given.pop("rows")
    print(f"{rows:,} rows; " + ", ".join(f"{name} {value:g}" for name, value in given.items()) + "\n")
    parts = Parts(**given)
    print("\n".join([*report(rows, parts, SIZES), "", *compare(parts)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
