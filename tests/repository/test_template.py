"""The template: what the host checks, and that it fits the programs that it starts."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from openjd.model import create_job, decode_job_template, preprocess_job_parameters

import aggregate
import run_chunk
import serve
from job.parameters import BY_NAME, SECRETS, TABLE, Kind, Parameter, flag

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE: dict[str, Any] = yaml.safe_load((ROOT / "template.yaml").read_text(encoding="utf-8"))
PARAMETERS = {parameter["name"]: parameter for parameter in TEMPLATE["parameterDefinitions"]}
INFER, AGGREGATE = TEMPLATE["steps"]
SERVER = INFER["stepEnvironments"][0]["script"]
PROGRAMS = {"serve.py": serve, "run_chunk.py": run_chunk, "aggregate.py": aggregate}
BY_THE_HOST = {"CondaPackages", "CondaChannels", "JobScriptDir"}
TYPES: dict[Kind, dict[str, str]] = {
    Kind.TEXT: {"type": "STRING"},
    Kind.ADDRESS: {"type": "STRING"},
    Kind.MOMENT: {"type": "STRING"},
    Kind.FILE: {"type": "PATH", "objectType": "FILE", "dataFlow": "IN"},
    Kind.FOLDER: {"type": "PATH", "objectType": "DIRECTORY", "dataFlow": "IN"},
    Kind.OUTPUT_FOLDER: {"type": "PATH", "objectType": "DIRECTORY", "dataFlow": "OUT"},
    Kind.WHOLE: {"type": "INT"},
    Kind.NUMBER: {"type": "FLOAT"},
}
ACTIONS = {
    "onEnter": SERVER["actions"]["onEnter"],
    "onExit": SERVER["actions"]["onExit"],
    "Infer": INFER["script"]["actions"]["onRun"],
    "Aggregate": AGGREGATE["script"]["actions"]["onRun"],
}


def job_with(**values: str) -> Any:
    """Make the job as the host does, from parameter values."""
    template = decode_job_template(template=TEMPLATE, supported_extensions=TEMPLATE["extensions"])
    given = preprocess_job_parameters(
        job_template=template,
        job_parameter_values={"InputFile": "in.jsonl", "OutputDir": "out", **values},
        job_template_dir=ROOT,
        current_working_dir=ROOT,
    )
    return create_job(job_template=template, job_parameter_values=given)


def test_openjd_check_accepts_the_template() -> None:
    command = [str(Path(sys.executable).parent / "openjd"), "check", str(ROOT / "template.yaml")]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_s_arguments_are_read_by_its_program_s_own_parser(name: str) -> None:
    interpreter_flag, program, *arguments = ACTIONS[name]["args"]
    example = {parameter: str(PARAMETERS[parameter].get("default", "x")) for parameter in PARAMETERS}
    filled = [re.sub(r"\{\{Param\.(\w+)\}\}", lambda m: example[m[1]], argument) for argument in arguments]
    filled = [re.sub(r"\{\{[^}]*\}\}", "1", argument) for argument in filled]
    assert (ACTIONS[name]["command"], interpreter_flag) == ("python", "-B")
    parser = PROGRAMS[program.removeprefix("{{Param.JobScriptDir}}/")].build_parser()
    assert isinstance(parser.parse_args(filled), argparse.Namespace)


@pytest.mark.parametrize("name", ACTIONS)
def test_a_value_that_looks_like_a_flag_stays_a_value(name: str) -> None:
    assert all("=" in argument or argument in ("start", "stop") for argument in ACTIONS[name]["args"][2:])


@pytest.mark.parametrize("name", ACTIONS)
def test_no_secret_is_in_an_argument(name: str) -> None:
    used = set(re.findall(r"Param\.(\w+)", " ".join(ACTIONS[name]["args"])))
    assert not used & SECRETS


def test_the_server_s_start_is_given_every_parameter_that_is_not_the_host_s_or_the_output_s() -> None:
    given = [argument.split("=")[0] for argument in ACTIONS["onEnter"]["args"] if "=" in argument]
    others = {"OutputDir", "OutputUrl", *BY_THE_HOST}
    wanted = [flag(each.name) + "-file" * each.secret for each in TABLE if each.name not in others]
    assert given == ["--session-dir", *wanted]


@pytest.mark.parametrize("parameter", TABLE, ids=BY_NAME)
def test_the_template_defines_what_the_table_says(parameter: Parameter) -> None:
    bounds = ("minLength", "maxLength") if parameter.type is str else ("minValue", "maxValue")
    said = {
        **TYPES[parameter.kind],
        "default": parameter.default,
        bounds[0]: parameter.least,
        bounds[1]: parameter.most,
        "allowedValues": list(parameter.choices) or None,
        "description": parameter.meaning,
    }
    definition = {name: value for name, value in PARAMETERS[parameter.name].items() if name != "userInterface"}
    assert definition == {"name": parameter.name} | {name: value for name, value in said.items() if value is not None}


def test_the_form_and_the_table_have_one_order() -> None:
    assert list(PARAMETERS) == list(BY_NAME)


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_is_told_before_it_is_ended(name: str) -> None:
    assert ACTIONS[name]["cancelation"]["mode"] == "NOTIFY_THEN_TERMINATE"


def test_every_parameter_has_an_effect() -> None:
    used = set(re.findall(r"\{\{Param\.(\w+)", yaml.safe_dump(TEMPLATE["steps"])))
    assert used | BY_THE_HOST == set(PARAMETERS)


def test_the_limits_of_the_host_are_kept() -> None:
    assert len(PARAMETERS) <= 50
    assert len((ROOT / "template.yaml").read_text(encoding="utf-8")) < 1_000_000
    assert max(len(parameter["description"]) for parameter in PARAMETERS.values()) <= 160


OUT_OF_BOUNDS = [
    ("ChunkSize", "0"), ("ChunkSize", "151"), ("BlockSize", "0"), ("TargetRuntimeSeconds", "-1"), ("MaxTokens", "0"),
    ("MaxTokens", "many"), ("Temperature", "-2"), ("Temperature", "hot"), ("MaxConcurrency", "8193"),
    ("MaxAttempts", "0"), ("GpuMemoryUtilization", "1.5"),
    ("MaxFailedPercent", "101"), ("RowTimeoutSeconds", "0"), ("MaxModelLen", "1"),
    ("Endpoint", "telepathy"), ("Prompts", ""), ("Prompts", "9-1"), ("Prompts", "1-5,3-9"), ("Prompts", "all"),
    ("ModelName", ""), ("OutputField", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), OUT_OF_BOUNDS, ids=[f"{n}={v}" for n, v in OUT_OF_BOUNDS])
def test_a_value_out_of_bounds_is_refused_at_submission(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        job_with(**{name: value})


@pytest.mark.parametrize("prompts", ["1-10", "2,5,8-9", "4,7", "1-10:2"])
def test_the_tutorial_s_ranges_make_a_job(prompts: str) -> None:
    job = job_with(Prompts=prompts)
    assert [step.name for step in job.steps] == ["Infer", "Aggregate"]
    assert job.steps[0].parameterSpace is not None
    assert job.steps[1].dependencies[0].dependsOn == "Infer"


def test_infer_wants_a_gpu_and_aggregate_wants_none() -> None:
    amounts = {amount["name"]: amount["min"] for amount in INFER["hostRequirements"]["amounts"]}
    assert amounts == {"amount.worker.gpu": 1, "amount.worker.memory": 30720}, "hosts of 32 GiB report less"
    assert "amounts" not in AGGREGATE["hostRequirements"]


def test_a_job_without_an_input_file_can_be_made_since_there_may_be_a_url() -> None:
    assert job_with(InputFile="", InputUrl="https://example.com/in.jsonl?X-Amz-Signature=1").name == "LLM batch"
