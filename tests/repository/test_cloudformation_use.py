"""The farm and the bundle fit each other, and the farm's README says what is so."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import botocore.session  # type: ignore[import-untyped]
import click
import pytest
import yaml
from botocore import xform_name
from deadline.client.cli import main as deadline_cli
from openjd.model import decode_environment_template, decode_job_template, merge_job_parameter_definitions

from support.cfn_stack import DEPLOYMENTS, TEMPLATE, Stack, load

README = (TEMPLATE.parent / "README.md").read_text(encoding="utf-8")
TOOLS = Path(sys.executable).parent  # the commands of this test environment
AWS_OF_ITS_OWN: dict[tuple[str, str], set[str]] = {  # commands that the AWS CLI adds to the services' operations
    ("cloudformation", "deploy"): {"--stack-name", "--template-file", "--capabilities", "--parameter-overrides"},
    ("cloudformation", "wait"): {"--stack-name"},
    ("configure", "set"): set(),
    ("s3", "ls"): {"--recursive", "--summarize", "--human-readable"},
    ("s3", "rb"): {"--force"},
}
every_deployment = pytest.mark.parametrize("stack", DEPLOYMENTS.values(), ids=DEPLOYMENTS.keys())


def environment(stack: Stack) -> str:
    return str(stack.resources()["CondaEnvironment"]["Template"])


@every_deployment
def test_the_conda_environment_fits_and_parses(stack: Stack) -> None:
    assert len(environment(stack)) <= 15_000  # characters: the service's limit for a queue environment
    decode_environment_template(template=yaml.safe_load(environment(stack)))


def bundle() -> dict[str, Any]:
    """Return the job template of this bundle."""
    template: dict[str, Any] = yaml.safe_load((TEMPLATE.parent.parent / "template.yaml").read_text(encoding="utf-8"))
    return template


def test_the_farm_and_the_bundle_install_the_same_packages() -> None:
    defaults = {parameter["name"]: parameter.get("default") for parameter in bundle()["parameterDefinitions"]}
    for name in ("CondaPackages", "CondaChannels"):
        assert defaults[name] == load()["Parameters"][name]["Default"]


@every_deployment
def test_the_bundle_s_parameters_and_the_environment_s_go_together(stack: Stack) -> None:
    merged = merge_job_parameter_definitions(
        job_template=decode_job_template(
            template=bundle(), supported_extensions=["TASK_CHUNKING", "REDACTED_ENV_VARS", "FEATURE_BUNDLE_1"]
        ),
        environment_templates=[decode_environment_template(template=yaml.safe_load(environment(stack)))],
    )
    assert {"CondaPackages", "CondaChannels", "Prompts"} <= {definition.name for definition in merged}


def test_the_fleet_s_workers_are_what_the_bundle_asks_for() -> None:
    fleet = Stack().resources()["Fleet"]["Configuration"]["ServiceManagedEc2"]["InstanceCapabilities"]
    has = {
        "amount.worker.gpu": fleet["AcceleratorCapabilities"]["Count"]["Min"],
        "amount.worker.memory": fleet["MemoryMiB"]["Min"],
        "amount.worker.vcpu": fleet["VCpuCount"]["Min"],
    }
    asked = [amount for step in bundle()["steps"] for amount in step.get("hostRequirements", {}).get("amounts", [])]
    assert asked
    assert not [amount for amount in asked if has[amount["name"]] < amount["min"]]


def test_packages_reach_the_installer_whole_and_are_never_run(tmp_path: Path) -> None:
    packages = f"vllm=0.19.1=cuda* python>=3.11 $(touch {tmp_path}/stolen) ; touch {tmp_path}/stolen"
    tool = tmp_path / "conda-queue-env-enter"
    tool.write_text(f"#!{sys.executable}\nimport sys\nprint('ARGS', sys.argv[1:])\n", encoding="utf-8")
    (tmp_path / "conda-queue-env-exit").write_text(tool.read_text(encoding="utf-8"), encoding="utf-8")
    for name in ("conda-queue-env-enter", "conda-queue-env-exit"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / "environment.yaml").write_text(environment(Stack()), encoding="utf-8")
    job = {"specificationVersion": "jobtemplate-2023-09", "name": "Job"}
    job["steps"] = [{"name": "Step", "script": {"actions": {"onRun": {"command": "true"}}}}]  # type: ignore[assignment]
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job), encoding="utf-8")
    (tmp_path / "parameters.json").write_text(json.dumps({"CondaPackages": packages}), encoding="utf-8")
    command = [str(TOOLS / "openjd"), "run", "job.yaml", "--environment", "environment.yaml"]
    done = subprocess.run(
        [*command, "-p", "file://parameters.json"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    root = f"{os.environ['HOME']}/.persistent_envs"
    assert repr(["--persist-envs-hashed", root, "--packages", packages, "--channels", "conda-forge"]) in done.stdout
    assert not (tmp_path / "stolen").exists()


def test_the_readme_s_table_is_the_template_s_parameters() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", README, flags=re.MULTILINE)
    said = {name: default.strip("`") for name, default in rows}
    assert said == {name: str(spec["Default"]) or "empty" for name, spec in load()["Parameters"].items()}


def test_every_parameter_stands_in_one_group_of_the_form() -> None:
    groups = load()["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    shown = [name for group in groups for name in group["Parameters"]]
    assert sorted(shown) == sorted(load()["Parameters"])


def test_every_output_is_explained_in_the_readme() -> None:
    assert not [name for name in load()["Outputs"] if f"`{name}`" not in README]


def commands(program: str) -> list[list[str]]:
    """Return every command of a program that the README or an output of the stack shows, in words."""
    spans = re.findall(r"```\n(.*?)```|`([^`]+)`", README, flags=re.DOTALL)
    lines = {line for block, span in spans for line in (block or span).splitlines()}
    lines |= {value for stack in DEPLOYMENTS.values() for value in stack.outputs().values()}
    return [shlex.split(line) for line in sorted(lines) if line.startswith(f"{program} ")]


def options(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("--")}


def aws_options(service: str, operation: str) -> set[str]:
    """Return the options of one operation as the AWS CLI derives them from the service's model."""
    model = botocore.session.get_session().get_service_model(service)
    names = {xform_name(name, "-"): name for name in model.operation_names}
    shape = model.operation_model(names[operation]).input_shape
    return {f"--{xform_name(member, '-')}" for member in (shape.members if shape else {})} | {"--query", "--output"}


@pytest.mark.parametrize("words", commands("aws"), ids=" ".join)
def test_every_aws_command_that_is_shown_exists(words: list[str]) -> None:
    _, service, operation, *rest = words
    known = AWS_OF_ITS_OWN.get((service, operation))
    assert options(rest) - (aws_options(service, operation) if known is None else known) == set()


@pytest.mark.parametrize("words", commands("deadline"), ids=" ".join)
def test_every_deadline_command_that_is_shown_exists(words: list[str]) -> None:
    group = deadline_cli.commands[words[1]]
    assert isinstance(group, click.Group)
    known = {option for parameter in group.commands[words[2]].params for option in parameter.opts}
    assert options(words) - known == set()
