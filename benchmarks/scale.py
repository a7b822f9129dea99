"""Rows 6, 7, 8, 11 and 13: what a file of a million lines costs beyond the work on its lines.

Makes a 1 GB input and 1 GB of shards in a temporary folder (4 GB free are needed), and runs the bundle's own programs
over them as processes of their own, so that the kernel counts their time and memory.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bulk import MODEL, TERMS, write_input, write_rest, write_shards
from figures import MIB, Figure, emit, measured, say
from session import Session, stub

LINES, LINE_BYTES = 1_000_000, 1_000
MERGED_LINE_BYTES, ANSWER_CHARACTERS = 450, 270  # make a record of 1,000 bytes in a shard
ROWS_A_SHARD = 10_000
CHANGED = 10  # lines of which one stands before all others, so that none keeps its number
CHUNK_ROWS = 100
REPEATS = 5
END_GOAL, CHUNK_PEAK_GOAL = 0.1, 150  # seconds; MiB
INDEX_GOAL = 5.0  # seconds per GB
MERGE_GOAL, MERGE_PEAK_GOAL = 45.0, 200  # seconds; MiB
LINEAR = 1.15  # a row of the full size may cost so much more than one of half of it, whose page is as full


@dataclass(frozen=True, slots=True)
class Size:
    """How large the measurement is; row 8's goal is scaled with it."""

    lines: int

    @property
    def share(self) -> float:
        """Return the part of the full size."""
        return self.lines / LINES


def prepare(path: Path, folder: Path) -> int:
    """Make the index as a session does, and print the seconds it took; run in a process of its own."""
    from figures import SCRIPTS

    sys.path.insert(0, str(SCRIPTS))
    from rows import source

    started = time.perf_counter()
    source.prepare(str(path), "", folder, lambda _: None)
    print(time.perf_counter() - started)
    return 0


def find_missing(path: Path, folder: Path) -> int:
    """Print which lines of a file have no answer in a folder of shards; run in a process of its own."""
    from job import parameters
    from results.answered import find_answered
    from rows import source
    from rows.ranges import Lines

    found = source.prepare(str(path), "", folder.parent / "looking", lambda _: None)
    answered = find_answered(found, {**parameters.defaults(), "ModelName": MODEL}, folder)
    assert answered.merge.terms is not None
    assert answered.merge.terms.fingerprint == TERMS.fingerprint
    print(answered.missing(Lines([range(1, found.lines + 1)])))
    return 0


def index(folder: Path, size: Size) -> Path:
    """Measure row 7 and return the input."""
    path = folder / "input.jsonl"
    say(f"row 7: writing {size.lines:,} lines ...")
    write_input(path, size.lines, LINE_BYTES)
    runs = [
        measured([sys.executable, "-B", __file__, "--prepare", str(path), str(folder / f"index-{number}")])
        for number in range(3)
    ]
    per_gb = [float(run.output) / (size.lines * LINE_BYTES / 1e9) for run in runs]
    middle = statistics.median(per_gb)
    peak = max(run.peak for run in runs) / MIB
    figure = f"{middle:.2f} s per GB (of 3: {min(per_gb):.2f} to {max(per_gb):.2f}), {peak:.0f} MiB peak"
    measure = "One pass to prepare the input per session: index, count, SHA-256"
    emit(Figure(7, measure, f"{INDEX_GOAL:g} s per GB", figure, met=middle <= INDEX_GOAL))
    return path


def end_of_file(folder: Path, path: Path, size: Size) -> None:
    """Measure row 6: chunks of the same number of rows from both ends of the file, in turn."""
    say("row 6: chunks from both ends ...")
    blocks = size.lines // CHUNK_ROWS
    with stub(0.0) as url:
        session = Session(folder / "ends", path, "stub", f"1-{blocks}", block_size=CHUNK_ROWS)
        session.start(server_url=url)
        session.chunk("1")  # fills the file cache with the programs
        pairs = [(session.chunk(str(2 + n)), session.chunk(str(blocks - n))) for n in range(REPEATS)]
    extra = statistics.median(end.wall - start.wall for start, end in pairs)
    cpu = statistics.median(end.cpu - start.cpu for start, end in pairs)
    peak = max(end.peak for _, end in pairs) / MIB
    files = len(list((session.output_dir / "output" / "results").iterdir()))
    assert files == 1 + 2 * REPEATS, files
    figure = f"{extra:+.3f} s (CPU {cpu:+.3f} s), {peak:.0f} MiB"
    goal = f"{END_GOAL} s, {CHUNK_PEAK_GOAL} MB"
    measure = "A chunk at the file's end against one at its start: extra time, peak memory"
    emit(Figure(6, measure, goal, figure, met=extra <= END_GOAL and peak * MIB <= CHUNK_PEAK_GOAL * 1e6))


