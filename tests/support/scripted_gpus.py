"""An nvidia-smi that tells of the GPUs that a test names, so that programs choose as on a worker that has them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

MIB_OF_SLICE = 1000**4 // 1024**2  # MiB in 1,000 GB, as a slice's name counts them

PROGRAM = """#!{python}
import json, sys
cards = json.loads({cards!r})
query = next((text.partition("=")[2] for text in sys.argv if text.startswith("--query-gpu=")), "")
print("Warning: the driver is old, update it")
for number, card in enumerate(cards):
    told = {{
        "index": number,
        "uuid": card["uuid"],
        "memory.total": card["memory"],
        "mig.mode.current": "Enabled" if card["slices"] else "[N/A]",
        "name": card["name"],
    }}
    if card["lost"]:
        print(f"Unable to determine the device handle for GPU {{number}}: GPU is lost, reboot the system")
    elif query:
        print(", ".join(str(told[name]) for name in query.split(",")))
    else:
        print(f"GPU {{number}}: {{card['name']}} (UUID: {{card['uuid']}})")
        for place, (uuid, size) in enumerate(card["slices"].items()):
            print(f"  MIG 1g.{{size}}gb     Device  {{place}}: (UUID: {{uuid}})")
"""


@dataclass(frozen=True)
class Card:
    """A GPU as nvidia-smi would tell of it; `slices` are the sizes in GB of its slices, by their names."""

    name: str
    memory: int | str
    uuid: str = "GPU-00000000"
    slices: dict[str, int] = field(default_factory=dict)
    lost: bool = False


def install(folder: Path, cards: Sequence[Card]) -> Path:
    """Write the program into a folder for PATH; return the folder."""
    text = PROGRAM.format(python=sys.executable, cards=json.dumps([asdict(card) for card in cards]))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nvidia-smi").write_text(text, encoding="utf-8")
    (folder / "nvidia-smi").chmod(0o755)
    return folder
