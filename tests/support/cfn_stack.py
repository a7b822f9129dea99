"""What CloudFormation would make of cloudformation/gpu_farm.yaml, worked out without AWS.

`load` reads the template as cfn-lint does. A `Stack` is one deployment of it: it resolves every intrinsic function the
template uses, leaves out what a false condition leaves out, and raises `Unresolved` where a name does not exist.
Values that only AWS knows (ids, ARNs) are made up in the form that AWS gives them. Nothing is sent anywhere.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cfnlint.decode import decode  # type: ignore[import-untyped]

TEMPLATE = Path(__file__).resolve().parents[2] / "cloudformation" / "gpu_farm.yaml"
HEX = "0123456789abcdef0123456789abcdef"
ABSENT = object()  # what AWS::NoValue leaves behind
PSEUDO = {
    "AWS::AccountId": "111122223333",
    "AWS::NoValue": ABSENT,
    "AWS::Partition": "aws-test",
    "AWS::Region": "us-west-2",
}
ATTRIBUTES = {  # what each type gives to Fn::GetAtt; "Ref" is what its Ref gives
    "AWS::Deadline::Budget": {"BudgetId": f"budget-{HEX}"},
    "AWS::Deadline::Farm": {
        "FarmId": f"farm-{HEX}",
        "Arn": f"arn:aws-test:deadline:us-west-2:111122223333:farm/farm-{HEX}",
    },
    "AWS::Deadline::Fleet": {"FleetId": f"fleet-{HEX}"},
    "AWS::Deadline::Limit": {"LimitId": f"limit-{HEX}"},
    "AWS::Deadline::Queue": {"QueueId": f"queue-{HEX}"},
    "AWS::IAM::ManagedPolicy": {"Ref": "arn:aws-test:iam::111122223333:policy/made-by-the-stack"},
    "AWS::IAM::Role": {"Arn": "arn:aws-test:iam::111122223333:role/made-by-the-stack"},
    "AWS::S3::Bucket": {"Ref": "made-by-the-stack", "Arn": "arn:aws-test:s3:::made-by-the-stack"},
}


class Unresolved(Exception):
    """The template names something that is not there, or not made in this deployment."""


def load() -> dict[str, Any]:
    """Return the template with every intrinsic function in its long form."""
    template, problems = decode(str(TEMPLATE))
    if problems or template is None:
        raise Unresolved(str(problems))
    return dict(template)


class Stack:
    """One deployment of the template with the given parameters, the others at their defaults."""

    def __init__(self, **parameters: str | int) -> None:
        self.template = load()
        defaults = {name: spec["Default"] for name, spec in self.template["Parameters"].items()}
        if unknown := set(parameters) - set(defaults):
            raise Unresolved(f"no parameter is named {sorted(unknown)}")
        self.parameters: dict[str, Any] = defaults | parameters

    def resources(self) -> dict[str, Any]:
        """Return the properties of everything that is made, by logical id."""
        return {
            name: self.resolve(body["Properties"])
            for name, body in self.template["Resources"].items()
            if self._made(body)
        }

    def written_out(self) -> dict[str, Any]:
        """Return a template of this deployment without a single function: each value is the one AWS would be given."""
        types = self.template["Resources"]
        made = {name: {"Type": types[name]["Type"], "Properties": body} for name, body in self.resources().items()}
        return {"AWSTemplateFormatVersion": "2010-09-09", "Resources": made}

    def outputs(self) -> dict[str, str]:
        """Return the value of every output of this deployment."""
        return {
            name: self.resolve(body["Value"]) for name, body in self.template["Outputs"].items() if self._made(body)
        }

    def resolve(self, node: Any) -> Any:
        """Replace every intrinsic function at or under a node by its value."""
        if isinstance(node, list):
            return [value for value in map(self.resolve, node) if value is not ABSENT]
        if not isinstance(node, dict):
            return node
        if len(node) == 1 and (call := self._call(*next(iter(node.items())))) is not None:
            return call
        return {key: value for key, item in node.items() if (value := self.resolve(item)) is not ABSENT}

    def _call(self, name: str, argument: Any) -> Any:
        """Return the value of one intrinsic function, None for a key that is not one."""
        if name == "Ref":
            return self._ref(argument)
        if name == "Fn::GetAtt":
            return self._attribute(*(argument.split(".") if isinstance(argument, str) else argument))
        if name == "Fn::If":
            return self.resolve(argument[1] if self._holds(argument[0]) else argument[2])
        if name == "Fn::FindInMap":
            table, row, column = self.resolve(argument)
            return self.template["Mappings"][table][str(row)][column]
        if name == "Fn::Sub":
            return self._substitute(argument)
        if name.startswith("Fn::"):
            raise Unresolved(f"{name} is not known here")
        return None

    def _ref(self, name: str) -> Any:
        known = PSEUDO | self.parameters
        return known[name] if name in known else self._attribute(name, "Ref")

    def _attribute(self, resource: str, attribute: str) -> Any:
        body = self.template["Resources"].get(resource)
        if body is None or not self._made(body):
            raise Unresolved(f"{resource} is not made in this deployment")
        known = ATTRIBUTES.get(body["Type"], {})
        if attribute not in known:
            raise Unresolved(f"{resource} has no {attribute}")
        return known[attribute]

    def _substitute(self, argument: str | list[Any]) -> str:
        text, names = (argument, {}) if isinstance(argument, str) else argument

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name in names:
                return str(self.resolve(names[name]))
            return str(self._attribute(*name.split(".")) if "." in name else self._ref(name))

        return re.sub(r"\$\{([^}]+)\}", value, text)

    def _made(self, body: dict[str, Any]) -> bool:
        return "Condition" not in body or self._holds(body["Condition"])

    def _holds(self, condition: str | dict[str, Any]) -> bool:
        """Tell whether a condition is true, named or written out."""
        if isinstance(condition, str):
            return self._holds(self.template["Conditions"][condition])
        ((name, argument),) = condition.items()
        if name == "Fn::Equals":
            left, right = map(self.resolve, argument)
            return str(left) == str(right)
        results = [self._holds(item) for item in argument]
        return {"Fn::Not": not results[0], "Fn::Or": any(results), "Fn::And": all(results)}[str(name)]


SECRET = "arn:aws-test:secretsmanager:us-west-2:111122223333:secret:hf-token-AbCdEf"
DEPLOYMENTS = {
    "everything at its default": Stack(),
    "a bucket of one's own": Stack(AttachmentsBucketName="my-bucket", AttachmentsPrefix="llm/jobs"),
    "every option at once": Stack(
        AttachmentsExpireDays=90,
        MakeSubmitterPolicy="yes",
        HfTokenSecretArn=SECRET,
        BudgetUsd=50,
        LimitCount=4,
        MarketType="spot",
        GpusPerWorker=4,
    ),
    "no cache volume and one kind of GPU": Stack(CacheVolumeGiB=0, SecondAccelerator="none"),
}
