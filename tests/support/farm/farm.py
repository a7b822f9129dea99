"""A farm on loopback: `with Farm(folder, agents=2) as farm: job = farm.submit(bundle, {...}); farm.wait(job)`.

Real: the `deadline` command that submits and downloads, the worker agents, job attachments, and of course the job.
Stand-ins: moto for S3, STS and CloudWatch Logs, `deadline_api` for the Deadline Cloud API, `instance_metadata` for EC2.
Scheduling is this harness's own (`scheduler.py`), so no test here says anything about the service's.

Everything stays below the given folder and on 127.0.0.1; every wait has a limit and fails with the end of the logs; on
leaving, the agents end first, then the servers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from .agent import Agent
from .aws import LocalAws
from .deadline_api import DeadlineApi
from .jobs import Job
from .sessions import Action, Session

WAIT_SECONDS = 900  # for anything; a hang ends here, a busy machine that loads a model does not


class FarmError(AssertionError):
    """The farm did not do what a test waited for; the message ends with what its parts last said."""


class Farm:
    """The farm's parts and what tests do with them."""

    def __init__(
        self,
        folder: Path,
        *,
        agents: int = 1,
        tasks_at_a_time: int = 1,
        job_environment: Mapping[str, str] | None = None,
        queue_environments: Sequence[str] = (),
    ) -> None:
        """Describe it; entering the context starts it.

        A session holds at most `tasks_at_a_time` tasks; `job_environment` is added to the agents' own, which jobs
        inherit; `queue_environments` are environment templates as YAML text.
        """
        self.folder = folder
        self.agents: list[Agent] = []
        self._wanted_agents = agents
        self._tasks_at_a_time = tasks_at_a_time
        self._job_environment = dict(job_environment or {})
        self._queue_environments = list(queue_environments)

    def __enter__(self) -> Self:
        """Start moto, the API and the agents."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._start_services()
            for _ in range(self._wanted_agents):
                self.start_agent(wait=False)
            self.wait_until(lambda: all(agent.worker_id for agent in self.agents), "agents started")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Take everything down."""
        self.close()

    def close(self) -> None:
        """End the agents, then the API, then moto."""
        for agent in self.agents:
            agent.ask_to_stop()  # all at once, since each takes some seconds
        for part in (*self.agents, getattr(self, "api", None), getattr(self, "aws", None)):
            if part:
                part.close()

    def _start_services(self) -> None:
        self.aws = LocalAws(self.folder)
        self.wait_until(self.aws.ready, "moto answered")
        self.aws.make_bucket()
        self.api = DeadlineApi(self.aws.client("logs"), tasks_at_a_time=self._tasks_at_a_time)
        self.api.scheduler.queue_environments += self._queue_environments
        for name, value in (
            ("defaults.farm_id", self.api.farm_id),
            ("defaults.queue_id", self.api.queue_id),
            ("settings.submitter_update_notification", "false"),
        ):
            self.deadline("config", "set", name, value)

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment in which a user's commands talk to this farm and to nothing else."""
        return {
            **self.aws.environment(self.folder),
            "AWS_ENDPOINT_URL_DEADLINE": self.api.url,
            "DEADLINE_CONFIG_FILE_PATH": str(self.folder / "deadline.conf"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }

    def start_agent(self, *, wait: bool = True, job_environment: Mapping[str, str] | None = None) -> Agent:
        """Start one more agent; `job_environment` is its own, beside that of all."""
        home = self.folder / f"agent-{len(self.agents)}"
        environment = {**self.aws.environment(home), "AWS_ENDPOINT_URL_DEADLINE": self.api.url}
        agent = Agent(
            home,
            farm_id=self.api.farm_id,
            fleet_id=self.api.fleet_id,
            environment=environment,
            job_environment={**self._job_environment, **(job_environment or {})},
        )
        self.agents.append(agent)
        if wait:
            self.wait_until(lambda: bool(agent.worker_id), "an agent started")
        return agent

    def _note_workers(self) -> None:
        for agent in self.agents:
            if not (agent.worker_id or agent.running):
                self._fail("an agent ended while it started")
            if not agent.worker_id and (found := re.search(r"worker-[0-9a-f]{32}", agent.tail(200))):
                worker = self.api.scheduler.workers.get(found[0])
                agent.worker_id = found[0] if worker and worker.status == "STARTED" else ""

    # -- what users do -----------------------------------------------------------------------------------------------

    def deadline(
        self, *arguments: str, cwd: Path | None = None, check: bool = True, typed: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run the real `deadline` command; with `check`, an exit status that is not 0 fails the test."""
        done = subprocess.run(
            [str(Path(sys.executable).parent / "deadline"), *arguments],
            env=self.environment,
            cwd=cwd or self.folder,
            input=typed,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        if check and done.returncode:
            self._fail(f"deadline {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def submit(self, bundle: Path, parameters: Mapping[str, object], *, options: Sequence[str] = ()) -> Job:
        """Run `deadline bundle submit . --yes` in the bundle's folder and return the job."""
        given = [part for name, value in parameters.items() for part in ("--parameter", f"{name}={value}")]
        done = self.deadline("bundle", "submit", ".", "--yes", *options, *given, cwd=bundle)
        return self.job_in(done.stdout)

    def job_in(self, printed: str) -> Job:
        """Return the job whose id a command printed."""
        found = re.search(r"job-[0-9a-f]{32}", printed)
        if not found:
            self._fail(f"no job id in: {printed}")
        return self.api.scheduler.jobs[found[0]]

    def download(self, job: Job, *options: str) -> None:
        """Run `deadline job download-output`, replacing what is there."""
        given = ("--yes", "--conflict-resolution", "OVERWRITE", *options)
        self.deadline("job", "download-output", "--job-id", job.id, *given)

    def cancel(self, job: Job) -> None:
        """Run `deadline job cancel`."""
        self.deadline("job", "cancel", "--job-id", job.id, "--yes")

    # -- what happens to workers -------------------------------------------------------------------------------------

    def kill(self, agent: Agent) -> None:
        """Lose an agent's machine at once, and let the scheduler know, as the service would some minutes later."""
        agent.kill()
        self.api.scheduler.lose_worker(agent.worker_id)

    # -- what tests look at ------------------------------------------------------------------------------------------

    def wait(self, job: Job) -> str:
        """Wait until the job and its sessions have ended; return its status."""

        def ended() -> bool:
            return job.status != "RUNNING" and all(one.ended for one in self.sessions(job))

        self.wait_until(ended, f"job {job.name} ended")
        return job.status

    def wait_for_running_task(self, agent: Agent, *, percent: float = 0) -> Action:
        """Wait until the agent is inside a task, with at least so much progress reported."""
        found: list[Action] = []

        def running() -> bool:
            session = self.api.scheduler.workers[agent.worker_id].session
            tasks = session.of_kind("taskRun") if session else []
            found[:] = [one for one in tasks if one.status == "RUNNING" and one.percent >= percent]
            if not found and all(job.status != "RUNNING" for job in self.api.scheduler.jobs.values()):
                self._fail("no job is left to run a task of")
            return bool(found)

        self.wait_until(running, "a task ran")
        return found[0]

    def wait_until(self, true: Callable[[], bool], what: str) -> None:
        """Wait for a condition; fail with the logs' ends when it does not come."""
        limit = time.monotonic() + WAIT_SECONDS
        while True:
            self._note_workers()
            if true():
                return
            if time.monotonic() > limit:
                self._fail(f"not within {WAIT_SECONDS} s: {what}")
            time.sleep(0.05)

    def sessions(self, job: Job, step: str | None = None) -> list[Session]:
        """Return the job's sessions, oldest first, or those of one step."""
        return self.api.scheduler.sessions_of(job, step)

    def agent_of(self, session: Session) -> Agent:
        """Return the agent that has or had a session."""
        return next(agent for agent in self.agents if agent.worker_id == session.worker_id)

    def log(self, session: Session) -> str:
        """Return a session's log from the disk of its agent."""
        return self.agent_of(session).session_log(session.job.queue_id, session.id)

    def _fail(self, reason: str) -> NoReturn:
        parts = [reason]
        if hasattr(self, "api"):
            scheduler = self.api.scheduler
            parts += [str(session) for session in scheduler.sessions]
            parts += [f"{one.id}:\n{_tail(self.log(one))}" for one in scheduler.sessions[-4:]]
            parts += ["API errors:", *self.api.errors, "unknown to the API:", *self.api.unknown]
        parts += [f"agent {agent.worker_id}:\n{agent.tail()}" for agent in self.agents]
        raise FarmError("\n".join([*parts, reason]))  # the reason again where a reader looks first


def _tail(text: str, lines: int = 30) -> str:
    return "\n".join(text.splitlines()[-lines:])
