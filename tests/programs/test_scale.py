"""What must not grow with the input: bytes read, files made and memory, as the kernel counted them for each program."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.note import Load
from results import shards
from results.partial import Writer
from results.record import Record
from rows import ranges
from rows.source import STRIDE, prepare
from support.fake_server import FakeServer, Fault
from support.programs import Session, rows

LINES, LINE_BYTES, BLOCK = 100_000, 600, 100  # a file of 60 MB, 100 lines a range value
MB = 1_000_000
COUNTED = """
import runpy, sys
program = sys.argv[1]
sys.argv = sys.argv[1:]
sys.path.insert(0, program.rpartition("/")[0])
try:
    runpy.run_path(program, run_name="__main__")
finally:
    print("| read", open("/proc/self/io").read().split()[1])
    print("| peak", next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@dataclass
class Counts:
    """What the kernel counted for a program: bytes it read, files from the cache included, and its peak memory."""

    read: int
    peak: int


def counted(session: Session, argv: list[str]) -> Counts:
    """Run a worker program and have it say, at its end, what it took."""
    python, *rest = argv
    result = session.run([python, "-c", COUNTED, *rest[1:]]).check()
    told = dict(line.split()[1:3] for line in result.text.splitlines() if line.startswith(("| read ", "| peak ")))
    return Counts(int(told["read"]), int(told["peak"]) * 1024)


def write_large(path: Path, count: int = LINES) -> None:
    """Write prompt rows of LINE_BYTES each."""
    heads = (f'{{"id": {number}, "prompt": "' for number in range(1, count + 1))
    path.write_text("".join(f'{head:x<{LINE_BYTES - 3}}"}}\n' for head in heads), encoding="utf-8")


@dataclass
class Large:
    """A session over a large file, entered, with one chunk done at each end of the file."""

    session: Session
    size: int
    entered: Counts
    index: tuple[int, int]
    first: Counts
    last: Counts


def times_of(path: Path) -> tuple[int, int]:
    """Return what changes when a file is written anew."""
    return path.stat().st_mtime_ns, path.stat().st_ino


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    """Enter a session over a large file and run a chunk at either end of it."""
    folder = tmp_path_factory.mktemp("large")
    with FakeServer() as server:
        session = Session(folder, url=server.url, prompts=f"1-{LINES // BLOCK}", block_size=BLOCK)
        write_large(session.input)
        start = session.start_argv(server_url=server.url)
        entered = counted(session, [start[0], *start[1:]])
        index = times_of(folder / "session" / "input.offsets")
        first = counted(session, session.chunk_argv("1"))
        last = counted(session, session.chunk_argv(str(LINES // BLOCK)))
        yield Large(session, session.input.stat().st_size, entered, index, first, last)


def test_a_session_reads_its_input_once_to_prepare_it(large: Large) -> None:
    assert large.size < large.entered.read < 1.3 * large.size + 40 * MB  # the programs' own files are read, too


def test_a_chunk_does_not_read_the_file_again(large: Large) -> None:
    assert large.first.read < large.size / 2
    assert large.last.read < large.size / 2


def test_a_chunk_at_the_end_reads_no_more_than_one_at_the_start(large: Large) -> None:
    assert large.last.read - large.first.read < 2 * STRIDE * LINE_BYTES + 64_000


def test_the_index_is_made_once_for_all_chunks_of_a_session(large: Large) -> None:
    assert times_of(large.session.folder / "session" / "input.offsets") == large.index


def test_a_chunk_leaves_one_file(large: Large) -> None:
    left = [path.name for path in large.session.output.rglob("*") if path.is_file()]
    assert len(left) == 2, left


def test_neither_the_session_nor_a_chunk_holds_the_file_in_memory(large: Large) -> None:
    assert max(large.entered.peak, large.first.peak, large.last.peak) < 150 * MB


@pytest.mark.parametrize("number", [1, STRIDE, STRIDE + 1, 4_999, 5_000], ids=lambda number: f"line-{number}")
def test_a_line_is_found_by_reading_less_than_a_stride(number: int, tmp_path: Path) -> None:
    path = tmp_path / "input.jsonl"
    write_large(path, 5_000)
    source = prepare(str(path), "", tmp_path / "session", lambda _: None)
    before = read_by_this_process()
    [(found, raw)] = source.read(ranges.of_values(str(number), 1))
    read = read_by_this_process() - before
    assert (found, json.loads(raw)["id"]) == (number, number)
    assert read < (STRIDE + 1) * LINE_BYTES + 32_000


def read_by_this_process() -> int:
    """Return the bytes that this process has read so far."""
    return int(Path("/proc/self/io").read_text(encoding="utf-8").split()[1])


def write_results(session: Session, count: int, a_shard: int) -> None:
    """Write the shards of a finished job over the session's input."""
    digest = hashlib.sha256(session.input.read_bytes()).hexdigest()
    for first in range(1, count + 1, a_shard):
        header = shards.Header(
            input_sha256=digest,
            input_name=session.input.name,
            input_lines=count,
            lines=f"{first}-{first + a_shard - 1}",
            prompts=f"1-{count}",
            block_size=1,
            model="fake",
            job="job",
            worker="worker",
            created=1_700_000_000.0 + first,
        )
        with Writer(session.results, header) as writer:
            for line in range(first, first + a_shard):
                writer.add(record(line))
            writer.finish([Load("load")])


def record(line: int) -> Record:
    """Return a result of a usual size."""
    output = json.dumps({"id": line, "prompt": "x" * 300, "generated_text": hashlib.sha512(b"%d" % line).hexdigest()})
    head = {
        "line": line,
        "status": "succeeded",
        "row": "0" * 16,
        "dialect": "prompt",
        "endpoint": "/v1/chat/completions",
    }
    return Record({**head, "attempts": 1, "in": 9, "out": 9, "started": 1.7e9, "seconds": 1.0}, output.encode())


def aggregated(folder: Path, count: int) -> tuple[Counts, Session]:
    """Aggregate a job of so many rows in ten shards."""
    session = Session(folder, prompts=f"1-{count}")
    write_large(session.input, count)
    write_results(session, count, count // 10)
    counts = counted(session, session.aggregate_argv())
    assert session.summary()["succeeded"] == count
    return counts, session


def test_aggregate_needs_a_few_bytes_of_memory_a_row(tmp_path: Path) -> None:
    few, many = 2_000, 40_000
    small, _ = aggregated(tmp_path / "small", few)
    large, session = aggregated(tmp_path / "large", many)
    assert large.peak < 200 * MB
    assert large.peak - small.peak < 20 * MB + 100 * (many - few)  # its shards hold 600 bytes a row
    made = [path for path in session.output.rglob("*") if path.is_file()]
    assert len(made) == 10 + 5  # output, errors, retry, summary, page


@pytest.mark.parametrize(("allowed", "expected"), [(16, 16), (64, 64), (256, 64)])
def test_all_rows_of_a_chunk_are_offered_at_once_up_to_max_concurrency(
    allowed: int, expected: int, tmp_path: Path
) -> None:
    with FakeServer(lambda asked: full if asked.text.startswith("row") else None, delay=0.1) as server:
        full = Fault(until=lambda: server.most_in_flight >= expected)
        session = Session(tmp_path, rows(f"row {n}" for n in range(64)), server.url)
        session.start().check()
        server.most_in_flight = 0
        session.chunk(max_concurrency=str(allowed)).check()
        assert server.most_in_flight == expected


def test_a_slow_row_holds_up_no_other(tmp_path: Path) -> None:
    with FakeServer(lambda asked: last if asked.text == "slow" else None) as server:
        last = Fault(until=lambda: len(server.asked) == 1 + 40)
        session = Session(tmp_path, rows(["slow", *(f"row {n}" for n in range(39))]), server.url)
        session.start().check()
        session.chunk(max_concurrency="4").check()
        assert server.asked.total() == 1 + 40  # the session's own first request, and every row


def test_long_answers_are_asked_for_first_and_equal_beginnings_together(tmp_path: Path) -> None:
    asks = [("b 1", 10), ("a 1", 10), ("z", 500), ("b 2", 10), ("a 2", 10)]
    lines = [json.dumps({"prompt": prompt, "max_tokens": tokens}).encode() for prompt, tokens in asks]
    with FakeServer() as server:
        session = Session(tmp_path, lines, server.url)
        session.start().check()
        server.asked.clear()
        session.chunk(max_concurrency="1").check()
        assert list(server.asked) == ["z", "a 1", "a 2", "b 1", "b 2"]


def test_ten_million_lines_are_one_range_of_ten_thousand_values() -> None:
    wanted = ranges.of_values("1-10000", 1000)
    assert len(wanted) == 10_000_000
    assert len(wanted.ranges) == 1  # held as one range, not as numbers
