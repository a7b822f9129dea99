"""One launch of vLLM: its process, whose end is noticed at once, its log and its temporary files.

It runs in a process session of its own and is ended whole: vLLM's engine processes are children that would go on
holding the accelerator. It is sent SIGTERM when who launched it is killed.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from engine.cause import may_pass, read_log, read_tail, report
from engine.note import Engine, ServerError
from host import files, processes, user

STOP_SECONDS = 20.0  # for vLLM to end by itself, before it is killed
HASTE_SECONDS = 2.0  # the same for one that is dead, stuck or not wanted any more


class PortTaken(ServerError):
    """Another program took the port first; a new start will choose another."""


class HubBusy(ServerError):
    """The Hugging Face hub did not give the model now; a later launch may get it."""


class Launch:
    """A running vLLM. `gone` is set once its first process is; then `died` and `status` say when and how it ended.

    The thread that creates it must outlive it.
    """

    def __init__(self, argv: list[str], folder: Path, name: str, environment: Mapping[str, str]) -> None:
        self.gone = threading.Event()
        self.died, self.status = 0.0, 0
        self.log = str(folder / f"{name}.log")
        # Not in the session's folder: the paths of vLLM's sockets have a limit of 107 bytes.
        self.scratch = tempfile.mkdtemp(prefix="vllm-", dir=user.find_temporary())
        try:
            with files.open_log(Path(self.log)) as output:
                self._popen = subprocess.Popen(
                    processes.tie_to_parent(argv),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**environment, "TMPDIR": self.scratch},
                    cwd=folder,
                    start_new_session=True,
                )
        except BaseException:
            shutil.rmtree(self.scratch, ignore_errors=True)
            raise
        self.process = processes.find_process(self._popen.pid)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        self.status = self._popen.wait()
        self.died = time.monotonic()
        self.gone.set()

    def end(self, patience: float) -> bool:
        """End it whole, with its temporary files; return whether some processes had to be killed."""
        return end_processes(self.process, self.scratch, patience)


def end_engine(engine: Engine, patience: float) -> bool:
    """End what is left of an engine by the session's note; return whether some processes had to be killed."""
    return engine.process is not None and end_processes(engine.process, engine.scratch, patience)


def end_processes(leader: processes.Process, scratch: str, patience: float) -> bool:
    """End a launch by its first process and its temporary folder, which marks its children's environments."""
    killed = processes.end_all(lambda: processes.find_family(leader, f"TMPDIR={scratch}"), patience)
    shutil.rmtree(scratch, ignore_errors=True)
    return killed


def find_free_port() -> int:
    """Return a TCP port that is free on loopback now; another program may still take it first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def explain_end(launch: Launch) -> ServerError:
    """Return why a launch has ended before it answered."""
    if re.search(r"address already in use", read_tail(launch.log), re.IGNORECASE):
        return PortTaken("another program took the port")
    kind = HubBusy if may_pass(read_log(Path(launch.log))) else ServerError
    return kind(report(launch.log, "The vLLM server ended while it was starting", launch.status))
