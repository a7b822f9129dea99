"""What the service counted for a job: asked in its own shapes, noted for the merge, and no part of having results."""

from __future__ import annotations

import datetime as dt
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from results.usage import Usage, find_usages
from submission import merging, service_figure
from submission.farm_job import FarmJob
from submission.on_farm import OnFarm
from submission.request import Request
from submission.service_figure import ask_service
from support.submitting import JOB

FARM, QUEUE = "farm-" + "1" * 32, "queue-" + "2" * 32
PLACE = ["--farm-id", FARM, "--queue-id", QUEUE]
MADE = dt.datetime(2026, 12, 3, 5, 44, 10, tzinfo=dt.UTC)
AGGREGATION = "a" * 32
START = {
    "farmId": FARM,
    "resourceIds": {"queueIds": [QUEUE]},
    "startTime": MADE.replace(minute=0, second=0),
    "endTime": ANY,
    "groupBy": ["JOB_ID", "USAGE_TYPE"],
    "statistics": ["SUM"],
}
GET = {"farmId": FARM, "aggregationId": AGGREGATION}


def entry(seconds: float, dollars: float, job: str = JOB, kind: str = "COMPUTE") -> dict[str, Any]:
    sums = {"runtimeInSeconds": {"sum": seconds}, "costInUsd": {"sum": dollars}}
    return {"jobId": job, "usageType": kind, "count": 1, **sums}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    """Give the service's client, which takes and gives what botocore knows of the service alone."""
    keys = {"aws_access_key_id": "loopback", "aws_secret_access_key": "loopback"}
    client = boto3.client("deadline", region_name="us-west-2", **keys)
    monkeypatch.setattr(service_figure, "_connect", lambda _: client)
    monkeypatch.setattr(service_figure, "deadline", lambda *_: "")
    monkeypatch.setattr(service_figure, "PAUSE_SECONDS", 0)
    with Stubber(client) as stubber:
        yield stubber


def expect(service: Stubber, *answers: dict[str, Any]) -> None:
    job: dict[str, Any] = {"jobId": JOB, "name": "n", "lifecycleStatus": "CREATE_COMPLETE", "priority": 50}
    job |= {"lifecycleStatusMessage": "", "createdAt": MADE, "createdBy": "me"}
    service.add_response("get_job", job, {"farmId": FARM, "queueId": QUEUE, "jobId": JOB})
    service.add_response("start_sessions_statistics_aggregation", {"aggregationId": AGGREGATION}, START)
    token: dict[str, str] = {}
    for answer in answers:
        service.add_response("get_sessions_statistics_aggregation", answer, {**GET, **token})
        token = {"nextToken": answer["nextToken"]} if "nextToken" in answer else {}


def test_the_job_s_sessions_are_added_up_once_the_service_has_and_over_all_pages(
    service: Stubber, capsys: pytest.CaptureFixture[str]
) -> None:
    others = entry(9999, 99, "job-" + "c" * 32)
    expect(
        service,
        {"status": "IN_PROGRESS"},
        {"status": "COMPLETED", "statistics": [entry(3600, 1.25), others], "nextToken": "more"},
        {"status": "COMPLETED", "statistics": [entry(3600, 1.25), entry(1800, 0.5, kind="LICENSE")]},
    )
    assert ask_service(FarmJob(JOB, PLACE)) == Usage(JOB, 7200, 3)
    service.assert_no_pending_responses()
    assert "the service counted 2.00 hours of workers for this job, $3.00" in capsys.readouterr().err


def test_a_fleet_without_a_price_has_a_time_alone(service: Stubber) -> None:
    expect(service, {"status": "COMPLETED", "statistics": [entry(60, 0)]})
    assert ask_service(FarmJob(JOB, PLACE)) == Usage(JOB, 60, None)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"status": "FAILED", "statusMessage": "too large"}, "too large"),
        ({"status": "TIMEOUT"}, "its aggregation ended as TIMEOUT"),
        ({"status": "COMPLETED", "statistics": []}, "it has no figures of the job yet; --resume asks again"),
    ],
)
def test_a_figure_that_there_is_not_is_a_sentence(
    answer: dict[str, Any], why: str, service: Stubber, capsys: pytest.CaptureFixture[str]
) -> None:
    expect(service, answer)
    assert ask_service(FarmJob(JOB, PLACE)) is None
    assert f"What the service counted for this job is not known: {why}" in capsys.readouterr().err


def test_a_role_that_may_not_ask_is_a_sentence(service: Stubber, capsys: pytest.CaptureFixture[str]) -> None:
    service.add_client_error("get_job", "AccessDeniedException", "you may not", 403)
    assert ask_service(FarmJob(JOB, PLACE)) is None
    assert "is not known: An error occurred (AccessDeniedException)" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], PLACE[:2], ["--profile", "p"], [*PLACE[:2], "--profile", "p"]])
def test_a_farm_that_is_not_known_is_not_asked(
    options: list[str], service: Stubber, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask_service(FarmJob(JOB, options)) is None
    assert "name the farm and the queue with --farm-id and --queue-id" in capsys.readouterr().err


def test_without_boto3_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(importlib.import_module("sys").modules, "boto3", None)
    monkeypatch.setattr(service_figure, "deadline", lambda *_: "")
    assert ask_service(FarmJob(JOB, PLACE)) is None
    assert "asking takes boto3 (pip install boto3)" in capsys.readouterr().err


def test_a_job_that_ended_is_asked_about_before_the_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[Usage]] = []
    request = Request({"InputFile": "in.jsonl", "OutputDir": str(tmp_path)})
    monkeypatch.setattr(merging, "merge", lambda _: bool(found.append(find_usages(request.output / "results"))))
    monkeypatch.setattr(FarmJob, "wait", lambda *_: "SUCCEEDED")
    monkeypatch.setattr(FarmJob, "download", lambda _: None)
    monkeypatch.setattr("submission.on_farm.ask_service", lambda job: Usage(job.id, 60, 0.5))
    OnFarm(PLACE).see_through(JOB, request, None)
    assert found == [[Usage(JOB, 60, 0.5)]]
