"""A worker's clock that is set while a chunk runs costs no answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.fake_server import FakeServer
from support.programs import ROOT, Session, outcome

STEPPING = """
import sys, time
true, looks = time.time, iter(range(10**9))
if any(argument.endswith("run_chunk.py") for argument in sys.orig_argv):
    time.time = lambda: true() + {step} * next(looks)  # each look at the clock finds it set anew
"""


@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_clock_that_steps_while_rows_are_asked_costs_no_answer(step: int, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(STEPPING.format(step=step))
    fake = ROOT / "tests" / "support" / "fake_vllm"
    with FakeServer() as server:
        lines = [json.dumps({"prompt": str(n)}).encode() for n in range(12)]
        session = Session(tmp_path, lines, url=server.url, environment={"PYTHONPATH": f"{clock}:{fake}"})
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
    assert [outcome(row) for row in session.written()] == [f"echo: {n}" for n in range(12)]
    assert session.summary()["seconds"] >= 0
