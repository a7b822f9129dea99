"""Terms: jobs that differ in anything that an answer depends on are on other terms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from job import parameters
from job.parameters import BY_NAME
from results.terms import NAMES, Terms

TEXTS = {"SamplingParams": '{"top_p": 0.5}', "ServerUrl": "http://elsewhere:8000"}
FILES = {"PromptTemplateFile": "Say {{ prompt }}", "ResponseSchemaFile": '{"type": "string"}'}
NO_OTHER = "OutputField"  # an answer goes with the name that the last job gave it


def other_value(name: str, folder: Path) -> Any:
    """Return another value of a parameter than its default."""
    known = BY_NAME[name]
    if name in parameters.FILES:
        (folder / name).write_text(FILES.get(name, "Be brief."), encoding="utf-8")
        return str(folder / name)
    if known.type is not str:
        return known.default / 16  # of MaxModelLen less than an answer may have
    return TEXTS.get(name, next((choice for choice in known.choices if choice != known.default), "other"))


@pytest.mark.parametrize("name", [name for name in NAMES if name != NO_OTHER])
def test_a_job_with_another_value_is_on_other_terms(name: str, tmp_path: Path) -> None:
    value = BY_NAME[name].type(other_value(name, tmp_path))
    changed = Terms.of({**parameters.defaults(), name: value})
    assert changed.fingerprint != Terms.of(parameters.defaults()).fingerprint


def test_a_job_whose_answers_go_to_another_field_is_on_the_same_terms() -> None:
    renamed = Terms.of({**parameters.defaults(), NO_OTHER: "verdict"})
    assert renamed.fingerprint == Terms.of(parameters.defaults()).fingerprint
