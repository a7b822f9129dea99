"""What the tests of tools/submit.py share: a file of rows, and a `deadline` that is written here."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from submission import merging

JOB = "job-" + "a" * 32
ENDED = "taskRunStatus: SUCCEEDED\ntaskRunStatusCounts:\n  PENDING: 0\n  SUCCEEDED: 3\n"


def rows_file(folder: Path, count: int) -> Path:
    path = folder / "prompts.jsonl"
    path.write_text("".join(json.dumps({"id": n, "prompt": f"Number {n}?"}) + "\n" for n in range(1, count + 1)))
    return path


def submitted_values(notes: Path) -> dict[str, str]:
    values = json.loads(notes.with_suffix(".json").read_text(encoding="utf-8"))["parameterValues"]
    return {each["name"]: each["value"] for each in values}


def put_deadline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put a `deadline` in place that notes its arguments and the bundle's values, and says that the job has ended.

    What a command is to say instead stands in tmp_path/told, under the command's name.
    """
    program = tmp_path / "bin" / "deadline"
    program.parent.mkdir()
    notes = tmp_path / "called"
    program.write_text(
        f"""#!{sys.executable}
import pathlib, shutil, sys
with open({str(notes)!r}, "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
told = pathlib.Path({str(tmp_path)!r}, "told", "-".join(sys.argv[1:3]))
if told.exists():
    print(told.read_text())
    if sys.argv[1] == "manifest":
        shutil.copy(told, sys.argv[3])
    sys.exit()
if sys.argv[1:3] == ["bundle", "submit"]:
    values = pathlib.Path(sys.argv[3], "parameter_values.json").read_text()
    pathlib.Path({str(notes)!r} + ".json").write_text(values)
if sys.argv[1:3] == ["job", "get"]:
    print({ENDED!r})
if sys.argv[1:3] == ["bundle", "submit"] and pathlib.Path({str(tmp_path)!r}, "no farm").exists():
    print(pathlib.Path({str(tmp_path)!r}, "no farm").read_text())
    sys.exit(2)
if sys.argv[1:3] == ["bundle", "submit"]:
    print("Job creation completed successfully\\n{JOB}")
if sys.argv[1:3] == ["job", "download-output"] and pathlib.Path({str(tmp_path)!r}, "refuse").exists():
    sys.exit("no such queue")
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    monkeypatch.setattr(merging, "merge", lambda _: True)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("VLLM_BATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return notes
