"""Only the lines without an answer to the same question are asked, by run_local.py and submit.py alike."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import hook
import run_local
import submit
from rows.ranges import EXPRESSION_LIMIT, Lines
from submission import missing
from submission.missing import Standing, find_standing, make_job
from submission.request import Request
from support.fake_server import FakeServer
from support.local_machine import Ran
from support.programs import Session, outcome, rows
from support.submitting import rows_file, submitted_values


@pytest.fixture
def six_of_ten(tmp_path: Path) -> Iterator[Session]:
    """Give a folder in which the first six of ten lines have an answer."""
    with FakeServer() as server:
        session = Session(tmp_path / "job", rows("abcdefghij"), server.url)
        session.start().check()
        session.chunk("1-6").check()
        yield session


def typed(session: Session, *more: str) -> list[str]:
    """Return the options that ask what the session asks."""
    return ["--output-dir", str(session.output), "-p", f"ServerUrl={session.url}", "-p", "ModelName=fake", *more]


def test_only_what_has_no_answer_is_asked(six_of_ten: Session, ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_local.main(["--input", str(six_of_ten.input), *typed(six_of_ten)]) == 0
    assert (ran.jobs[0]["Prompts"], ran.jobs[0]["BlockSize"]) == ("7-10", "1")
    assert "6 of 10 lines have an answer to this same question; 4 are asked" in capsys.readouterr().err


def test_what_the_job_s_own_merge_told_is_not_told_again(
    six_of_ten: Session, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--input", str(six_of_ten.input), *typed(six_of_ten)]
    assert run_local.main(arguments) == 0
    assert "10 lines requested: 6 succeeded" in capsys.readouterr().err  # nobody has merged before
    assert run_local.main(arguments) == 0
    assert "lines requested" not in capsys.readouterr().err


def test_the_farm_is_asked_for_the_same(six_of_ten: Session, said: Path) -> None:
    assert submit.main([str(six_of_ten.input), "--no-wait", *typed(six_of_ten)]) == 0
    assert submitted_values(said)["Prompts"] == "7-10"


def test_an_inserted_line_is_asked_and_the_moved_ones_are_not(six_of_ten: Session, ran: Ran) -> None:
    lines = six_of_ten.input.read_bytes().splitlines(keepends=True)
    six_of_ten.input.write_bytes(b"".join([*lines[:2], b'{"prompt": "new"}\n', *lines[2:6]]))
    assert run_local.main(["--input", str(six_of_ten.input), *typed(six_of_ten)]) == 0
    assert ran.jobs[0]["Prompts"] == "3"


def test_where_nothing_is_missing_no_job_runs_and_the_page_is_there(
    six_of_ten: Session, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    six_of_ten.input.write_bytes(b"".join(six_of_ten.input.read_bytes().splitlines(keepends=True)[:6]))
    assert run_local.main(["--input", str(six_of_ten.input), *typed(six_of_ten)]) == 0
    printed = capsys.readouterr()
    assert ran.jobs == []
    assert printed.out.strip() == str(six_of_ten.output / "output" / "results.html")
    assert "none is left to ask" in printed.err
    assert [outcome(row) for row in six_of_ten.written()] == [f"echo: {text}" for text in "abcdef"]


def test_again_asks_every_line(six_of_ten: Session, ran: Ran) -> None:
    assert run_local.main(["--input", str(six_of_ten.input), "--again", *typed(six_of_ten)]) == 0
    assert ran.jobs[0]["Prompts"] == "1-10"


@pytest.mark.parametrize("changed", ["SystemPrompt=Be brief", "Temperature=0", "ModelName=other"])
def test_another_question_is_asked_of_every_line(
    changed: str, six_of_ten: Session, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_local.main(["--input", str(six_of_ten.input), *typed(six_of_ten, "-p", changed)]) == 0
    assert ran.jobs[0]["Prompts"] == "1-10"
    assert "6 answers in the folder are to other questions and stay aside" in capsys.readouterr().err


def hooked(session: Session, **more: str) -> dict[str, object]:
    """Submit what the session asks, with hooks allowed."""
    asked = {
        "InputFile": str(session.input),
        "OutputDir": str(session.output),
        "ServerUrl": session.url,
        "ChunkSize": "5",
        "CondaPackages": "aiohttp",
    }
    return hook.hook(
        {"jobBundleDir": str(session.folder), "parameters": {**asked, "ModelName": "fake", "Prompts": "1-10", **more}}
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "6 of 10 lines have an answer to this same question; Prompts=7-10 asks only the others"),
        ({"Prompts": "all"}, "6 of 10 lines have an answer to this same question; Prompts=7-10 asks only the others"),
        ({"Prompts": "1-2", "BlockSize": "4"}, "6 of 8 lines have an answer to this same question; Prompts=7,8 with"),
        ({"Prompts": "2-5"}, "4 of 4 lines have an answer to this same question; none is left to ask"),
    ],
    ids=["some", "all", "blocks", "none left"],
)
def test_the_hook_says_what_is_answered_and_lets_all_be_asked(
    asked: dict[str, str], told: str, six_of_ten: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = hooked(six_of_ten, **asked)
    assert changed == ({"parameters": {"Prompts": "1-10"}} if asked.get("Prompts") == "all" else {})
    assert told in capsys.readouterr().err


def test_the_hook_says_nothing_of_other_questions_and_stops_at_nothing(
    six_of_ten: Session, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked(six_of_ten, SystemPrompt="Be brief")
    monkeypatch.setattr(missing, "find_standing", lambda _: 1 / 0)
    hooked(six_of_ten)
    assert "have an answer" not in capsys.readouterr().err


def test_lines_that_no_range_can_name_travel_in_a_file(tmp_path: Path) -> None:
    draw = random.Random(7)
    chosen = Lines.of(sorted(draw.sample(range(1, 3001), 700)))
    assert len(str(chosen)) > EXPRESSION_LIMIT
    file = rows_file(tmp_path, 3000)
    request = Request({"InputFile": str(file), "OutputDir": str(tmp_path / "out"), "Prompts": "1-3000"})
    job = make_job(request, find_standing(request), chosen)
    lines = file.read_bytes().splitlines()
    assert Path(job["InputFile"]).read_bytes().splitlines() == [lines[line - 1] for line in chosen]
    assert job["BlockSize"] == "10"
    assert (job["Prompts"], job["OutputDir"]) == ("1-70", str(tmp_path / "out"))


def test_sizes_that_a_person_chose_stay(tmp_path: Path) -> None:
    whole = {"InputFile": "x", "OutputDir": "y", "Prompts": "1-10", "BlockSize": "10", "ChunkSize": "4"}
    request = Request(whole, frozenset({"BlockSize", "ChunkSize"}))
    job = make_job(request, Standing(Lines([range(1, 101)]), Lines()), Lines.of([5, 7]))
    assert (job["Prompts"], job["BlockSize"], job["ChunkSize"]) == ("5,7", "1", "40")


@pytest.mark.parametrize(
    ("others", "told"),
    [
        (0, ""),
        (1, "1 answer in the folder is to another question and stays aside"),
        (2, "2 answers in the folder are to other questions and stay aside"),
    ],
)
def test_answers_to_other_questions_are_told_in_a_sentence(others: int, told: str) -> None:
    lines = Lines([range(1, 4)])
    assert Standing(lines, lines, others).tell() == told
