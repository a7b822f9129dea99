"""The service's response shapes, made from jobs and sessions. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from .jobs import Job, Step, Task
from .sessions import Action, Session

SCHEMA = "jobtemplate-2023-09"
ROLE = "arn:aws:iam::123456789012:role/loopback"
Shape = dict[str, Any]


def _made(moment: float = 0.0) -> Shape:
    return {"createdAt": _time(moment), "createdBy": "loopback"}


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def farm(farm_id: str) -> Shape:
    """Shape GetFarm."""
    return {"farmId": farm_id, "displayName": "Loopback farm", **_made()}


def attachment_settings(bucket: str) -> Shape:
    """Shape a queue's jobAttachmentSettings."""
    return {"s3BucketName": bucket, "rootPrefix": "DeadlineCloud"}


def queue(farm_id: str, queue_id: str, bucket: str) -> Shape:
    """Shape GetQueue."""
    return {
        "farmId": farm_id,
        "queueId": queue_id,
        "displayName": "Loopback queue",
        "status": "IDLE",
        "defaultBudgetAction": "NONE",
        "jobAttachmentSettings": attachment_settings(bucket),
        "roleArn": ROLE,
        **_made(),
    }


def queue_environment(name: str, template: str) -> Shape:
    """Shape GetQueueEnvironment."""
    ids = {"queueEnvironmentId": name, "name": name, "priority": int(name)}
    return {**ids, "templateType": "YAML", "template": template, **_made()}


def job(job: Job) -> Shape:
    """Shape GetJob and an entry of SearchJobs."""
    shape = {
        "jobId": job.id,
        "queueId": job.queue_id,
        "name": job.name,
        "lifecycleStatus": "CREATE_COMPLETE",
        "lifecycleStatusMessage": "Job creation completed successfully",
        "priority": job.request["priority"],
        "taskRunStatus": job.status,
        "taskRunStatusCounts": job.counts,
        "maxRetriesPerTask": job.max_retries,
        "maxFailedTasksCount": job.max_failed_tasks,
        "parameters": job.parameters,
        **_made(job.created),
    }
    return shape | ({"attachments": job.request["attachments"]} if "attachments" in job.request else {})


def step(step: Step) -> Shape:
    """Shape an entry of ListSteps."""
    return {
        "stepId": step.id,
        "name": step.name,
        "lifecycleStatus": "CREATE_COMPLETE",
        "taskRunStatus": step.status,
        "taskRunStatusCounts": step.counts,
        **_made(),
    }


def task(task: Task) -> Shape:
    """Shape an entry of ListTasks."""
    shape = {"taskId": task.id, "runStatus": task.status, "failureRetryCount": task.failures, **_made()}
    latest = {"latestSessionActionId": task.latest_action} if task.latest_action else {}
    return {**shape, "parameters": task.parameters, **latest}


def session(session: Session, fleet_id: str) -> Shape:
    """Shape an entry of ListSessions."""
    return {
        "sessionId": session.id,
        "fleetId": fleet_id,
        "workerId": session.worker_id,
        "startedAt": _time(session.started),
        "lifecycleStatus": "ENDED" if session.ended else "STARTED",
    }


def statistics(job: Job, sessions: Sequence[Session]) -> Shape:
    """Shape an entry of GetSessionsStatisticsAggregation: a job's compute, at a dollar an hour."""
    seconds = sum(each.seconds for each in sessions)
    sums = {"runtimeInSeconds": {"sum": seconds}, "costInUsd": {"sum": seconds / 3600}}
    return {"jobId": job.id, "usageType": "COMPUTE", "count": len(sessions), **sums}


def session_action(action: Action) -> Shape:
    """Shape an entry of ListSessionActions."""
    times = {"startedAt": action.started_at, "endedAt": action.ended_at}
    return {
        "sessionActionId": action.id,
        "status": action.status,
        "definition": action.definition,
        "progressPercent": action.percent,
        "manifests": action.manifests,
        **{name: value for name, value in times.items() if value is not None},
    }


def assigned_session(session: Session) -> Shape:
    """Shape an entry of assignedSessions: every action that has no end yet, in order."""
    actions = [{"sessionActionId": one.id, "definition": one.definition} for one in session.open_actions]
    ids = {"queueId": session.job.queue_id, "jobId": session.job.id}
    return {**ids, "logConfiguration": session.log, "sessionActions": actions}


def _job_details(job: Job, names: Mapping[str, str], bucket: str) -> Shape:
    return {
        "jobId": job.id,
        "jobAttachmentSettings": attachment_settings(bucket),
        "jobRunAsUser": {"runAs": "WORKER_AGENT_USER"},
        "logGroupName": f"/aws/deadline/{job.farm_id}/{job.queue_id}",
        "queueRoleArn": ROLE,
        "parameters": job.parameters,
        "schemaVersion": SCHEMA,
        "extensions": job.extensions,
        "pathMappingRules": [],
    }


def _attachment_details(job: Job, names: Mapping[str, str], bucket: str) -> Shape:
    return {"jobId": job.id, "attachments": job.request["attachments"]}


def _step_details(job: Job, names: Mapping[str, str], bucket: str) -> Shape:
    found = job.step(names["stepId"])
    ids = {other.name: other.id for other in job.steps}
    shape = {"jobId": job.id, "stepId": found.id, "schemaVersion": SCHEMA, "extensions": job.extensions}
    return {**shape, "template": found.template, "dependencies": [ids[name] for name in found.dependencies]}


def _environment_details(job: Job, names: Mapping[str, str], bucket: str) -> Shape:
    every = [*job.environments, *(one for step in job.steps for one in step.environments)]
    found = next(one for one in every if one.id == names["environmentId"])
    shape = {"jobId": job.id, "environmentId": found.id, "schemaVersion": SCHEMA, "extensions": job.extensions}
    return {**shape, "template": found.template}


ENTITIES: dict[str, Callable[[Job, Mapping[str, str], str], Shape]] = {
    "jobDetails": _job_details,
    "jobAttachmentDetails": _attachment_details,
    "stepDetails": _step_details,
    "environmentDetails": _environment_details,
}
