"""The table of parameters is the only one: what is added to it reaches everything that has to know it."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from job import arguments
from job.parameters import BY_NAME
from maintenance import write_tables
from support.fake_server import FakeServer
from support.programs import Session, rows

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "scripts" / "job" / "parameters.py"
DEFINITION = """
  - name: Mood
    type: STRING
    default: calm
    description: How the answers sound.
    userInterface: {control: LINE_EDIT, label: Mood, groupLabel: Input}
"""
ENTRY = '\n    Parameter("Mood", TEXT, "calm", checked=True, meaning="How the answers sound."),'
A_FEW = 5  # names that a place may use together, as aggregate.py does; more are a table
A_COMMAND = 8  # that a page may say again of a job


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the bundle in whose template and table, and nowhere else, there is a new parameter."""
    copy = tmp_path_factory.mktemp("bundle")
    for folder in ("scripts", "tools", "docs"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "images"))
    for name in ("template.yaml", "README.md"):
        shutil.copy(ROOT / name, copy / name)
    insert(copy / "template.yaml", after="parameterDefinitions:", text=DEFINITION.rstrip("\n"))
    insert(copy / "template.yaml", after="                - start", text='\n                - "--mood={{Param.Mood}}"')
    insert(copy / "scripts" / "job" / "parameters.py", after="TABLE = (  # in the form's order", text=ENTRY)
    return copy


def insert(path: Path, *, after: str, text: str) -> None:
    before, found, rest = path.read_text(encoding="utf-8").partition(f"{after}\n")
    assert found
    path.write_text(f"{before}{after}{text}\n{rest}", encoding="utf-8")


def test_a_new_parameter_is_in_the_session_the_shard_the_summary_and_the_page(bundle: Path, tmp_path: Path) -> None:
    with FakeServer() as server:
        session = Session(tmp_path / "job", rows(["a"]), server.url, scripts=bundle / "scripts")
        session.start(mood="tense").check()
        session.chunk().check()
        session.aggregate().check()
    assert json.loads((session.folder / "session" / arguments.NOTE).read_bytes())["Mood"] == "tense"
    (shard,) = session.results.iterdir()
    assert json.loads(shard.read_bytes().splitlines()[0])["parameters"]["Mood"] == "tense"
    assert session.summary()["parameters"]["Mood"] == "tense"
    page = (session.output / "output" / "results.html").read_text(encoding="utf-8")
    assert re.findall(r'"Mood": "(\w+)"', page) == ["tense", "calm"]  # the job's own, and the default


def test_a_new_parameter_is_an_option_of_the_check(bundle: Path) -> None:
    assert "--mood VALUE" in run(bundle / "tools" / "check.py", "--help")


def test_a_new_parameter_is_a_row_of_the_document_s_table(bundle: Path) -> None:
    row = "| `Mood` | STRING, `calm` | How the answers sound. |"
    program = bundle / "tools" / "maintenance" / "write_tables.py"
    assert row not in (bundle / "README.md").read_text(encoding="utf-8").splitlines()
    run(program)
    assert row in (bundle / "README.md").read_text(encoding="utf-8").splitlines()
    run(program, "--check")


def run(*command: str | Path) -> str:
    return subprocess.run([sys.executable, "-B", *command], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", write_tables.documents(), ids=lambda path: path.name)
def test_a_document_s_tables_are_what_the_code_makes_of_them(path: Path) -> None:
    document = path.read_text(encoding="utf-8")
    assert write_tables.fill(document) == document


def test_one_document_has_the_table_of_parameters() -> None:
    marked = [write_tables.MARKED.findall(path.read_text(encoding="utf-8")) for path in write_tables.documents()]
    assert [name for found in marked for _, name, _ in found] == ["parameters"]


def test_no_other_program_has_a_table_of_parameters() -> None:
    programs = [path for folder in ("scripts", "tools") for path in (ROOT / folder).rglob("*.py") if path != TABLE]
    listed = [(str(path.relative_to(ROOT)), names) for path in programs for names in names_listed_in(path)]
    assert [(path, names) for path, names in listed if len(names) > A_FEW] == []


def names_listed_in(path: Path) -> Iterator[set[str]]:
    """Yield the parameters' names that stand together in one list, set or mapping of a program."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.Set):
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            inner = [part for each in parts if isinstance(each, ast.Tuple) for part in each.elts]
            texts = {part.value for part in (*parts, *inner) if isinstance(part, ast.Constant)}
            yield {text for text in texts if isinstance(text, str)} & BY_NAME.keys()


@pytest.mark.parametrize("folder", ["scripts", "tools"])
def test_no_script_of_a_page_has_a_table_of_parameters(folder: str) -> None:
    named = {path.name: names_in(path) for path in (ROOT / folder).rglob("*.js")}
    assert {name: names for name, names in named.items() if len(names) > A_COMMAND} == {}


def names_in(path: Path) -> set[str]:
    return set(re.findall(r"\w+", path.read_text(encoding="utf-8"))) & BY_NAME.keys()
