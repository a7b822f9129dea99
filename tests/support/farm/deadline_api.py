"""A stand-in for the part of the Deadline Cloud API that submitters, worker agents and downloads call, on loopback.

It answers over HTTP in the service's shapes; what to run where is `scheduler.py`'s. Credentials are empty words, one
queue and one fleet exist whatever their ids, lists come in one page. A request it does not know is answered with
ResourceNotFoundException and kept in `unknown`; an error inside it is kept in `errors`.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import shapes
from .aws import BUCKET
from .scheduler import Scheduler

POLL_SECONDS = 1  # between an agent's calls; the service asks for 15
VERSION = "/2023-10-12"
ROUTES: list[tuple[str, re.Pattern[str], Callable[..., Any]]] = []
Reply = dict[str, Any]


def route(method: str, path: str) -> Callable[[Callable[..., Reply]], Callable[..., Reply]]:
    """Register a method of DeadlineApi for a path; `{x}` passes that part as x."""
    pattern = re.compile(VERSION + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))

    def register(function: Callable[..., Reply]) -> Callable[..., Reply]:
        ROUTES.append((method, pattern, function))
        return function

    return register


class DeadlineApi:
    """The HTTP server and its answers; `scheduler` holds the state."""

    farm_id = "farm-" + "1" * 32
    queue_id = "queue-" + "2" * 32
    fleet_id = "fleet-" + "3" * 32

    def __init__(self, logs: Any, *, tasks_at_a_time: int) -> None:
        """Start to serve on a free port of 127.0.0.1; `logs` is a client of CloudWatch Logs."""
        self.unknown: list[str] = []
        self.errors: list[str] = []
        self._aggregations: list[Reply] = []  # that were asked for; the last one is answered
        self._logs = logs
        self.scheduler = Scheduler(log_for=self._session_log, tasks_at_a_time=tasks_at_a_time)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Reply]:
        """Return the status and the body for a request."""
        for wanted, pattern, function in ROUTES:
            if method == wanted and (match := pattern.fullmatch(path)):
                with self.scheduler.changed:
                    return 200, function(self, body, **match.groupdict())
        self.unknown.append(f"{method} {path}")
        return 404, {"__type": "ResourceNotFoundException", "message": path, "resourceId": path, "resourceType": "path"}

    def _session_log(self, queue: str, session: str) -> Reply:
        return self._log(f"/aws/deadline/{self.farm_id}/{queue}", session)

    def _log(self, group: str, stream: str) -> Reply:
        for create, names in (
            (self._logs.create_log_group, {"logGroupName": group}),
            (self._logs.create_log_stream, {"logGroupName": group, "logStreamName": stream}),
        ):
            with contextlib.suppress(self._logs.exceptions.ResourceAlreadyExistsException):
                create(**names)
        options = {"logGroupName": group, "logStreamName": stream}
        return {"logDriver": "awslogs", "options": options, "parameters": {"interval": "15"}}

    # -- farms, queues, credentials ----------------------------------------------------------------------------------

    @route("GET", "/farms")
    def list_farms(self, body: Reply) -> Reply:
        return {"farms": [shapes.farm(self.farm_id)]}

    @route("GET", "/farms/{farm}")
    def get_farm(self, body: Reply, farm: str) -> Reply:
        return shapes.farm(farm)

    @route("GET", "/farms/{farm}/queues")
    def list_queues(self, body: Reply, farm: str) -> Reply:
        return {"queues": [shapes.queue(farm, self.queue_id, BUCKET)]}

    @route("GET", "/farms/{farm}/queues/{queue}")
    def get_queue(self, body: Reply, farm: str, queue: str) -> Reply:
        return shapes.queue(farm, queue, BUCKET)

    @route("GET", "/farms/{farm}/queues/{queue}/environments")
    def list_queue_environments(self, body: Reply, farm: str, queue: str) -> Reply:
        numbers = range(len(self.scheduler.queue_environments))
        return {"environments": [{"queueEnvironmentId": f"{n}", "name": f"{n}", "priority": n} for n in numbers]}

    @route("GET", "/farms/{farm}/queues/{queue}/environments/{number}")
    def get_queue_environment(self, body: Reply, farm: str, queue: str, number: str) -> Reply:
        return shapes.queue_environment(number, self.scheduler.queue_environments[int(number)])

    @route("GET", "/farms/{farm}/queues/{queue}/(user|read)-roles")
    def queue_role(self, body: Reply, farm: str, queue: str) -> Reply:
        return _credentials()

    @route("GET", "/farms/{farm}/fleets/{fleet}/workers/{worker}/(fleet|queue)-roles")
    def worker_role(self, body: Reply, farm: str, fleet: str, worker: str) -> Reply:
        return _credentials()

    # -- jobs --------------------------------------------------------------------------------------------------------

    @route("POST", "/farms/{farm}/queues/{queue}/jobs")
    def create_job(self, body: Reply, farm: str, queue: str) -> Reply:
        return {"jobId": self.scheduler.submit(farm, queue, body).id}

    @route("GET", "/farms/{farm}/queues/{queue}/jobs")
    def list_jobs(self, body: Reply, farm: str, queue: str) -> Reply:
        return {"jobs": [shapes.job(job) for job in self.scheduler.jobs.values()]}

    @route("POST", "/farms/{farm}/search/jobs")
    def search_jobs(self, body: Reply, farm: str) -> Reply:
        jobs = [shapes.job(job) for job in self.scheduler.jobs.values()]
        return {"jobs": jobs, "totalResults": len(jobs)}

    @route("GET", "/farms/{farm}/queues/{queue}/jobs/{job}")
    def get_job(self, body: Reply, farm: str, queue: str, job: str) -> Reply:
        return shapes.job(self.scheduler.jobs[job])

    @route("PATCH", "/farms/{farm}/queues/{queue}/jobs/{job}")
    def update_job(self, body: Reply, farm: str, queue: str, job: str) -> Reply:
        if body.get("targetTaskRunStatus") == "CANCELED":
            self.scheduler.cancel(self.scheduler.jobs[job])
        return {}

    @route("GET", "/farms/{farm}/queues/{queue}/jobs/{job}/steps")
    def list_steps(self, body: Reply, farm: str, queue: str, job: str) -> Reply:
        return {"steps": [shapes.step(step) for step in self.scheduler.jobs[job].steps]}

    @route("GET", "/farms/{farm}/queues/{queue}/jobs/{job}/steps/{step}/tasks")
    def list_tasks(self, body: Reply, farm: str, queue: str, job: str, step: str) -> Reply:
        return {"tasks": [shapes.task(task) for task in self.scheduler.jobs[job].step(step).tasks]}

    @route("PATCH", "/farms/{farm}/queues/{queue}/jobs/{job}/steps/{step}/tasks/{task}")
    def update_task(self, body: Reply, farm: str, queue: str, job: str, step: str, task: str) -> Reply:
        found = next(one for one in self.scheduler.jobs[job].step(step).tasks if one.id == task)
        self.scheduler.requeue(found)
        return {}

    @route("GET", "/farms/{farm}/queues/{queue}/jobs/{job}/sessions")
    def list_sessions(self, body: Reply, farm: str, queue: str, job: str) -> Reply:
        sessions = self.scheduler.sessions_of(self.scheduler.jobs[job])
        return {"sessions": [shapes.session(one, self.fleet_id) for one in sessions]}

    @route("GET", "/farms/{farm}/queues/{queue}/jobs/{job}/sessions/{session}")
    def get_session(self, body: Reply, farm: str, queue: str, job: str, session: str) -> Reply:
        found = next(one for one in self.scheduler.sessions if one.id == session)
        return shapes.session(found, self.fleet_id) | {"log": found.log}

    @route("GET", "/farms/{farm}/queues/{queue}/jobs/{job}/session-actions")
    def list_session_actions(self, body: Reply, farm: str, queue: str, job: str) -> Reply:
        sessions = self.scheduler.sessions_of(self.scheduler.jobs[job])
        return {"sessionActions": [shapes.session_action(action) for one in sessions for action in one.actions]}

    # -- what sessions cost ------------------------------------------------------------------------------------------

    @route("POST", "/farms/{farm}/sessions-statistics-aggregation")
    def start_sessions_statistics_aggregation(self, body: Reply, farm: str) -> Reply:
        self._aggregations.append(body)
        return {"aggregationId": f"{len(self._aggregations) - 1:032x}"}

    @route("GET", "/farms/{farm}/sessions-statistics-aggregation")
    def get_sessions_statistics_aggregation(self, body: Reply, farm: str) -> Reply:
        queues = self._aggregations[-1]["resourceIds"]["queueIds"]
        jobs = [job for job in self.scheduler.jobs.values() if job.queue_id in queues]
        found = [shapes.statistics(job, self.scheduler.sessions_of(job)) for job in jobs]
        return {"status": "COMPLETED", "statistics": found}

    # -- workers -----------------------------------------------------------------------------------------------------

    @route("POST", "/farms/{farm}/fleets/{fleet}/workers")
    def create_worker(self, body: Reply, farm: str, fleet: str) -> Reply:
        return {"workerId": self.scheduler.add_worker().id}

    @route("PATCH", "/farms/{farm}/fleets/{fleet}/workers/{worker}")
    def update_worker(self, body: Reply, farm: str, fleet: str, worker: str) -> Reply:
        if status := body.get("status"):
            self.scheduler.set_worker_status(worker, status)
        return {"log": self._log(f"/aws/deadline/{farm}/{fleet}", worker)}

    @route("PATCH", "/farms/{farm}/fleets/{fleet}/workers/{worker}/schedule")
    def update_worker_schedule(self, body: Reply, farm: str, fleet: str, worker: str) -> Reply:
        session = self.scheduler.exchange(worker, body.get("updatedSessionActions") or {})
        cancels = self.scheduler.cancels_for(session) if session else []
        return {
            "assignedSessions": {session.id: shapes.assigned_session(session)} if session else {},
            "cancelSessionActions": {session.id: cancels} if session and cancels else {},
            "updateIntervalSeconds": POLL_SECONDS,
        }

    @route("POST", "/farms/{farm}/fleets/{fleet}/workers/{worker}/batchGetJobEntity")
    def batch_get_job_entity(self, body: Reply, farm: str, fleet: str, worker: str) -> Reply:
        entities = []
        for identifier in body["identifiers"]:
            [(kind, names)] = identifier.items()
            job = self.scheduler.jobs[names["jobId"]]
            entities.append({kind: shapes.ENTITIES[kind](job, names, BUCKET)})
        return {"entities": entities, "errors": []}


def _credentials() -> Reply:
    expiration = (datetime.now(UTC) + timedelta(hours=6)).strftime("%Y-%m-%dT%H:%M:%SZ")
    words = {"accessKeyId": "ASIALOOPBACK", "secretAccessKey": "loopback", "sessionToken": "loopback"}
    return {"credentials": {**words, "expiration": expiration}}


class _Handler(BaseHTTPRequestHandler):
    """One request: JSON in, JSON out."""

    protocol_version = "HTTP/1.1"
    api: DeadlineApi

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        try:
            status, reply = self.api.answer(self.command, self.path.partition("?")[0], body)
        except Exception as error:  # noqa: BLE001  openjd-model refuses templates with many kinds of exception
            self.api.errors.append(traceback.format_exc())
            status, reply = 400, {"__type": "ValidationException", "message": str(error)[:2000], "reason": "OTHER"}
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status >= 400:
            self.send_header("x-amzn-ErrorType", reply["__type"])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = _serve
