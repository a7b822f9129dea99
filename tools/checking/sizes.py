"""How large the tasks of a job should be: the one place of this rule, for every command, the hook and the simulation.

A task should keep a worker as long as the model's load took, so that a worker that starts for it is worth its load
(that is where cost times time is least), and hold more rows than an engine takes at once. Single lines are range values
while ChunkSize can count a task's lines; else a value is a block of lines (BlockSize).

What a worker does meanwhile is assumed, not measured: the constants say so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from checking.census import Census
from engine.vllm_args import ArgumentsError, split_arguments, values_of
from job.parameters import BY_NAME
from rows.ranges import Lines

NAMES = ("BlockSize", "ChunkSize", "TargetRuntimeSeconds")
CHUNK_LIMIT = int(BY_NAME["ChunkSize"].most or 1)  # range values a task may have
ENGINE_ROWS = 256  # in flight at once, on GPUs under 70 GiB
FULL = 2  # times the rows in flight: fewer, and the GPU drains for most of a task
LARGEST_TASK = 10_000  # lines; more would cost too much when a worker is lost
TASKS_A_WORKER = 4  # so that no worker waits long for the last one
LOAD_TOKENS = 750_000  # of answers in the time of a load: 2,500 a second (assumed, as in benchmarks/fleet.py) for 300 s
PROMPT_SHARE = 0.1  # of an answer's token: a prompt's are read many at once
LIMIT_SHARE = 0.5  # of its limit that an answer takes
SHORT_SECONDS, LONG_SECONDS = 120, 600  # TargetRuntimeSeconds for a job of one engine's rows, and twice a load


@dataclass(frozen=True, slots=True)
class Sizes:
    """Parameters that answer a whole file, under the template's names."""

    Prompts: str
    BlockSize: int
    ChunkSize: int
    TargetRuntimeSeconds: int

    def parameters(self) -> dict[str, str]:
        """Return them as parameter values."""
        return {name: str(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Work:
    """What sizes depend on but the number of lines. `workers` is the most there will be, None where nobody knows.

    row: tokens that a row takes of an engine, its answer's most of all. engine: rows that an engine has in flight.
    """

    row: float = float(BY_NAME["MaxTokens"].default) * LIMIT_SHARE
    workers: int | None = None
    engine: int = ENGINE_ROWS

    @classmethod
    def of(cls, given: Mapping[str, str], census: Census | None = None, workers: int | None = None) -> Work:
        """Return the work of a job by its parameters and, where its rows were counted, by these."""
        limit = int(given.get("MaxTokens", BY_NAME["MaxTokens"].default))
        row = limit * LIMIT_SHARE
        if census is not None and (rows := census.nonblank - census.failing) > 0:
            row = (census.answer_limit * LIMIT_SHARE + census.prompt_tokens * PROMPT_SHARE) / rows
        return cls(row, workers, _rows_in_flight(given))

    @property
    def full(self) -> int:
        """Return the lines that a task should have at least."""
        return min(FULL * self.engine, LARGEST_TASK)

    @property
    def worth(self) -> int:
        """Return the lines that are worth a load."""
        return round(min(max(LOAD_TOKENS / max(self.row, 1), self.full), LARGEST_TASK))

    def tasks(self, lines: int) -> int:
        """Return into how many tasks so many lines should be cut."""
        tasks, fewest = lines // self.worth, -(-lines // LARGEST_TASK)
        if self.workers and tasks > self.workers:  # as many for each
            tasks = min(tasks // self.workers, TASKS_A_WORKER) * self.workers
            fewest = -(-fewest // self.workers) * self.workers
        return max(1, tasks, fewest)


def _rows_in_flight(given: Mapping[str, str]) -> int:
    """Return how many rows an engine has in flight, where the job says so."""
    if most := int(given.get("MaxConcurrency") or 0):
        return most
    try:
        said = values_of(split_arguments(given.get("VllmArgs", "")), "--max-num-seqs")[-1:]
    except ArgumentsError:
        said = []
    return int(said[0]) if said and said[0].isdecimal() and int(said[0]) else ENGINE_ROWS


def is_all(prompts: str) -> bool:
    """Tell whether a value of Prompts asks for every line of the file."""
    return prompts.strip().lower() == "all"


def whole_range(lines: int, block_size: int = 1) -> str:
    """Return the Prompts that ask for every line of a file."""
    return f"1-{max(1, -(-lines // block_size))}"


def suit(lines: int, work: Work = Work(), block_size: int | None = None) -> Sizes:
    """Return what suits a file of so many lines; a given `block_size` stays."""
    per_task = _per_task(lines, work)
    block = block_size or (1 if per_task <= CHUNK_LIMIT else _round_up(per_task / 100))
    return _sizes(whole_range(lines, block), block, per_task, lines, work)


def suggest(given: Mapping[str, str], lines: int, work: Work | None = None) -> dict[str, str]:
    """Return the parameters that suit a whole file of so many lines; sizes that are given stay as they are."""
    block_size = _given_block(given)
    return _keep(suit(lines, work or Work.of(given), block_size), given)


def suggest_for(given: Mapping[str, str], wanted: Lines, lines: int | None, work: Work) -> dict[str, str]:
    """Return the parameters that suit the lines that a job asks of a file; sizes that are given stay.

    given: Prompts, and the sizes that a person chose. lines: of the file, None where nobody knows.
    The lines stay what they are: those from the first on are cut into blocks where whole blocks are exactly these, or
    where they end with the file.
    """
    if lines is not None and is_all(given.get("Prompts", "all")):
        return suggest(given, lines, work)
    count = len(wanted if lines is None else wanted.up_to(lines))
    per_task = _per_task(count, work)
    block, prompts = _given_block(given) or 1, given["Prompts"]
    is_first = wanted.ranges == (range(1, count + 1),)
    if _given_block(given) is None and per_task > CHUNK_LIMIT and is_first:
        block = _round_up(per_task / 100) if count == lines else _divisor(count, per_task)
        prompts = whole_range(count, block) if block > 1 else prompts
    return _keep(_sizes(prompts, block, per_task, count, work), given)


def _given_block(given: Mapping[str, str]) -> int | None:
    """Return the block that a person chose: a ChunkSize without one counts lines."""
    return int(given["BlockSize"]) if "BlockSize" in given else 1 if "ChunkSize" in given else None


def _per_task(lines: int, work: Work) -> int:
    lines = max(1, lines)
    return -(-lines // work.tasks(lines))


def _sizes(prompts: str, block: int, per_task: int, lines: int, work: Work) -> Sizes:
    seconds = SHORT_SECONDS if lines <= work.full else LONG_SECONDS
    return Sizes(prompts, block, min(CHUNK_LIMIT, -(-per_task // block)), seconds)


def _keep(sizes: Sizes, given: Mapping[str, str]) -> dict[str, str]:
    return {**sizes.parameters(), **{name: given[name] for name in NAMES if name in given}}


def _divisor(lines: int, per_task: int) -> int:
    """Return the block that divides so many lines with which ChunkSize can count a task's, 1 without one."""
    blocks = range(-(-per_task // CHUNK_LIMIT), per_task + 1)
    return next((block for block in blocks if lines % block == 0), 1)


def _round_up(number: float) -> int:
    """Return the next 1, 2 or 5 times a power of ten."""
    power: int = 10 ** max(0, math.floor(math.log10(number)))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= number)
