"""What the service counted for a job: how long its sessions ran, and what that cost where it knows a price.

Asks Deadline Cloud to add up the sessions of the job's queue. It is no part of having results: where boto3 is missing,
or the person's role is not allowed, or the service has no figures yet, a sentence says so and the job ends as it would.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Mapping
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from host import runner
from results.usage import Usage
from setup_env import say
from submission.farm_job import FarmJob, FarmJobError, deadline

PATIENCE_SECONDS = 60.0  # for the service to add up; it takes a few
PAUSE_SECONDS = 1.0
TRIES = 8  # of one call; a farm adds up one thing at a time, and refuses others meanwhile
TIMEOUTS = {"connect_timeout": 10, "read_timeout": 20}  # seconds
NO_PROFILE = ("", "(default)", "default")


class NotKnown(Exception):
    """The service's figure cannot be had; the message says why."""


def ask_service(job: FarmJob) -> Usage | None:
    """Return what the service counted for a job that has ended, and say it; None where that is not known."""
    try:
        usage = _ask(job)
    except (NotKnown, FarmJobError) as error:
        why = runner.printable(str(error).strip().rpartition("\n")[2], 300)
        say(f"What the service counted for this job is not known: {why}")
        return None
    cost = "" if usage.dollars is None else f", ${usage.dollars:,.2f}"
    say(f"the service counted {usage.runtime_seconds / 3600:,.2f} hours of workers for this job{cost}")
    return usage


def _ask(job: FarmJob) -> Usage:
    named = dict(zip(job.options[::2], job.options[1::2], strict=True))
    profile = named.get("--profile") or deadline("config", "get", "defaults.aws_profile_name").strip()
    place = {
        f"{kind}Id": named.get(f"--{kind}-id") or deadline("config", "get", f"defaults.{kind}_id").strip()
        for kind in ("farm", "queue")
    }
    if not all(place.values()) or ("--profile" in named and len(named) < len(("profile", *place))):
        raise NotKnown("name the farm and the queue with --farm-id and --queue-id")
    client = _connect(None if profile in NO_PROFILE else profile)
    try:
        return _count(client, place, job.id)
    except NotKnown:
        raise
    except Exception as error:  # noqa: BLE001 - botocore raises classes that it makes at run time
        raise NotKnown(str(error)) from None


def _connect(profile: str | None) -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise NotKnown("asking takes boto3 (pip install boto3)") from None
    region = deadline("config", "get", "defaults.farm_region").strip() or None
    config = Config(retries={"mode": "standard", "total_max_attempts": TRIES}, **TIMEOUTS)
    try:
        return boto3.Session(profile_name=profile, region_name=region).client("deadline", config=config)
    except Exception as error:  # noqa: BLE001 - likewise
        raise NotKnown(str(error)) from None


def _count(client: Any, place: Mapping[str, str], job: str) -> Usage:
    """Have the queue's sessions since the job was made added up by job; return the job's."""
    made: dt.datetime = client.get_job(**place, jobId=job)["createdAt"]
    started = client.start_sessions_statistics_aggregation(
        farmId=place["farmId"],
        resourceIds={"queueIds": [place["queueId"]]},
        startTime=made.replace(minute=0, second=0, microsecond=0),
        endTime=dt.datetime.now(dt.UTC),
        groupBy=["JOB_ID", "USAGE_TYPE"],
        statistics=["SUM"],
    )
    entries = _read(client, {"farmId": place["farmId"], "aggregationId": started["aggregationId"]})
    return _sum([each for each in entries if each.get("jobId") == job], job)


def _read(client: Any, which: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return an aggregation's entries once it is complete."""
    until = time.monotonic() + PATIENCE_SECONDS
    while (answer := client.get_sessions_statistics_aggregation(**which))["status"] == "IN_PROGRESS":
        if time.monotonic() > until:
            raise NotKnown("it still adds up; --resume asks again")
        time.sleep(PAUSE_SECONDS)
    if answer["status"] != "COMPLETED":
        raise NotKnown(answer.get("statusMessage") or f"its aggregation ended as {answer['status']}")
    found = list(answer.get("statistics", ()))
    while token := answer.get("nextToken"):
        answer = client.get_sessions_statistics_aggregation(**which, nextToken=token)
        found += answer.get("statistics", ())
    return found


def _sum(entries: Iterable[Mapping[str, Any]], job: str) -> Usage:
    """Return the sum of a job's entries: the time is that of its compute alone, the money that of everything."""
    found = list(entries)
    if not found:
        raise NotKnown("it has no figures of the job yet; --resume asks again")
    compute = [each for each in found if each.get("usageType", "COMPUTE") == "COMPUTE"]
    seconds = sum(each["runtimeInSeconds"].get("sum") or 0.0 for each in compute)
    dollars = sum(each["costInUsd"].get("sum") or 0.0 for each in found)
    return Usage(job, seconds, dollars or None)
