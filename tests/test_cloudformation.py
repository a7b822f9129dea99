"""The farm template: it lints clean, its outputs are commands that work, and nobody gets more than is needed."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cfnlint.api  # type: ignore[import-untyped]
import pytest
import yaml
from openjd.model import decode_environment_template

from cfn_stack import HEX, TEMPLATE, Stack, Unresolved, load

README = (TEMPLATE.parent / "README.md").read_text(encoding="utf-8")
TOOLS = Path(sys.executable).parent  # the commands of this test environment
SECRET = "arn:aws-test:secretsmanager:us-west-2:111122223333:secret:hf-token-AbCdEf"
REGIONS = [  # the commercial regions for which cfn-lint knows Deadline Cloud
    *("ap-northeast-1", "ap-northeast-2", "ap-southeast-1", "ap-southeast-2", "eu-central-1"),
    *("eu-west-1", "eu-west-2", "us-east-1", "us-east-2", "us-west-2"),
]
STRICTEST = {  # informational and experimental rules, and every option that makes a rule stricter
    "include_checks": ["I"],
    "include_experimental": True,
    "configure_rules": {"E3012": {"strict": True}, "I3042": {"region": True, "accountId": True}},
}
DEPLOYMENTS = {
    "everything at its default": Stack(),
    "a bucket of one's own": Stack(AttachmentsBucketName="my-bucket", AttachmentsPrefix="llm/jobs"),
    "every option at once": Stack(
        AttachmentsExpireDays=90,
        HfTokenSecretArn=SECRET,
        BudgetUsd=50,
        LimitCount=4,
        MarketType="spot",
        GpusPerWorker=4,
    ),
    "no cache volume and one kind of GPU": Stack(CacheVolumeGiB=0, SecondAccelerator="none"),
}
WILDCARD_REASONS: dict[str, str] = {}  # statement id: why its action can name no resource. Empty, and should stay so
every_deployment = pytest.mark.parametrize("stack", DEPLOYMENTS.values(), ids=DEPLOYMENTS.keys())


def findings(template: str, **options: Any) -> list[str]:
    """Return what cfn-lint says of a template's text, one line each."""
    matches = cfnlint.api.lint(template, config=cfnlint.api.ManualArgs(regions=REGIONS, **options))
    return [f"{match.rule.id} line {match.linenumber}: {match.message}" for match in matches]


def roles(stack: Stack) -> dict[str, Any]:
    """Return the properties of the roles of a deployment, by logical id."""
    return {name: body for name, body in stack.resources().items() if "AssumeRolePolicyDocument" in body}


def statements(stack: Stack) -> Iterator[dict[str, Any]]:
    """Yield every statement that lets a role of the deployment do something."""
    for role in roles(stack).values():
        for policy in role["Policies"]:
            yield from policy["PolicyDocument"]["Statement"]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def environment(stack: Stack) -> str:
    return str(stack.resources()["CondaEnvironment"]["Template"])


def test_cfn_lint_finds_nothing_at_its_strictest() -> None:
    assert findings(TEMPLATE.read_text(encoding="utf-8"), **STRICTEST) == []


@every_deployment
def test_cfn_lint_finds_nothing_in_what_a_deployment_sends(stack: Stack) -> None:
    # cfn-lint does not look inside a fleet's configuration where functions are; written out, it does.
    assert findings(json.dumps(stack.written_out())) == []


@pytest.mark.parametrize("name", ["LastUsedTtlHours", "StandbyWorkerCount"])
def test_cfn_lint_would_find_a_misspelt_property_of_the_fleet(name: str) -> None:
    found = findings(json.dumps(Stack().written_out()).replace(name, f"{name}s"))
    assert any(f"'{name}s' was unexpected" in finding for finding in found)


def test_the_template_is_small_enough_to_be_sent_without_a_bucket() -> None:
    assert TEMPLATE.stat().st_size <= 51_200  # bytes: CloudFormation's limit for a template sent as it is


@every_deployment
def test_every_resource_and_output_resolves(stack: Stack) -> None:
    assert "${" not in json.dumps([stack.resources(), stack.outputs()])


def test_a_name_that_is_not_there_does_not_resolve() -> None:
    with pytest.raises(Unresolved):
        Stack().resolve({"Fn::Sub": "${Farm.Name}"})


@every_deployment
def test_the_outputs_set_the_farm_and_the_queue(stack: Stack) -> None:
    outputs = stack.outputs()
    assert outputs["SetFarm"] == f"deadline config set defaults.farm_id farm-{HEX}"
    assert outputs["SetQueue"] == f"deadline config set defaults.queue_id queue-{HEX}"


@every_deployment
def test_every_output_is_a_command_or_an_argument_of_one(stack: Stack) -> None:
    assert {shlex.split(value)[0] for value in stack.outputs().values()} <= {"aws", "deadline", "--parameter"}


@every_deployment
def test_outputs_name_the_bucket_that_the_queue_uses(stack: Stack) -> None:
    settings = stack.resources()["Queue"]["JobAttachmentSettings"]
    assert f"s3://{settings['S3BucketName']}/{settings['RootPrefix']}/" in stack.outputs()["ListFiles"]


