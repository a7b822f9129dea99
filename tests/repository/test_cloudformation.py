"""The farm template: it lints clean, its outputs are commands that work, and nobody gets more than is needed."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import cfnlint.api  # type: ignore[import-untyped]
import pytest

from support.cfn_stack import DEPLOYMENTS, HEX, SECRET, TEMPLATE, Stack, Unresolved, load
from support.farm.deadline_api import ROUTES

README = (TEMPLATE.parent / "README.md").read_text(encoding="utf-8")
TOOLS = Path(sys.executable).parent  # the commands of this test environment
REGIONS = [  # the commercial regions for which cfn-lint knows Deadline Cloud
    *("ap-northeast-1", "ap-northeast-2", "ap-southeast-1", "ap-southeast-2", "eu-central-1"),
    *("eu-west-1", "eu-west-2", "us-east-1", "us-east-2", "us-west-2"),
]
STRICTEST = {  # informational and experimental rules, and every option that makes a rule stricter
    "include_checks": ["I"],
    "include_experimental": True,
    "configure_rules": {"E3012": {"strict": True}, "I3042": {"region": True, "accountId": True}},
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
    """Yield every statement that lets somebody do something."""
    for body in stack.resources().values():
        for policy in body.get("Policies", [body]):
            if "PolicyDocument" in policy and "Bucket" not in policy:  # a bucket's own only refuses
                yield from policy["PolicyDocument"]["Statement"]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


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


def test_a_submitter_may_do_what_the_tools_ask_of_the_service_and_nothing_to_workers() -> None:
    """The farm that the tests run their submissions on knows no other calls."""
    allowed = {
        action.removeprefix("deadline:")
        for statement in DEPLOYMENTS["every option at once"].resources()["SubmitterPolicy"]["PolicyDocument"][
            "Statement"
        ]
        for action in statement["Action"]
    }
    service = botocore.session.get_session().get_service_model("deadline")
    assert allowed - set(service.operation_names) == {"GetJobTemplate"}, "CreateJob depends on it"
    known = {"".join(part.title() for part in function.__name__.split("_")) for _, _, function in ROUTES}
    of_people = {"ListFarms", "ListQueues", "UpdateTask", "QueueRole"}
    of_workers = {name for name in known if "Worker" in name} | {"BatchGetJobEntity"}
    roles_of_queue = {"AssumeQueueRoleForUser", "AssumeQueueRoleForRead"}
    assert allowed == known - of_people - of_workers | roles_of_queue | {"GetJobTemplate"}


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
