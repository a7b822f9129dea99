"""The submission form, opened offscreen as `deadline bundle gui-submit` opens it."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROBE = ROOT / "tests" / "support" / "form_probe.py"
TEMPLATE = yaml.safe_load((ROOT / "template.yaml").read_text(encoding="utf-8"))
PARAMETERS = {each["name"]: each for each in TEMPLATE["parameterDefinitions"]}
SHOWN = {name for name, each in PARAMETERS.items() if each["userInterface"]["control"] != "HIDDEN"}
GROUPS = ["Input", "Model", "Generation", "Job size", "Output", "Server", "Environment", "System prompt"]
BOUNDED = [name for name, each in PARAMETERS.items() if "minValue" in each]
TYPED = [
    *((name, str(PARAMETERS[name]["maxValue"] + 1)) for name in BOUNDED),
    *((name, str(PARAMETERS[name]["minValue"] - 1)) for name in BOUNDED),
    *((name, "many") for name in BOUNDED),
]
EMPTIED = [name for name, each in PARAMETERS.items() if each.get("minLength")]
GOOD = [("Prompts", "2,5,8-9"), ("ChunkSize", "150"), ("Temperature", "-1"), ("ModelName", "org/model")]


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Open the form once, type into it, and return what the probe saw."""
    folder = tmp_path_factory.mktemp("form")
    typed = [*TYPED, *((name, "") for name in EMPTIED), *GOOD]
    (folder / "typed.json").write_text(json.dumps(typed), encoding="utf-8")
    command = [sys.executable, "-B", str(PROBE), str(ROOT), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**seen, "picture": (folder / "form.png").read_bytes(), "bundle": folder / "bundle"}


def test_the_groups_stand_in_the_order_in_which_a_person_thinks(form: dict[str, Any]) -> None:
    assert list(form["groups"]) == GROUPS


def test_every_parameter_is_in_its_group_with_a_label_in_words_and_a_tooltip(form: dict[str, Any]) -> None:
    seen = {each["name"]: (group, each) for group, inside in form["groups"].items() for each in inside}
    assert set(seen) == SHOWN
    for name, (group, shown) in seen.items():
        wanted = PARAMETERS[name]
        assert group == wanted["userInterface"]["groupLabel"]
        assert shown["label"] == wanted["userInterface"]["label"]
        assert shown["tip"] == wanted["description"]


def test_no_tooltip_is_longer_than_two_lines_of_a_form() -> None:
    assert [name for name, each in PARAMETERS.items() if len(each["description"]) > 140] == []


def test_the_form_holds_the_template_s_defaults_when_it_opens(form: dict[str, Any]) -> None:
    assert {name: form["opened"][name] for name in SHOWN} == {
        name: PARAMETERS[name].get("default", "") for name in SHOWN
    }


def test_the_hook_sizes_the_tasks_of_a_job_from_the_form_s_defaults(form: dict[str, Any], tmp_path: Path) -> None:
    """The form passes every parameter on, and the submitter keeps these, so sizes are in the form's own template."""
    rows = tmp_path / "prompts.jsonl"
    rows.write_text('{"prompt": "x"}\n' * 5_000, encoding="utf-8")
    values = {each["name"]: each["value"] for each in form["submitted"]} | {"InputFile": str(rows), "Prompts": "all"}
    submission = {"jobName": "LLM batch", "jobBundleDir": str(form["bundle"]), "parameters": values}
    done = subprocess.run(
        [sys.executable, "-B", str(ROOT / "tools" / "hook.py")], input=json.dumps(submission), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert "sizes: Prompts=1-100 BlockSize=50 ChunkSize=100 TargetRuntimeSeconds=600" in done.stderr
    infer = yaml.safe_load(json.loads(done.stdout)["template"])["steps"][0]
    [tasks] = infer["parameterSpace"]["taskParameterDefinitions"]
    assert (tasks["range"], tasks["chunks"]["defaultTaskCount"]) == ("1-100", 100)
    assert "--block-size=50" in infer["stepEnvironments"][0]["script"]["actions"]["onEnter"]["args"]


@pytest.mark.parametrize(("place", "name", "text"), [(at, *each) for at, each in enumerate(TYPED)])
def test_a_number_out_of_its_bounds_cannot_be_entered(form: dict[str, Any], place: int, name: str, text: str) -> None:
    value = form["typed"][place]["value"]
    assert PARAMETERS[name]["minValue"] <= value <= PARAMETERS[name]["maxValue"]


@pytest.mark.parametrize(("place", "name"), list(enumerate(EMPTIED, len(TYPED))))
def test_a_field_that_must_say_something_cannot_be_left_empty(form: dict[str, Any], place: int, name: str) -> None:
    assert form["typed"][place] == {"value": "", "valid": False}


@pytest.mark.parametrize(
    ("place", "name", "text"), [(len(TYPED) + len(EMPTIED) + at, *each) for at, each in enumerate(GOOD)]
)
def test_a_good_value_is_taken(form: dict[str, Any], place: int, name: str, text: str) -> None:
    assert form["typed"][place]["valid"]
    assert str(form["typed"][place]["value"]).removesuffix(".0") == text


def test_files_are_chosen_by_their_kind() -> None:
    for name, pattern in (
        ("InputFile", "*.jsonl"),
        ("PromptTemplateFile", "*.jinja"),
        ("ResponseSchemaFile", "*.json"),
    ):
        first, last = PARAMETERS[name]["userInterface"]["fileFilters"]
        assert pattern in first["patterns"]
        assert last == {"label": "All files", "patterns": ["*"]}


def test_a_picture_of_the_form_can_be_taken(form: dict[str, Any]) -> None:
    assert form["picture"].startswith(b"\x89PNG")
    width, height = struct.unpack(">II", form["picture"][16:24])
    assert width >= 600
    assert height >= 1000
