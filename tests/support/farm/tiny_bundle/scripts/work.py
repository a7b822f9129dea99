"""Answer one chunk: write the square of each number to OutputDir/parts/<chunk>.txt.

Files in the switches' folder steer it: `hold-N` keeps the chunk that has N waiting until the file is gone, `fail-N`
makes it fail once, `always-fail-N` every time. A notice (SIGTERM) leaves `noticed-<chunk>` there and ends the wait.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from types import FrameType


def numbers_of(chunk: str) -> list[int]:
    """Return the numbers of a range expression without steps."""
    spans = (part.split("-") for part in chunk.split(","))
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def main(chunk: str, input_file: Path, output_dir: Path, switches: Path) -> int:
    """Work through the chunk; the exit status is 1 where a switch asks for it."""

    def noticed(signum: int, frame: FrameType | None) -> None:
        (switches / f"noticed-{chunk}").touch()
        sys.exit(1)

    signal.signal(signal.SIGTERM, noticed)
    numbers = numbers_of(chunk)
    print(f"chunk {chunk} started", flush=True)
    print("openjd_progress: 50", flush=True)
    for number in numbers:
        while (switches / f"hold-{number}").exists():
            time.sleep(0.05)
        if (once := switches / f"fail-{number}").exists():
            once.unlink()
            return 1
        if (switches / f"always-fail-{number}").exists():
            print(f"openjd_fail: {number} always fails", flush=True)
            return 1
    word = input_file.read_text(encoding="utf-8").strip()
    parts = output_dir / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    lines = [f"{number} {word} {number * number}\n" for number in numbers]
    (parts / f"{chunk}.txt").write_text("".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])))
