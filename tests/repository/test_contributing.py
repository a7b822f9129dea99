"""CONTRIBUTING.md says what is so: its commands run, and its folders are those of tests/."""

from __future__ import annotations

import re
import subprocess

from support.documents import ROOT, commands_of

PAGE = ROOT / "CONTRIBUTING.md"
RUN_ELSEWHERE = {"python3 tests/run_all.py\n": "runs this"}


def test_every_command_runs_as_it_stands() -> None:
    commands = commands_of(PAGE)
    assert set(RUN_ELSEWHERE) < set(commands)
    for command in commands:
        if command not in RUN_ELSEWHERE:
            subprocess.run(["bash", "-euc", command], cwd=ROOT, check=True)


def test_every_folder_of_the_tests_is_explained() -> None:
    explained = re.findall(r"^\| `tests/(\w+)/` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    folders = [path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert sorted(explained) == sorted(folders)


def test_every_marker_is_explained() -> None:
    markers = re.findall(r'^    "(\w+): ', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    page = PAGE.read_text(encoding="utf-8")
    assert markers
    assert [name for name in markers if f"marked `{name}`" not in page] == []
