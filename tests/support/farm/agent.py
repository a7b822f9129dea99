"""One real worker agent of the farm, on a machine of its own as far as one computer can give it that.

It has its own home, state, logs and session folders, its own instance metadata, and everything it starts is below its
own holder. VLLM_BATCH_AGENT_PYTHON is the python that has deadline-cloud-worker-agent; VLLM_BATCH_RUN_PYTHON the one
that the jobs' `python` is to be.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from . import holder
from .aws import PROXIES
from .instance_metadata import InstanceMetadata

QUIET_FLAGS = (
    "--run-jobs-as-agent-user",
    "--no-shutdown",
    "--no-cleanup-session-user-processes",
    "--no-host-metrics-logging",
)
STOP_SECONDS = 600  # an agent that ends in good order flushes its logs for about 6


class Agent:
    """A started agent; `worker_id` is set by the farm once it has registered."""

    def __init__(
        self,
        home: Path,
        *,
        farm_id: str,
        fleet_id: str,
        environment: Mapping[str, str],
        job_environment: Mapping[str, str],
    ) -> None:
        """Start it with an environment; what is in `job_environment` beats all else."""
        python = tool("VLLM_BATCH_AGENT_PYTHON")
        self.home = home
        self.worker_id = ""
        self.metadata = InstanceMetadata()
        folders = {name: home / name for name in ("logs", "state", "sessions")}
        for folder in folders.values():
            folder.mkdir(parents=True)
        command = [str(python), str(python.parent / "deadline-worker-agent"), *QUIET_FLAGS]
        command += ["--farm-id", farm_id, "--fleet-id", fleet_id, "--logs-dir", str(folders["logs"])]
        command += ["--persistence-dir", str(folders["state"]), "--session-root-dir", str(folders["sessions"])]
        with (home / "agent.out").open("wb") as out:
            self._holder = subprocess.Popen(
                [sys.executable, holder.__file__, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**environment, **self._own_environment(), **job_environment},
                cwd=home,
                start_new_session=True,
            )

    def _own_environment(self) -> dict[str, str]:
        python_folder = tool("VLLM_BATCH_RUN_PYTHON").parent
        path = f"{python_folder}{os.pathsep}{os.environ['PATH']}"
        return {**dict.fromkeys(PROXIES, self.metadata.url), "PATH": path}

    @property
    def running(self) -> bool:
        """Say whether the agent still runs."""
        return self._holder.poll() is None

    @property
    def processes(self) -> list[int]:
        """Return the agent's process id, then those of all it started that still run."""
        return holder.below(self._holder.pid)

    def session_log(self, queue_id: str, session_id: str) -> str:
        """Return what the agent wrote of a session, on its own disk."""
        log = self.home / "logs" / queue_id / f"{session_id}.log"
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""

    def tail(self, lines: int = 12) -> str:
        """Return the end of the agent's own log, without its heartbeats."""
        text = (self.home / "agent.out").read_text(encoding="utf-8", errors="replace")
        return "\n".join([line for line in text.splitlines() if "API.Re" not in line][-lines:])

    def kill(self) -> None:
        """End the machine at once, as a lost spot instance: SIGKILL to the agent and all it ever started."""
        holder.kill_below(self._holder.pid)
        self._holder.wait(STOP_SECONDS)

    def ask_to_stop(self) -> None:
        """Send the agent SIGTERM, as a service manager does, if it still runs; it has 4 s for its sessions then."""
        if self.running and (processes := self.processes):
            os.kill(processes[0], signal.SIGTERM)

    def give_spot_notice(self, seconds: int) -> None:
        """Let the instance metadata announce the end of the instance."""
        self.metadata.give_notice(seconds)

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Wait for the agent to end by itself and return its exit status."""
        return self._holder.wait(seconds)

    def close(self) -> None:
        """End the agent and all it started, in good order if it obeys."""
        self.ask_to_stop()
        try:
            self._holder.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._holder.terminate()  # the holder kills all below it
            self._holder.wait(STOP_SECONDS)
        self.metadata.close()


def tool(variable: str) -> Path:
    """Return the python that an environment variable names; its absence is an error, never a skip."""
    python = Path(os.environ.get(variable, ""))
    if not python.is_file():
        raise FileNotFoundError(f"{variable} must name a python (tests/run_all.py sets it), got {str(python)!r}")
    return python.absolute()
