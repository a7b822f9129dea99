"""What a CreateJob request becomes: a Job of Steps of Tasks.

Reads the job template and the queue's environment templates with openjd-model, the library that knows how a parameter
space falls into chunks, so that a template it refuses is refused at submission. It resizes no chunk: every task has
the template's default count, whatever targetRuntimeSeconds says.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from openjd.model import (
    StepParameterSpaceIterator,
    create_job,
    decode_environment_template,
    decode_job_template,
    preprocess_job_parameters,
)

OPEN_STATES = frozenset({"READY", "RUNNING"})
DEFAULT_RETRIES = 5  # retries of one task, the default of the deadline command
DEFAULT_FAILED_TASKS = 20  # failed tasks that end a job, likewise


def new_id(kind: str) -> str:
    """Return an id as the service writes them: the kind and 32 hexadecimal digits."""
    return f"{kind}-{uuid.uuid4().hex}"


@dataclass(eq=False)
class Task:
    """One task, a chunk where its step is chunked, and how often it failed."""

    id: str
    parameters: dict[str, dict[str, str]]
    status: str = "READY"
    failures: int = 0
    attempts: int = 0
    latest_action: str | None = None

    @property
    def values(self) -> str:
        """Return the parameter values as one text, such as `1-5`."""
        return " ".join(value for typed in self.parameters.values() for value in typed.values())


@dataclass(eq=False)
class Environment:
    """One environment: its id as sessions name it, and its template."""

    id: str
    template: Mapping[str, Any]


@dataclass(eq=False)
class Step:
    """One step with its tasks."""

    id: str
    name: str
    template: Mapping[str, Any]
    chunked: bool
    dependencies: list[str]
    environments: list[Environment]
    tasks: list[Task]
    environment_failures: int = 0

    @property
    def status(self) -> str:
        """Return the step's run status, worked out from its tasks."""
        states = {task.status for task in self.tasks}
        if states == {"SUCCEEDED"}:
            return "SUCCEEDED"
        if states & OPEN_STATES:
            return "READY" if states == {"READY"} else "RUNNING"
        return "FAILED" if "FAILED" in states else "CANCELED"

    @property
    def counts(self) -> Counter[str]:
        """Return the number of tasks in each state."""
        return Counter(task.status for task in self.tasks)


@dataclass(eq=False)
class Job:
    """One job as submitted: the request, its typed parameters, environments and steps."""

    id: str
    farm_id: str
    queue_id: str
    name: str
    request: Mapping[str, Any]
    extensions: list[str]
    parameters: dict[str, dict[str, str]]
    environments: list[Environment]
    steps: list[Step]
    canceled: bool = False
    created: float = field(default_factory=time.time)

    @property
    def max_retries(self) -> int:
        """Return how often a failed task is tried again."""
        return int(self.request.get("maxRetriesPerTask", DEFAULT_RETRIES))

    @property
    def max_failed_tasks(self) -> int:
        """Return how many tasks may fail before the rest are not run."""
        return int(self.request.get("maxFailedTasksCount", DEFAULT_FAILED_TASKS))

    @property
    def counts(self) -> Counter[str]:
        """Return the number of tasks in each state, over all steps."""
        return sum((step.counts for step in self.steps), Counter())

    @property
    def status(self) -> str:
        """Return the job's run status: open while a task runs or a step whose dependencies hold still can."""
        states = [step.status for step in self.steps]
        if all(state == "SUCCEEDED" for state in states):
            return "SUCCEEDED"
        if any(step.counts["RUNNING"] or self.runnable(step) for step in self.steps):
            return "RUNNING"
        return "CANCELED" if self.canceled else "FAILED"

    def step(self, step_id: str) -> Step:
        """Return the step with this id."""
        return next(step for step in self.steps if step.id == step_id)

    def runnable(self, step: Step) -> bool:
        """Say whether the step has a task that could start now."""
        done = {other.name for other in self.steps if other.status == "SUCCEEDED"}
        return not self.canceled and step.counts["READY"] > 0 and done.issuperset(step.dependencies)

    def environments_of(self, step: Step) -> list[Environment]:
        """Return the environments that a session of the step enters, in order."""
        return [*self.environments, *step.environments]


def make_job(farm_id: str, queue_id: str, request: Mapping[str, Any], *, queue_environments: Sequence[str] = ()) -> Job:
    """Return the job that a CreateJob request asks for; whatever openjd-model raises means a refusal."""
    template = yaml.safe_load(request["template"])
    extensions = list(template.get("extensions") or [])
    decoded = decode_job_template(template=template, supported_extensions=extensions)
    outer = [yaml.safe_load(text) for text in queue_environments]
    outer_decoded = [decode_environment_template(template=one, supported_extensions=extensions) for one in outer]
    given = {name: next(iter(typed.values())) for name, typed in request.get("parameters", {}).items()}
    values = preprocess_job_parameters(
        job_template=decoded,
        job_parameter_values=given,
        job_template_dir=Path(),
        current_working_dir=Path(),
        allow_job_template_dir_walk_up=True,
        environment_templates=outer_decoded,
    )
    instance = create_job(job_template=decoded, job_parameter_values=values, environment_templates=outer_decoded)
    job_id = new_id("job")
    return Job(
        id=job_id,
        farm_id=farm_id,
        queue_id=queue_id,
        name=str(request.get("nameOverride") or instance.name),
        request=request,
        extensions=extensions,
        parameters={name: {value.type.value.lower(): str(value.value)} for name, value in values.items()},
        environments=_named(f"QUEUE:{queue_id}", [one["environment"] for one in outer])
        + _named(f"JOB:{job_id}", template.get("jobEnvironments", [])),
        steps=[_make_step(step, raw) for step, raw in zip(instance.steps, template["steps"], strict=True)],
    )


def _make_step(step: Any, raw: Mapping[str, Any]) -> Step:
    step_id = new_id("step")
    chunked = False
    parameter_sets: list[dict[str, dict[str, str]]] = [{}]
    if space := step.parameterSpace:
        chunked = any(one.type.value == "CHUNK[INT]" for one in space.taskParameterDefinitions.values())
        parameter_sets = [_typed(values) for values in StepParameterSpaceIterator(space=space)]
    return Step(
        id=step_id,
        name=step.name,
        template=raw,
        chunked=chunked,
        dependencies=[one["dependsOn"] for one in raw.get("dependencies", [])],
        environments=_named(f"STEP:{step_id}", raw.get("stepEnvironments", [])),
        tasks=[Task(f"task-{step_id[5:]}-{number}", values) for number, values in enumerate(parameter_sets)],
    )


def _typed(values: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    kinds = {name: value.type.value for name, value in values.items()}
    return {
        name: {"chunkInt" if kinds[name] == "CHUNK[INT]" else kinds[name].lower(): str(value.value)}
        for name, value in values.items()
    }


def _named(scope: str, templates: Sequence[Mapping[str, Any]]) -> list[Environment]:
    return [Environment(f"{scope}:{template['name']}", template) for template in templates]
