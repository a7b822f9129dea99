"""The record of one worker's session: its actions in order, and what the agent reported of each.

Tests read these; the scheduler writes them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .jobs import Environment, Job, Step, Task

NOT_RUN = "NEVER_ATTEMPTED"
LOST = "RECLAIMED"  # the worker went away before it reported an end


@dataclass(eq=False)
class Action:
    """One session action: `kind` is a member of the service's union, such as `taskRun` or `envEnter`."""

    id: str
    kind: str
    definition: Mapping[str, Any]
    task: Task | None = None
    environment: Environment | None = None
    status: str = "ASSIGNED"
    ended: bool = False
    exit_code: int | None = None
    percent: float = 0.0
    messages: list[str] = field(default_factory=list)
    manifests: list[Mapping[str, str]] = field(default_factory=list)
    started_at: Any = None
    ended_at: Any = None
    cancel_wanted: bool = False
    cancel_sent: bool = False

    def update(self, report: Mapping[str, Any]) -> None:
        """Take over one entry of updatedSessionActions."""
        self.exit_code = report.get("processExitCode", self.exit_code)
        self.percent = report.get("progressPercent", self.percent)
        self.started_at = report.get("startedAt", self.started_at)
        self.ended_at = report.get("endedAt", self.ended_at)
        self.manifests = list(report.get("manifests", self.manifests))
        if message := report.get("progressMessage"):
            self.messages.append(message)
        self.status = report.get("completedStatus", "RUNNING")
        self.ended = "completedStatus" in report

    def end(self, status: str) -> None:
        """Close the action with a final status."""
        self.status, self.ended = status, True


@dataclass(eq=False)
class Session:
    """One session: a worker running tasks of one step of one job."""

    id: str
    worker_id: str
    job: Job
    step: Step
    log: Mapping[str, Any]
    actions: list[Action] = field(default_factory=list)
    closing: bool = False  # takes no more tasks
    exits_given: bool = False
    ended: bool = False
    started: float = field(default_factory=time.time)
    stopped: float = 0.0  # seconds since 1970, as `started`

    def add(self, kind: str, definition: Mapping[str, Any], **what: Any) -> Action:
        """Append an action."""
        action = Action(f"sessionaction-{self.id[8:]}-{len(self.actions)}", kind, {kind: dict(definition)}, **what)
        self.actions.append(action)
        return action

    def of_kind(self, kind: str) -> list[Action]:
        """Return the actions of a kind."""
        return [action for action in self.actions if action.kind == kind]

    def stop(self) -> None:
        """Note that it has ended."""
        self.ended, self.stopped = True, time.time()

    @property
    def seconds(self) -> float:
        """Return how long it ran, or runs by now."""
        return (self.stopped or time.time()) - self.started

    @property
    def open_actions(self) -> list[Action]:
        """Return the actions without an end, which the agent must be told of each time."""
        return [action for action in self.actions if not action.ended]

    @property
    def tasks_done(self) -> list[str]:
        """Return the parameter values of the tasks that succeeded here, such as `["1-5", "6-10"]`."""
        return [one.task.values for one in self.of_kind("taskRun") if one.task and one.status == "SUCCEEDED"]

    def __str__(self) -> str:
        """Return a few lines for a failing test."""
        lines = [f"{self.id} on {self.worker_id}, step {self.step.name}{', ended' if self.ended else ''}"]
        for action in self.actions:
            what = action.task.values if action.task else action.environment.id if action.environment else ""
            said = f" {action.messages[-1]!r}" if action.messages else ""
            lines.append(f"  {action.kind} {what}: {action.status} exit={action.exit_code}{said}")
        return "\n".join(lines)