@every_deployment
def test_every_statement_names_its_resources(stack: Stack) -> None:
    for statement in statements(stack):
        if statement["Sid"] not in WILDCARD_REASONS:
            assert all(re.fullmatch(r"arn:aws-test:[^*]+(/\*)?", arn) for arn in as_list(statement["Resource"])), (
                statement
            )


@every_deployment
def test_no_statement_allows_a_wildcard_action(stack: Stack) -> None:
    assert not [action for s in statements(stack) for action in as_list(s["Action"]) if "*" in action]


@every_deployment
def test_only_deadline_cloud_may_assume_a_role_and_for_this_farm_alone(stack: Stack) -> None:
    for role in roles(stack).values():
        (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
        assert set(as_list(trust["Principal"]["Service"])) <= {
            "deadline.amazonaws.com",
            "credentials.deadline.amazonaws.com",
        }
        assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": "111122223333"}
        assert trust["Condition"]["ArnEquals"]["aws:SourceArn"].endswith(f":farm/farm-{HEX}")


@every_deployment
def test_no_role_has_a_name(stack: Stack) -> None:
    assert not [name for name, role in roles(stack).items() if "RoleName" in role]


@every_deployment
def test_every_arn_is_of_the_partition_of_the_stack(stack: Stack) -> None:
    assert set(re.findall(r"arn:([^:]*):", json.dumps(stack.resources()))) == {"aws-test"}


def test_jobs_reach_files_below_their_prefix_only() -> None:
    moves = [s for s in statements(DEPLOYMENTS["a bucket of one's own"]) if s["Sid"] == "MoveJobFiles"]
    assert [s["Resource"] for s in moves] == ["arn:aws-test:s3:::my-bucket/llm/jobs/*"]


def test_the_token_is_readable_only_where_one_is_given() -> None:
    readers = {
        name: [s["Resource"] for s in statements(stack) if s["Sid"] == "ReadToken"]
        for name, stack in DEPLOYMENTS.items()
    }
    assert readers.pop("every option at once") == [SECRET]
    assert not any(readers.values())


def test_a_bucket_of_one_s_own_is_left_as_it_is() -> None:
    assert not {"AttachmentsBucket", "AttachmentsBucketPolicy"} & set(DEPLOYMENTS["a bucket of one's own"].resources())


def test_a_new_bucket_is_private_encrypted_and_outlives_the_stack() -> None:
    bucket = DEPLOYMENTS["everything at its default"].resources()["AttachmentsBucket"]
    policy = DEPLOYMENTS["everything at its default"].resources()["AttachmentsBucketPolicy"]["PolicyDocument"][
        "Statement"
    ][0]
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["BucketEncryption"]
    assert (policy["Effect"], policy["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    assert [rule["Id"] for rule in bucket["LifecycleConfiguration"]["Rules"]] == ["DropUnfinishedUploads"]
    for name in ("AttachmentsBucket", "AttachmentsBucketPolicy"):
        kept = load()["Resources"][name]
        assert (kept["DeletionPolicy"], kept["UpdateReplacePolicy"]) == ("Retain", "Retain")


@every_deployment
def test_an_idle_farm_has_no_worker(stack: Stack) -> None:
    fleet = stack.resources()["Fleet"]
    assert fleet["MinWorkerCount"] == 0
    assert fleet["Configuration"]["ServiceManagedEc2"]["AutoScalingConfiguration"]["StandbyWorkerCount"] == 0


@every_deployment
def test_no_accelerator_is_named_twice(stack: Stack) -> None:
    capabilities = stack.resources()["Fleet"]["Configuration"]["ServiceManagedEc2"]["InstanceCapabilities"]
    names = [selection["Name"] for selection in capabilities["AcceleratorCapabilities"]["Selections"]]
    assert len(names) == len(set(names)) > 0


@pytest.mark.parametrize("gpus", load()["Parameters"]["GpusPerWorker"]["AllowedValues"])
def test_every_number_of_gpus_has_a_size_of_worker(gpus: int) -> None:
    fleet = Stack(GpusPerWorker=gpus, SecondAccelerator="l4").resources()["Fleet"]["Configuration"]["ServiceManagedEc2"]
    assert fleet["InstanceCapabilities"]["VCpuCount"]["Max"] >= 16 * gpus
    assert len(fleet["InstanceCapabilities"]["AcceleratorCapabilities"]["Selections"]) == 1


@every_deployment
def test_the_conda_environment_fits_and_parses(stack: Stack) -> None:
    assert len(environment(stack)) <= 15_000  # characters: the service's limit for a queue environment
    decode_environment_template(template=yaml.safe_load(environment(stack)))


def test_the_farm_and_the_bundle_install_the_same_packages() -> None:
    bundle = yaml.safe_load((TEMPLATE.parent.parent / "template.yaml").read_text(encoding="utf-8"))
    defaults = {p["name"]: p.get("default") for p in bundle["parameterDefinitions"]}
    farm = load()["Parameters"]
    for name in ("CondaPackages", "CondaChannels"):
        assert defaults[name] == farm[name]["Default"]


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
