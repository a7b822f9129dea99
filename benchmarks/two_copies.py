"""Row 17: two copies of a model, each with half of the machine's cores, against one with them all.

Real vLLM on the CPU: a scripted nvidia-smi tells of two GPUs, so that the bundle starts two engines and shares the rows
out as on a worker with two. What copies cost is left over, since the work is the same. That no row is lost when one is
killed is a test (tests/real_vllm/test_real_copies.py).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from figures import ROOT, SCRIPTS, Failed, Figure, emit, say
from session import Session

sys.path.insert(0, str(SCRIPTS))
sys.path.insert(1, str(ROOT / "tests"))

from engine.note import State, load_note
from support.scripted_gpus import Card, install

ROWS, TOKENS = 256, 48
GOAL = 0.95  # of one engine with all cores
ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
ARGUMENTS = "--dtype float32 --enforce-eager"


def write_rows(path: Path, rows: int) -> None:
    """Write prompts whose answers all have as many tokens."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            prompt = f"{path.stem}, question {number}: what should one know about the number {number * 7919 % 1000}?"
            file.write(json.dumps({"prompt": prompt, "max_tokens": TOKENS, "ignore_eos": True}) + "\n")


def rate(folder: Path, model: str, rows: int, more: Mapping[str, str]) -> float:
    """Return the tokens a second of a worker with this environment."""
    folder.mkdir()
    file = folder / f"{folder.name}.jsonl"
    write_rows(file, rows)
    env = {**os.environ, **ENVIRONMENT, **more}
    session = Session(folder, file, model, f"1-{rows}", concurrency=rows, env=env)
    say(f"starting {folder.name} ...")
    session.start(vllm_args=ARGUMENTS, max_model_len=512)
    try:
        while any(engine.state == State.STARTING for engine in load_note(folder / "session").engines):
            time.sleep(0.2)
        states = [engine.state for engine in load_note(folder / "session").engines]
        if states != [State.READY] * (2 if more else 1):
            raise Failed(f"the engines are {states}")
        cost = session.chunk(f"1-{rows}")
    finally:
        session.stop()
    session.aggregate()
    if session.summary()["completion_tokens"] != rows * TOKENS:
        raise Failed(f"{rows * TOKENS} tokens were asked for, {session.summary()['completion_tokens']} came")
    return rows * TOKENS / cost.wall


def measure(folder: Path, model: str, rows: int) -> None:
    """Measure row 17."""
    half = str(max(1, len(os.sched_getaffinity(0)) // 2))
    path = f"{install(folder / 'bin', [Card('NVIDIA L4', 23034)] * 2)}:{os.environ['PATH']}"
    one = rate(folder / "one-engine", model, rows, {})
    two = rate(
        folder / "two-copies", model, rows,
        {"PATH": path, "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": half},
    )  # fmt: skip
    figure = f"{two / one:.2f} ({two:.1f} and {one:.1f} tokens/s)"
    what = f"Two copies, each with half of the cores, against one engine with them all, {rows} rows of {TOKENS} tokens"
    emit(Figure(17, what, f"{GOAL:g} or more", figure, met=two / one >= GOAL))


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="an eighth of the rows")
    parser.add_argument("--rows", default="17", help="rows of the table; there is one")
    parser.add_argument("--model", required=True, help="folder of a small instruct model")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), given.model, ROWS // 8 if given.quick else ROWS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