def merge(folder: Path, size: Size, *, wanted: set[int]) -> None:
    """Measure rows 8 and 11."""
    full = _merged(folder / "full", size.lines)
    half = _merged(folder / "half", size.lines // 2)
    per_row = (full.wall / size.lines) / (half.wall / (size.lines // 2))
    figure = (
        f"{full.wall:.1f} s ({size.lines / full.wall:,.0f} rows/s, CPU {full.cpu:.1f} s), {full.peak / MIB:.0f} MiB; "
        f"a row costs {per_row:.2f} of what it does in half of the rows"
    )
    goal = f"{MERGE_GOAL:g} s, {MERGE_PEAK_GOAL} MB, linear"
    met = full.wall <= MERGE_GOAL * size.share and full.peak <= MERGE_PEAK_GOAL * 1e6 and per_row <= LINEAR
    measure = f"Aggregate of {size.lines:,} rows, {full.shard_bytes / 1e9:.2f} GB of shards, results.html included"
    if 8 in wanted:
        emit(Figure(8, measure, goal, figure, met=met))
    chunks = -(-size.lines // ROWS_A_SHARD)
    figure = f"{full.files}: {chunks} shards of {ROWS_A_SHARD:,} rows and {full.files - chunks} files of the job"
    goal = "in proportion to chunks, never to rows"
    if 11 in wanted:
        emit(Figure(11, f"Files made for {size.lines:,} rows", goal, figure, met=full.files <= chunks + 10))
    if 13 in wanted:
        edit(folder / "full", size)


def edit(folder: Path, size: Size) -> None:
    """Measure row 13: ten lines of a finished job's file are other ones, and all of its lines have other numbers."""
    say("row 13: looking for the lines without an answer ...")
    path = folder / "edited.jsonl"
    digest, count = _write_edited(folder / "rows.jsonl", path, size.lines)
    session = Session(folder, path, MODEL, f"1-{count}")
    results = session.output_dir / "output" / "results"
    look = measured([sys.executable, "-B", __file__, "--missing", str(path), str(results)])
    missing = look.output.strip()
    assert missing.startswith("1,"), missing
    asked = len(missing.split(","))
    write_rest(results, path, digest, count, missing, ANSWER_CHARACTERS)
    shutil.rmtree(folder / "session", ignore_errors=True)
    cost = session.aggregate()
    assert session.summary()["succeeded"] == count, session.summary()
    figure = (
        f"{asked} asked; {look.wall:.1f} s to find them (CPU {look.cpu:.1f} s, {look.peak / MIB:.0f} MiB), "
        f"{cost.wall:.1f} s to merge (CPU {cost.cpu:.1f} s, {cost.peak / MIB:.0f} MiB)"
    )
    goal = f"{CHANGED}; {MERGE_GOAL:g} s, {MERGE_PEAK_GOAL} MB each"
    met = asked == CHANGED and max(cost.wall, look.wall) <= MERGE_GOAL * size.share
    met = met and max(cost.peak, look.peak) <= MERGE_PEAK_GOAL * 1e6
    emit(Figure(13, f"{CHANGED} changed lines in a file of {count:,} that was answered", goal, figure, met=met))


def _write_edited(path: Path, edited: Path, lines: int) -> tuple[str, int]:
    """Write a file with a new first line and some mended ones; return its SHA-256 and its lines."""
    digest = hashlib.sha256()
    mended = {lines * place // CHANGED for place in range(1, CHANGED)}
    with path.open("rb") as file, edited.open("wb", buffering=1 << 20) as written:
        for number, line in enumerate(itertools.chain([b'{"prompt": "new"}\n'], file)):
            text = line.replace(b'"prompt": "', b'"prompt": "Mended: ', 1) if number in mended else line
            digest.update(text)
            written.write(text)
    return digest.hexdigest(), lines + 1


@dataclass(frozen=True, slots=True)
class Merged:
    """What one run of Aggregate took and made."""

    wall: float
    cpu: float
    peak: int
    shard_bytes: int
    files: int


def _merged(folder: Path, rows: int) -> Merged:
    """Write a finished job of so many rows and aggregate it."""
    say(f"row 8: writing the shards of {rows:,} rows ...")
    path = folder / "rows.jsonl"
    folder.mkdir()
    digest = write_input(path, rows, MERGED_LINE_BYTES)
    session = Session(folder, path, MODEL, f"1-{rows}")
    results = session.output_dir / "output" / "results"
    written = write_shards(results, path, digest, rows, ROWS_A_SHARD, ANSWER_CHARACTERS)
    say("row 8: aggregating ...")
    cost = session.aggregate()
    summary = session.summary()
    assert summary["succeeded"] == rows, summary
    files = sum(entry.is_file() for entry in session.output_dir.rglob("*"))
    return Merged(cost.wall, cost.cpu, cost.peak, written, files)


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the lines")
    parser.add_argument("--rows", default="6,7,8,11,13", help="rows of the table, such as 6,7")
    parser.add_argument("--prepare", nargs=2, type=Path, metavar=("FILE", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--missing", nargs=2, type=Path, metavar=("FILE", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.missing:
        return find_missing(*given.missing)
    if given.prepare:
        return prepare(*given.prepare)
    wanted = {int(row) for row in given.rows.split(",")}
    size = Size(LINES // 20 if given.quick else LINES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if wanted & {6, 7}:
            path = index(folder, size)
            if 6 in wanted:
                end_of_file(folder, path, size)
            path.unlink()
        if wanted & {8, 11, 13}:
            merge(folder, size, wanted=wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
