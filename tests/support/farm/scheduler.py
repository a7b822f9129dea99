"""Who runs what: the harness's own scheduling, a plain stand-in for the service's and no claim about it.

A worker has one session at a time, a session runs tasks of one step, and tasks are handed out a few at a time while it
lives, by appending actions. After any action that did not succeed a session takes no more tasks and leaves its
environments. Then:

- a task that FAILED is tried again until it failed more than maxRetriesPerTask times;
- one that was interrupted, never attempted or lost with its worker is READY again and costs no retry;
- a step whose environments failed more than maxRetriesPerTask times fails the tasks it still has;
- more than maxFailedTasksCount failed tasks, or a cancel, end what has not started and cancel what runs.

No worker is lost by silence: the harness says so with `lose_worker`, so that a slow machine changes no result.
Every method locks; `changed` is notified after each exchange.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .jobs import Job, Step, Task, make_job, new_id
from .sessions import LOST, NOT_RUN, Action, Session


@dataclass(eq=False)
class Worker:
    """One registered worker and the session it is in."""

    id: str
    status: str = "CREATED"
    session: Session | None = None


class Scheduler:
    """Jobs, workers and sessions of one farm."""

    def __init__(self, *, log_for: Callable[[str, str], Mapping[str, Any]], tasks_at_a_time: int = 1) -> None:
        """Start empty; `log_for(queue, session)` returns a session's log configuration."""
        self.jobs: dict[str, Job] = {}
        self.workers: dict[str, Worker] = {}
        self.sessions: list[Session] = []
        self.queue_environments: list[str] = []
        self.changed = threading.Condition(threading.RLock())
        self._log_for = log_for
        self._tasks_at_a_time = tasks_at_a_time

    # -- what submitters and operators ask for ----------------------------------------------------------------------

    def submit(self, farm_id: str, queue_id: str, request: Mapping[str, Any]) -> Job:
        """Create a job."""
        job = make_job(farm_id, queue_id, request, queue_environments=self.queue_environments)
        with self.changed:
            self.jobs[job.id] = job
            return job

    def cancel(self, job: Job) -> None:
        """Cancel what has not started, and ask for the running actions to be cancelled."""
        with self.changed:
            job.canceled = True
            self._stop_rest(job)

    def requeue(self, task: Task) -> None:
        """Make an ended task READY again, its failures forgotten."""
        with self.changed:
            if task.status != "RUNNING":
                task.status, task.failures = "READY", 0

    def sessions_of(self, job: Job, step_name: str | None = None) -> list[Session]:
        """Return the job's sessions, oldest first."""
        with self.changed:
            mine = [session for session in self.sessions if session.job is job]
            return [session for session in mine if step_name in (None, session.step.name)]

    # -- what workers tell -------------------------------------------------------------------------------------------

    def add_worker(self) -> Worker:
        """Register a worker."""
        with self.changed:
            worker = Worker(new_id("worker"))
            self.workers[worker.id] = worker
            return worker

    def set_worker_status(self, worker_id: str, status: str) -> None:
        """Note STARTED, STOPPING (no new work) or STOPPED (whatever it had is given back)."""
        with self.changed:
            self.workers[worker_id].status = status
            if status == "STOPPED":
                self.lose_worker(worker_id)
            self.changed.notify_all()

    def lose_worker(self, worker_id: str) -> None:
        """Give back all that a worker that is gone had not ended."""
        with self.changed:
            worker = self.workers[worker_id]
            worker.status = "STOPPED"
            if session := worker.session:
                for action in session.open_actions:
                    action.end(LOST)
                    self._settle(session, action)
                self._end(worker, session)
            self.changed.notify_all()

    def exchange(self, worker_id: str, reports: Mapping[str, Mapping[str, Any]]) -> Session | None:
        """Take a worker's reports and return the session it is to have now."""
        with self.changed:
            worker = self.workers[worker_id]
            if worker.session:
                self._take(worker.session, reports)
                self._advance(worker, worker.session)
            if worker.session is None and worker.status == "STARTED":
                self._begin_any(worker)
            self.changed.notify_all()
            return worker.session

    def cancels_for(self, session: Session) -> list[str]:
        """Return the actions that the agent has to cancel now.

        A running one is named once, since each repeat would lengthen its notice period; one that the agent has not
        begun is named again, since the agent heeds only the action it is at.
        """
        with self.changed:
            wanted = [one for one in session.open_actions if one.cancel_wanted and not one.cancel_sent]
            for action in wanted:
                action.cancel_sent = action.status == "RUNNING"
            return [action.id for action in wanted]

    # -- inside ------------------------------------------------------------------------------------------------------

    def _take(self, session: Session, reports: Mapping[str, Mapping[str, Any]]) -> None:
        for action in session.open_actions:
            if report := reports.get(action.id):
                action.update(report)
                if action.ended:
                    self._settle(session, action)

    def _settle(self, session: Session, action: Action) -> None:
        """Draw the consequences of an ended action for its session, task, step and job."""
        if action.status != "SUCCEEDED":
            session.closing = True
        if action.task:
            self._settle_task(session.job, action.task, action)
        elif action.status == "FAILED" and action.kind != "envExit":
            self._settle_environment(session.job, session.step)

    def _settle_task(self, job: Job, task: Task, action: Action) -> None:
        if action.status == "SUCCEEDED":
            task.status = "SUCCEEDED"
            return
        task.failures += action.status == "FAILED"
        task.attempts -= action.status == NOT_RUN
        task.status = "FAILED" if task.failures > job.max_retries else "CANCELED" if job.canceled else "READY"
        if task.status == "FAILED" and job.counts["FAILED"] > job.max_failed_tasks:
            self._stop_rest(job)

    def _settle_environment(self, job: Job, step: Step) -> None:
        step.environment_failures += 1
        if step.environment_failures > job.max_retries:
            for task in step.tasks:
                if task.status in ("READY", "RUNNING"):
                    task.status, task.failures = "FAILED", job.max_retries + 1

    def _stop_rest(self, job: Job) -> None:
        for task in (task for step in job.steps for task in step.tasks if task.status == "READY"):
            task.status = "CANCELED"
        for session in self.sessions_of(job):
            session.closing = True
            for action in session.open_actions:
                action.cancel_wanted = action.kind != "envExit"

    def _begin_any(self, worker: Worker) -> None:
        steps = ((job, step) for job in self.jobs.values() for step in job.steps if job.runnable(step))
        if first := next(steps, None):
            self._begin(worker, *first)

    def _begin(self, worker: Worker, job: Job, step: Step) -> None:
        session_id = new_id("session")
        session = Session(session_id, worker.id, job, step, self._log_for(job.queue_id, session_id))
        if "attachments" in job.request:
            session.add("syncInputJobAttachments", {})
            if step.dependencies:
                session.add("syncInputJobAttachments", {"stepId": step.id})
        for environment in job.environments_of(step):
            session.add("envEnter", {"environmentId": environment.id}, environment=environment)
        self._give_tasks(session)
        worker.session = session
        self.sessions.append(session)

    def _give_tasks(self, session: Session) -> None:
        waiting = [action for action in session.of_kind("taskRun") if not action.ended]
        ready: Sequence[Task] = [task for task in session.step.tasks if task.status == "READY"]
        for task in ready[: self._tasks_at_a_time - len(waiting)]:
            definition: dict[str, Any] = {"stepId": session.step.id, "parameters": task.parameters}
            if not session.step.chunked:
                definition["taskId"] = task.id  # the service leaves it out for chunks
            task.latest_action = session.add("taskRun", definition, task=task).id
            task.status, task.attempts = "RUNNING", task.attempts + 1

    def _advance(self, worker: Worker, session: Session) -> None:
        """Top the session up, or let it leave its environments, or end it."""
        if not session.closing:
            self._give_tasks(session)
        if session.open_actions:
            return
        session.closing = True
        if not session.exits_given:
            self._give_exits(session)
        if not session.open_actions:
            self._end(worker, session)

    def _give_exits(self, session: Session) -> None:
        session.exits_given = True
        for entered in reversed([one for one in session.of_kind("envEnter") if one.status != NOT_RUN]):
            environment = entered.environment
            assert environment is not None, "every envEnter names its environment"
            session.add("envExit", {"environmentId": environment.id}, environment=environment)

    def _end(self, worker: Worker, session: Session) -> None:
        session.stop()
        worker.session = None
