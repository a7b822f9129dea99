"""Row 16: the front alone, with an engine that answers at once: rows a second through server, client and shard.

The engine is vLLM's own with an encoder of one narrow layer and random weights, so that nearly all that a row costs is
HTTP, JSON, tokens and records. Its processes' CPU is the kernel's, read before and after the task. What a row costs the
client, the process that speaks HTTP, and the engine says what binds where each has a core of its own, and what more
fronts (`--api-server-count`) give until the client or the engine binds; few machines have as many cores idle.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from figures import SCRIPTS, Figure, emit, say
from session import Session

sys.path.insert(0, str(SCRIPTS))

from engine.note import load_note
from engine.placement import MOST_FRONTS
from host.processes import find_family

ROWS, IN_FLIGHT = 8192, 512
LONGEST = 256  # tokens
GOAL = 3.0  # times
TICKS = os.sysconf("SC_CLK_TCK")  # a second
ENGINE = "EngineCore"  # in the title that vLLM gives that process
ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
ARGUMENTS = "--runner pooling --dtype float32 --enforce-eager --max-num-seqs 512"


def make_encoder(folder: Path, like: Path) -> None:
    """Write an encoder of one narrow layer with the tokenizer of another, and weights that mean nothing."""
    import torch
    from safetensors.torch import save_file
    from transformers import BertConfig, BertModel

    shutil.copytree(like, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    known = json.loads((like / "config.json").read_text(encoding="utf-8"))
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 32}
    config = BertConfig(**{**known, **small})
    torch.manual_seed(0)
    config.save_pretrained(folder)
    written = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**written, "architectures": ["BertModel"]}), encoding="utf-8")
    save_file(BertModel(config).state_dict(), folder / "model.safetensors", metadata={"format": "pt"})


def read_seconds(session: Session) -> Mapping[str, float]:
    """Return the CPU seconds so far of the engine, and of what speaks HTTP."""
    (engine,) = load_note(session.folder / "session").engines
    assert engine.process
    seconds = {"front": 0.0, "engine": 0.0}
    for pid in find_family(engine.process, f"TMPDIR={engine.scratch}"):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        title = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        kind = "engine" if ENGINE in title else "front"
        seconds[kind] += (int(fields[11]) + int(fields[12])) / TICKS
    return seconds


def measure(folder: Path, like: Path, rows: int) -> None:
    """Measure row 16."""
    model, file = folder / "encoder", folder / "rows.jsonl"
    make_encoder(model, like)
    with file.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps({"id": n, "text": f"What is known of number {n}?"}) + "\n" for n in range(rows))
    session = Session(folder, file, str(model), f"1-{rows}", concurrency=IN_FLIGHT, env={**os.environ, **ENVIRONMENT})
    say("starting the server ...")
    session.start(vllm_args=ARGUMENTS, max_model_len=LONGEST)
    try:
        before = read_seconds(session)
        cost = session.chunk(f"1-{rows}")
        after = read_seconds(session)
    finally:
        session.stop()
    session.aggregate()
    assert session.summary()["succeeded"] == rows
    each = {name: 1000 * (after[name] - before[name]) / rows for name in before} | {"client": 1000 * cost.cpu / rows}
    fronts = min(MOST_FRONTS, each["front"] / max(each["client"], each["engine"]))
    figure = f"{rows / cost.wall:.0f} rows/s on {len(os.sched_getaffinity(0))} cores; CPU a row: "
    figure += ", ".join(f"{name} {milliseconds:.2f} ms" for name, milliseconds in each.items())
    figure += f". With a core each, one front binds at {1000 / each['front']:.0f} rows/s, and {MOST_FRONTS} of them "
    figure += f"give {fronts:.1f} times that"
    measure = f"The front alone: {rows:,} short texts, {IN_FLIGHT} in flight, an engine that answers at once"
    emit(Figure(16, measure, f"{GOAL:g} times what one front gives", figure, met=fronts >= GOAL))


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="an eighth of the rows")
    parser.add_argument("--rows", default="16", help="rows of the table; there is one")
    parser.add_argument("--model", required=True, type=Path, help="folder of an encoder whose tokenizer is used")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), given.model, ROWS // 8 if given.quick else ROWS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
