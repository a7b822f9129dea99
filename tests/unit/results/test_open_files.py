"""A merge of many shards keeps within the open files that a machine allows, whatever lies in which shard."""

from __future__ import annotations

import itertools
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.merge_job import EARLY, LATE, Job

SHARDS, ROWS = 150, 4  # each
SPARE = 24  # open files beside those that the tests have open
ALL = SHARDS * ROWS


@pytest.fixture
def few_files() -> Iterator[None]:
    """Allow this program a few open files more than it has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
    free = (number for number in itertools.count() if number not in taken)  # a file takes the lowest that is free
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(itertools.islice(free, SPARE, None)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


LAYOUTS = {
    "one after the other": [range(first, first + ROWS) for first in range(1, ALL, ROWS)],
    "each line in another shard": [range(first, ALL + 1, SHARDS) for first in range(1, SHARDS + 1)],
    "from the end": [range(first, first + ROWS) for first in range(ALL - ROWS + 1, 0, -ROWS)],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_every_line_is_merged_though_few_files_may_be_open(
    layout: list[range], tmp_path: Path, few_files: None
) -> None:
    job = Job(tmp_path, [b'{"id": %d, "prompt": "p%d"}' % (n, n) for n in range(1, ALL + 1)])
    for place, lines in enumerate(layout):
        header = job.header(f"1-{ALL}", created=EARLY, worker=f"w{place}")
        job.shard({line: f"answer {line}" for line in lines}, header)
    assert job.merge() == 0
    assert list(job.outcomes().items()) == [(line, f"answer {line}") for line in range(1, ALL + 1)]
    assert job.counts() == [ALL, ALL, 0, 0, 0, 0]


def test_neither_do_older_answers_of_the_same_lines_need_more(tmp_path: Path, few_files: None) -> None:
    job = Job(tmp_path, [b'{"id": %d, "prompt": "p%d"}' % (n, n) for n in range(1, 121)])
    for line in range(1, 121):
        for created, result in ((EARLY, "old"), (LATE, "!server_error" if line % 2 else "new")):
            header = job.header("1-120", created=created, worker=f"w{line}-{result[:3].strip('!')}")
            job.shard({line: result}, header)
    assert job.merge() == 0
    assert job.outcomes() == {line: "old" if line % 2 else "new" for line in range(1, 121)}
