"""The documents' commands, as they stand there, one after another in a fresh copy of the bundle.

The farm is the loopback one: real `deadline`, real agent, real attachments. The model is a stand-in, since the README's
own needs a GPU; tests/farm/test_farm.py runs the tutorial's commands with real vLLM. CONTRIBUTING.md is for a clone:
test_contributing.py runs its commands.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.documents import ROOT, commands_of
from support.farm import Farm
from support.farm.boto3_alone import link_boto3

pytestmark = pytest.mark.farm
DOCUMENTS = [ROOT / "README.md", ROOT / "docs" / "rows.md", ROOT / "docs" / "tools.md"]
COMMANDS = [command for path in DOCUMENTS for command in commands_of(path)]
RECIPES = ROOT / "docs" / "recipes.md"
RUN_ELSEWHERE = {
    **dict.fromkeys(commands_of(RECIPES), "tests/real_vllm/test_recipes.py, with real vLLM"),
    "python3 tools/run_local.py\n": "tests/real_vllm/test_end_to_end.py, with real vLLM",
    "deadline bundle gui-submit .\n": "tests/tools/test_form.py, offscreen",
}
SECONDS = 900  # a hang ends here, a busy machine does not


@dataclass
class Newcomer:
    """Somebody with a copy of the bundle, a file of reviews and a farm."""

    folder: Path
    farm: Farm
    job_id: str = ""
    ran: list[str] = field(default_factory=list)

    def types(self, command: str) -> str:
        """Run a command of a document in the bundle's folder, answer yes to what it asks, and return what it says."""
        text = command.replace("JOB_ID", self.job_id)
        done = subprocess.run(
            ["bash", "-euc", text],
            cwd=self.folder,
            env={**self.farm.environment, "VLLM_BATCH_CACHE": str(self.folder.parent / "cache")},
            input="y\n" * 5,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        if found := re.search(r"job-[0-9a-f]{32}", done.stdout):
            self.job_id = found[0]
        self.ran.append(command)
        return done.stdout


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    """Copy the bundle, write a file of reviews beside it, and start a farm whose vLLM is the stand-in."""
    folder = tmp_path_factory.mktemp("readme") / "bundle"
    folder.mkdir()
    for name in ("template.yaml", "hooks.yaml", "sample_prompts.jsonl"):
        shutil.copy(ROOT / name, folder)
    for name in ("scripts", "tools", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    (folder / "reviews.csv").write_text('id,text\n1,Good\n2,Bad\n3,"Never, ever"\n', encoding="utf-8")
    brought = [ROOT / "tests" / "support" / "fake_vllm", link_boto3(folder.parent / "boto3")]
    stand_in = {"PYTHONPATH": os.pathsep.join(map(str, brought))}
    with Farm(tmp_path_factory.mktemp("farm"), agents=1, job_environment=stand_in) as farm:
        yield Newcomer(folder, farm)


def test_every_command_runs_as_it_stands(newcomer: Newcomer) -> None:
    for command in COMMANDS:
        if command not in RUN_ELSEWHERE:
            newcomer.types(command)
    assert newcomer.ran == [command for command in COMMANDS if command not in RUN_ELSEWHERE]


def test_the_results_lie_where_the_tutorial_says(newcomer: Newcomer) -> None:
    output = newcomer.folder / "results" / "output"
    for name in ("output.jsonl", "errors.jsonl", "retry.jsonl", "summary.json", "results.html"):
        assert (output / name).is_file()
    assert (output / "output.jsonl").read_text(encoding="utf-8").count('"generated_text"') > 0


def test_the_judge_read_the_first_job_s_answers_on_the_farm_and_nothing_was_downloaded(newcomer: Newcomer) -> None:
    judged = (newcomer.folder / "judged" / "output" / "output.jsonl").read_text(encoding="utf-8").splitlines()
    asked = (newcomer.folder / "sample_prompts.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["id"] for row in judged] == [json.loads(row)["id"] for row in asked]
    assert all({"generated_text", "verdict"} <= json.loads(row).keys() for row in judged)
    assert not (newcomer.folder / "answers" / "output").exists()


def test_a_second_job_into_the_folder_leaves_no_numbered_copies(newcomer: Newcomer) -> None:
    assert [path.name for path in (newcomer.folder / "results").rglob("* (1)*")] == []


def test_what_is_run_elsewhere_is_still_in_a_document() -> None:
    assert set(RUN_ELSEWHERE) <= {*COMMANDS, *commands_of(RECIPES)}


def test_no_other_page_has_commands() -> None:
    others = set(ROOT.glob("docs/*.md")) - {*DOCUMENTS, RECIPES}
    assert [path.name for path in others if commands_of(path)] == []
