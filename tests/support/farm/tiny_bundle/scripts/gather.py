"""Write OutputDir/total.txt: the lines of every part, in number order."""

from __future__ import annotations

import sys
from pathlib import Path


def main(output_dir: Path) -> None:
    """Gather the parts."""
    texts = [part.read_text(encoding="utf-8") for part in (output_dir / "parts").iterdir()]
    lines = sorted("".join(texts).splitlines(), key=lambda line: int(line.split()[0]))
    (output_dir / "total.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
