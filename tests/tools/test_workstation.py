"""What people run at their desks runs there: on Windows, without packages, and leaving nothing in the bundle."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.fake_server import FakeServer
from support.programs import ROOT, Session, outcome, rows, strange

SUBMISSION = {"jobName": "LLM batch", "jobBundleDir": str(ROOT), "parameters": {"InputFile": "FILE", "Prompts": "all"}}


@pytest.fixture
def job(tmp_path: Path) -> Session:
    """Give a job whose rows were answered and are not merged yet."""
    with FakeServer() as server:
        session = Session(tmp_path / "job", rows("abc"), server.url)
        session.start().check()
        session.chunk().check()
    return session


COMMANDS = {
    "submit.py": (["--help"], "--output-dir"),
    "check.py": (["FILE"], "3 lines"),
    "make_rows.py": (["TABLE"], '"prompt"'),
    "run_local.py": (["--help"], "--prompts"),
    "hook.py": ([], '"1-3"'),
}


@pytest.mark.parametrize("tool", COMMANDS)
def test_a_tool_runs_without_the_modules_that_windows_lacks(tool: str, tmp_path: Path) -> None:
    arguments, says = COMMANDS[tool]
    file, table = tmp_path / "rows.jsonl", tmp_path / "table.csv"
    file.write_bytes(b"".join(line + b"\n" for line in rows("abc")))
    table.write_text("id,prompt\n1,a\n", encoding="utf-8")
    named = [{"FILE": str(file), "TABLE": str(table)}.get(one, one) for one in arguments]
    done = subprocess.run(
        [sys.executable, "-B", str(ROOT / "tools" / tool), *named],
        input=json.dumps(SUBMISSION).replace("FILE", file.as_posix()),
        capture_output=True,
        text=True,
        env={**os.environ, **strange("windows")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    assert "Traceback" not in done.stderr


def test_a_merge_by_hand_runs_without_the_modules_that_windows_lacks(job: Session) -> None:
    job.environment.update(strange("windows"))
    job.aggregate().check()
    assert [outcome(row) for row in job.written()] == ["echo: a", "echo: b", "echo: c"]


def test_a_merge_by_hand_without_jinja2_says_how_to_get_it(job: Session) -> None:
    job.environment.update(strange("no-jinja2"))
    job.aggregate().refused("results.html is made with jinja2", "-m pip install jinja2")
    assert not (job.output / "output" / "output.jsonl").exists()


def test_a_merge_by_hand_leaves_nothing_in_scripts(job: Session, tmp_path: Path) -> None:
    scripts = tmp_path / "bundle" / "scripts"
    shutil.copytree(ROOT / "scripts", scripts)
    before = sorted(scripts.rglob("*"))
    command = [sys.executable, str(scripts / "aggregate.py"), f"--input-file={job.input}", f"--output-dir={job.output}"]
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, env=plain, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(scripts.rglob("*")) == before
