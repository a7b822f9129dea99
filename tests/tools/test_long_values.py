"""A value that the service does not take is refused by each tool before a submission, with the way out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from job.parameters import flag
from support.programs import ROOT

WAYS = {
    "SystemPrompt": ("x" * 1025, "SystemPromptFile"),
    "SamplingParams": (json.dumps({"stop": ["x" * 1100]}), "write what some rows need into those rows"),
    "VllmArgs": ("--seed 1 " * 200, "leave out what is vLLM's default"),
    "InputUrl": ("https://b.example/in.jsonl?X-Amz-Security-Token=" + "x" * 1000, "s3://BUCKET/KEY"),
    "OutputUrl": ("https://b.example/out.jsonl?X-Amz-Security-Token=" + "x" * 1000, "s3://BUCKET/KEY"),
    "ModelName": ("m" * 1025, "make it shorter"),
}


def run(tool: str, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(ROOT / "tools" / tool), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "x"}\n', encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", WAYS)
def test_a_value_that_is_too_long_is_told_by_every_tool(name: str, file: str, tmp_path: Path) -> None:
    value, way = WAYS[name]
    submission = {"jobBundleDir": str(ROOT), "parameters": {"InputFile": file, "Prompts": "1", name: value}}
    results = [
        *([run("check.py", file, f"{flag(name)}={value}")] if not name.endswith("Url") else []),
        run("submit.py", file, "--output-dir", str(tmp_path), "-p", f"{name}={value}"),
        run("hook.py", text=json.dumps(submission)),
    ]
    for done in results:
        told = done.stdout + done.stderr
        assert done.returncode != 0
        assert f"{name} has {len(value):,} characters, more than the 1,024 that the service takes" in told
        assert way in told
        assert "Security-Token" not in told


def test_a_value_of_the_greatest_length_is_taken(file: str) -> None:
    assert run("check.py", file, "--system-prompt=" + "x" * 1024).returncode == 0
