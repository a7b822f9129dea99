"""The parameters of a job on a command line and in a session."""

from __future__ import annotations

import argparse
import stat
from pathlib import Path
from typing import Any

import pytest

from job import arguments, parameters
from job.parameters import SECRETS, TABLE, JobError, Kind, Parameter


def read(*argv: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    arguments.add_parameters(parser)
    return arguments.read_values(parser.parse_args(argv))


def test_what_is_not_given_has_the_table_s_default() -> None:
    assert read() == parameters.defaults()


def test_every_parameter_s_help_can_be_shown() -> None:
    parser = argparse.ArgumentParser()
    arguments.add_parameters(parser)
    shown = " ".join(parser.format_help().split())
    assert all(each.secret or each.meaning[:20] in shown for each in TABLE)


def test_a_secret_is_read_from_its_file_and_stands_in_no_note(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_secret\n")
    values = read(f"--hf-token-file={tmp_path / 'token'}", "--max-tokens=7")
    assert values["HfToken"] == "hf_secret"
    arguments.write_note(values, tmp_path)
    note = arguments.read_note(tmp_path)
    assert note == {name: value for name, value in values.items() if name not in SECRETS}
    assert note["MaxTokens"] == 7
    assert stat.S_IMODE((tmp_path / arguments.NOTE).stat().st_mode) == 0o600


def test_a_session_without_a_note_was_not_entered(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="its environment was not entered"):
        arguments.read_note(tmp_path)


def test_addresses_are_recorded_without_user_and_query() -> None:
    values = {**parameters.defaults(), "ServerUrl": "http://me:pass@host:8000/v1?key=secret"}
    assert parameters.record(values)["ServerUrl"] == "http://host:8000/v1?..."


def test_no_secret_is_recorded_and_what_is_unknown_neither() -> None:
    recorded = parameters.record({**dict.fromkeys(SECRETS, "secret"), "MaxTokens": 7})
    assert recorded == {"MaxTokens": 7}


@pytest.mark.parametrize(
    ("parameter", "text", "words"),
    [
        (Parameter("Count", Kind.WHOLE, 1, least=1, most=9), "0", "Count must be at least 1, got 0"),
        (Parameter("Count", Kind.WHOLE, 1, least=1, most=9), "10", "Count must be at most 9, got 10"),
        (Parameter("Count", Kind.WHOLE, 1), "1.5", "Count must be a whole number, got '1.5'"),
        (Parameter("Count", Kind.WHOLE, 1), "9" * 5_000, "Count must be a whole number of at most 9 digits"),
        (Parameter("Share", Kind.NUMBER, 1.0), "hot", "Share must be a number, got 'hot'"),
        (Parameter("Share", Kind.NUMBER, 1.0), "nan", "Share must be a number, got 'nan'"),
        (Parameter("Way", Kind.TEXT, "a", choices=("a", "b")), "c", "Way must be one of a, b; got 'c'"),
        (Parameter("Name", Kind.TEXT, "a", least=1), "", "Name must not be empty"),
    ],
)
def test_a_text_that_gives_no_value_within_bounds_is_refused(parameter: Parameter, text: str, words: str) -> None:
    with pytest.raises(JobError) as refused:
        parameter.read(text)
    assert str(refused.value) == words


def test_every_default_is_within_its_own_bounds() -> None:
    given = [each for each in TABLE if each.default is not None]
    assert [each.read(str(each.default)) for each in given] == [each.default for each in given]
