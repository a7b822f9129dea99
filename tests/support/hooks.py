"""The submission hook as `deadline` runs it, and files of rows for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
GOOD = [{"id": n, "prompt": f"Number {n}?"} for n in range(1, 501)]
BAD = ['{"prompt": 7}', "not JSON at all", '{"prompt": "x", "temperature": "hot"}']
# lines, the range, BlockSize, ChunkSize and TargetRuntimeSeconds that suit them, tasks
SUITED = [(500, "1-100", 5, 100, 120, 1), (5_000, "1-100", 50, 100, 600, 1), (50_000, "1-1000", 50, 59, 600, 17)]


def file_of(folder: Path, *lines: str, name: str = "prompts.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def run_hook(parameters: dict[str, Any], *, name: str = "LLM batch", python: str = sys.executable) -> Any:
    """Run hooks.yaml's command as deadline does: JSON on stdin, JSON or nothing on stdout."""
    [hook] = yaml.safe_load((ROOT / "hooks.yaml").read_text(encoding="utf-8"))["preSubmission"]
    assert hook["command"] == "python3"
    given = {"jobName": name, "jobBundleDir": str(ROOT), "parameters": parameters}
    command = [python, *(str(ROOT / part) if (ROOT / part).exists() else part for part in hook["args"])]
    return subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)
