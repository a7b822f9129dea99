"""Row 21: embeddings of short texts in one task, beside vLLM's offline `LLM.embed` with the same cores and batch.

Ours is the whole task, from its program's start to its shard; theirs is the one call, after the model was loaded.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from figures import SCRIPTS, Figure, emit, measured, say
from session import Session

sys.path.insert(0, str(SCRIPTS))

from engine.command import build_environment

ROWS, GOAL = 2048, 0.97
LONGEST, BATCH, SEQUENCES = 256, 4096, 256  # tokens of a text, tokens and texts of a batch
ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
OFFLINE = """
import json, sys, time
from vllm import LLM

if __name__ == "__main__":
    model, file, longest, batch, sequences = sys.argv[1:]
    texts = [json.loads(line)["text"] for line in open(file, encoding="utf-8")]
    engine = LLM(model, runner="pooling", dtype="float32", max_model_len=int(longest),
                 max_num_batched_tokens=int(batch), max_num_seqs=int(sequences))
    engine.embed(texts[:8], use_tqdm=False)
    began = time.perf_counter()
    answers = engine.embed(texts, use_tqdm=False)
    seconds = time.perf_counter() - began
    assert len(answers) == len(texts)
    print("seconds", seconds)
"""


def measure(folder: Path, model: Path, rows: int) -> None:
    """Measure row 21."""
    file = folder / "rows.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for number in range(rows):
            words = " ".join(f"item {number * step % 977}" for step in range(1, 2 + number % 12))
            out.write(json.dumps({"id": number, "text": f"What is known of {words}?"}) + "\n")
    session = Session(folder, file, str(model), f"1-{rows}", concurrency=0, env={**os.environ, **ENVIRONMENT})
    say("row 21: starting the server ...")
    session.start(vllm_args=f"--runner pooling --dtype float32 --max-num-seqs {SEQUENCES}", max_model_len=LONGEST)
    try:
        ours = session.chunk(f"1-{rows}").wall
    finally:
        session.stop()
    session.aggregate()
    assert session.summary()["succeeded"] == rows
    say("row 21: the same texts by LLM.embed ...")
    program = folder / "offline.py"
    program.write_text(OFFLINE, encoding="utf-8")
    numbers = map(str, (LONGEST, BATCH, SEQUENCES))
    command = [sys.executable, program, model, file, *numbers]
    done = measured(command, env={**build_environment("", 1800), **session.env})
    theirs = float(done.output.rpartition("seconds ")[2].split()[0])
    ratio = theirs / ours
    figure = f"{ratio:.2f} ({rows / ours:.1f} and {rows / theirs:.1f} rows/s)"
    what = f"Embeddings a second, {rows:,} short texts in one task, against LLM.embed with the same cores"
    emit(Figure(21, what, f"{GOAL} or more", figure, met=ratio >= GOAL))


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="an eighth of the rows")
    parser.add_argument("--rows", default="21", help="rows of the table; there is one")
    parser.add_argument("--model", required=True, type=Path, help="folder of an encoder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), given.model, ROWS // 8 if given.quick else ROWS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
