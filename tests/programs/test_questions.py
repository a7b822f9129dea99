"""No answer stands beside a question that was not asked, whatever changed between two jobs into one folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.fake_server import FakeServer
from support.programs import Session, outcome, rows

STOPPED = "1-4"  # what the first job answered before it was stopped
SCHEMA, OTHER_SCHEMA = {"type": "string"}, {"enum": ["echo"]}


@dataclass
class Folder:
    """One OutputDir into which several jobs run."""

    path: Path
    server: FakeServer
    jobs: int = 0

    def run(self, lines: list[bytes], values: str, **parameters: str) -> Session:
        """Run a job over some of the lines, and merge."""
        self.jobs += 1
        session = Session(self.path / f"job-{self.jobs}", lines, self.server.url, options=parameters)
        session.prompts = values
        session.output = self.path / "out"
        session.start().check()
        session.chunk().check()
        session.aggregate().check()
        return session


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with FakeServer() as server:
        yield Folder(tmp_path, server)


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)


TEMPLATES = ("Wrong: {{ prompt }}", "Right: {{ prompt }}")
CHANGES: dict[str, Any] = {
    "the template": lambda n, at: {"prompt_template_file": write(at / str(n), "t.jinja", TEMPLATES[n])},
    "the system prompt": lambda n, _: {"system_prompt": ("Be brief.", "Be kind.")[n]},
    "its file": lambda n, at: {"system_prompt_file": write(at / str(n), "s.txt", ("Be brief.", "Be kind.")[n])},
    "the temperature": lambda n, _: {"temperature": ("0.1", "0.9")[n]},
    "an option": lambda n, _: {"sampling_params": ('{"top_p": 0.5}', '{"top_p": 0.6}')[n]},
    "the limit": lambda n, _: {"max_tokens": ("64", "65")[n]},
    "the endpoint": lambda n, _: {"endpoint": ("chat", "completions")[n]},
    "the server's arguments": lambda n, _: {"vllm_args": ("", "--revision 2")[n]},
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_answers_under_what_was_changed_since_are_left_alone_and_said(
    change: str, folder: Folder, tmp_path: Path
) -> None:
    lines = rows("abcdef")
    folder.run(lines, STOPPED, **CHANGES[change](0, tmp_path))
    session = folder.run(lines, "4-6", **CHANGES[change](1, tmp_path))
    found = session.summary()
    assert (found["requested"], found["succeeded"], found["missing"], found["rerun"]) == (6, 3, 3, "1-3")
    told = "\n".join(found["notes"])
    assert "4 answers in results/ are to other questions and are left alone (they were asked with" in told
    assert [outcome(row) for row in session.written()][:3] == ["missing"] * 3


def test_so_are_those_of_another_model(folder: Folder) -> None:
    lines = rows("abcdef")
    folder.run(lines, STOPPED)
    folder.server.model = "other"
    session = folder.run(lines, "4-6", model_name="other")
    assert [outcome(row) for row in session.written()][:3] == ["missing"] * 3
    assert session.summary()["model"] == "other"


def test_so_are_those_of_another_server(folder: Folder) -> None:
    lines = rows("abcdef")
    folder.run(lines, STOPPED)
    with FakeServer() as folder.server:
        session = folder.run(lines, "4-6")
    assert [outcome(row) for row in session.written()] == [*["missing"] * 3, "echo: d", "echo: e", "echo: f"]


def test_those_under_a_changed_schema_are_left_alone(folder: Folder, tmp_path: Path) -> None:
    lines = rows("abcdef")
    for number, schema in enumerate((SCHEMA, OTHER_SCHEMA)):
        path = write(tmp_path / str(number), "schema.json", json.dumps(schema))
        session = folder.run(lines, ("1-4", "4-6")[number], response_schema_file=path)
    assert [outcome(row) for row in session.written()][:3] == ["missing"] * 3


def test_an_answer_goes_with_the_name_of_the_field_that_the_last_job_had(folder: Folder) -> None:
    lines = rows("abcdef")
    folder.run(lines, STOPPED, output_field="verdict")
    session = folder.run(lines, "5-6", output_field="answer")
    assert [row["answer"] for row in session.written()] == [f"echo: {text}" for text in "abcdef"]
    assert not any("verdict" in row for row in session.written())
    assert folder.server.asked == Counter(["Hi", "Hi", *"abcdef"])


def test_a_job_with_the_first_job_s_parameters_has_its_answers_back(folder: Folder) -> None:
    lines = rows("abcdef")
    folder.run(lines, STOPPED, system_prompt="one")
    folder.run(lines, "5-6", system_prompt="two")
    session = folder.run(lines, "5-6", system_prompt="one")
    assert [outcome(row) for row in session.written()] == [f"echo: {text}" for text in "abcdef"]
    session.aggregate(system_prompt="two", model_name="fake", server_url=folder.server.url).check()
    assert [outcome(row) for row in session.written()] == [*["missing"] * 4, "echo: e", "echo: f"]


def test_a_file_whose_lines_were_mended_sorted_and_added_to_keeps_every_answer_that_fits(folder: Folder) -> None:
    folder.run(rows("abcdef"), "1-6")
    rest = [json.dumps({"note": n, "prompt": text}).encode() for n, text in enumerate("fedbaxy")]
    session = folder.run(rest, "6-7")
    assert [(row["note"], outcome(row)) for row in session.written()] == [
        (n, f"echo: {text}") for n, text in enumerate("fedbaxy")
    ]
    assert folder.server.asked == Counter(["Hi", "Hi", *"abcdefxy"])
    assert "1 answer in results/ is to another question" in "\n".join(session.summary()["notes"])


def test_what_must_have_the_same_answer_is_asked_once_in_a_task(folder: Folder) -> None:
    session = folder.run(rows("abaaba"), "1-6", temperature="0")
    assert [outcome(row) for row in session.written()] == [f"echo: {text}" for text in "abaaba"]
    assert folder.server.asked == Counter(["Hi", "a", "b"])
    found = session.summary()
    assert (found["succeeded"], found["shared"]) == (6, 4)
    assert found["prompt_tokens"] == sum(row["prompt_tokens"] for row in session.written()[:2])


def test_what_may_have_another_answer_is_asked_for_each_line(folder: Folder) -> None:
    folder.run(rows("aab"), "1-3")
    assert folder.server.asked == Counter(["Hi", "a", "a", "b"])
