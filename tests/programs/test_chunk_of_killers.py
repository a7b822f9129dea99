"""A session whose first chunk holds nothing but rows that kill the server: they are told, and the job goes on."""

from __future__ import annotations

from pathlib import Path

from support.programs import Session, outcome, rows


def test_a_first_chunk_of_nothing_but_rows_that_kill_the_server_ends_well(tmp_path: Path) -> None:
    texts = [*(f"poison {n}, a long row" for n in range(4)), *map(str, range(4))]
    session = Session(tmp_path, rows(texts))
    session.start().check()
    try:
        for chunk in ("1-4", "5-8"):
            session.chunk(chunk).check()
    finally:
        session.stop().check()
    session.aggregate().check()
    assert [outcome(row) for row in session.written()] == [*["server_crash"] * 4, *(f"echo: {n}" for n in range(4))]
