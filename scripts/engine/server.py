"""The session's vLLM server: its command, its processes, and the small file that tells the session's tasks of it.

Started by `serve.py` when the session begins, started again by `run_chunk.py` when it died, ended with the session.
It listens on loopback, on a port of its own, behind a random key that only the environment carries. It runs in a
process group of its own, ended whole: vLLM's engine processes are children that would go on holding the accelerator.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from engine import gpus
from engine.gpus import Gpu
from host import files, processes

KEY_VARIABLE = "VLLM_API_KEY"  # read by vLLM itself; keeps the key off the command line
STOP_SECONDS = 20.0  # for vLLM to end by itself, before it is killed
RESERVED_FLAGS = (
    "--api-key",
    "--hf-token",
    "--host",
    "--port",
    "--uds",
    "--ssl-keyfile",
    "--ssl-certfile",
    "--root-path",
    "--config",
    "--grpc",
)
_WHY = {
    "--hf-token": "all users of a machine can read command lines; set HfTokenSecretId (or HfToken)",
    "": "the server stays on loopback behind a key of its own",
}
FEW_CORES = 2  # vLLM's CPU build keeps a core for its scheduler; of so few the engine needs all
CACHE_FALLBACK = "/var/tmp"  # noqa: S108 - /tmp is a RAM disk on the workers, a model cache must not live there


class ServerError(Exception):
    """No server can be had; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server is started with, as the template's parameters give it."""

    model: str
    max_model_len: int
    gpu_memory_utilization: float
    tensor_parallel_size: int
    vllm_args: str
    start_timeout: float  # seconds


@dataclass(frozen=True, slots=True)
class State:
    """The running server, as `server.json` in the session's folder tells it. `pid` 0: somebody else's server."""

    url: str
    model: str
    pid: int
    born: str  # the process's start time in clock ticks, which with the pid names it for good
    load: str
    loads: tuple[str, ...]
    log: str
    scratch: str  # its temporary folder, removed with it
    settings: Settings

    @property
    def external(self) -> bool:
        """Tell whether the server was given by ServerUrl."""
        return self.pid == 0

    def alive(self) -> bool:
        """Tell whether the server's first process still runs."""
        return self.external or processes.runs(self.pid, self.born)


def command(settings: Settings, port: int, found: list[Gpu]) -> list[str]:
    """Return the server's argument list. What VllmArgs says comes last, so that it wins.

    Raises ServerError for a flag that would open the server to others.
    """
    extra = _extra(settings.vllm_args)
    parallel = settings.tensor_parallel_size or len(found)
    tokens, sequences = gpus.batch_limits(found)
    argv = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    argv += ["--model", settings.model, "--host", "127.0.0.1", "--port", str(port)]
    argv += ["--max-model-len", str(settings.max_model_len)]
    argv += ["--max-num-batched-tokens", str(max(tokens, settings.max_model_len)), "--max-num-seqs", str(sequences)]
    argv += ["--disable-uvicorn-access-log"]  # a line a request costs time and tells nothing
    if found:
        argv += ["--gpu-memory-utilization", str(settings.gpu_memory_utilization)]
    if parallel > 1:
        argv += ["--tensor-parallel-size", str(parallel)]
    return argv + extra


def _extra(text: str) -> list[str]:
    try:
        extra = shlex.split(text)
    except ValueError as error:
        raise ServerError(f"VllmArgs {text!r} cannot be split into arguments: {error}") from None
    for argument in extra:
        flag = argument.split("=")[0].replace("_", "-")
        # vLLM's parser takes a flag's beginning for the flag
        if flag.startswith("--") and len(flag) > len("--") and any(own.startswith(flag) for own in RESERVED_FLAGS):
            raise ServerError(f"VllmArgs must not hold {flag}: {_WHY.get(flag, _WHY[''])}")
    return extra


def environment(key: str, start_timeout: float, scratch: str = "") -> dict[str, str]:
    """Return the server's environment: the session's, with the key, the caches and what a batch needs."""
    mount = os.environ.get("DEADLINE_PERSISTENT_MOUNT")
    root = Path(mount or CACHE_FALLBACK) / f"vllm-batch-{os.getuid()}"
    defaults = {
        "HF_HOME": str(root / "huggingface"),
        "VLLM_CACHE_ROOT": str(root / "vllm"),  # compiled graphs
        "TORCHINDUCTOR_CACHE_DIR": str(root / "inductor"),  # compiled kernels, in /tmp otherwise
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "3600",  # seconds; at 5 an idle connection closes under the client's request
        "VLLM_IMAGE_FETCH_TIMEOUT": "60",  # seconds for an image named by URL; 5 is too short for a batch
        "VLLM_ENGINE_READY_TIMEOUT_S": str(int(start_timeout)),
    }
    if len(os.sched_getaffinity(0)) <= FEW_CORES:
        defaults["VLLM_CPU_NUM_OF_RESERVED_CPU"] = "0"
    ours = {KEY_VARIABLE: key, "PYTHONNOUSERSITE": "1", **({"TMPDIR": scratch} if scratch else {})}
    return {**defaults, **os.environ, **ours}


def launch(settings: Settings, folder: Path, key: str, loads: tuple[str, ...] = ()) -> State:
    """Start the server and note it in the session's folder; it is not ready yet. Raises ServerError."""
    port = free_port()
    try:
        argv = command(settings, port, gpus.here())
    except gpus.GpuError as error:
        raise ServerError(str(error)) from None
    log = folder / f"server-{len(loads) + 1}.log"
    load = secrets.token_hex(6)
    with log.open("wb") as output, _undisturbed(), contextlib.ExitStack() as undo:
        log.chmod(0o600)
        # Not in the session's folder: the paths of vLLM's sockets have a limit of 107 bytes.
        scratch = tempfile.mkdtemp(prefix="vllm-")
        undo.callback(shutil.rmtree, scratch, ignore_errors=True)
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment(key, settings.start_timeout, scratch),
            cwd=folder,
            start_new_session=True,  # its own group: it outlives this action and is ended whole
        )
        born, url = processes.born(process.pid), f"http://127.0.0.1:{port}"
        state = State(url, settings.model, process.pid, born, load, (*loads, load), str(log), scratch, settings)
        undo.callback(stop, state, patience=2)  # a server that is not noted down would be an orphan
        save(state, folder)
        undo.pop_all()
    return state


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Put a SIGTERM off to the end of the block: a server that nobody has noted down yet would be an orphan."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if came:
            signal.raise_signal(signal.SIGTERM)


def free_port() -> int:
    """Return a TCP port that is free on loopback now; another program may still take it first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def given(url: str, settings: Settings) -> State:
    """Return the state of a server that runs already; its address may end in /v1."""
    root = url.rstrip("/").removesuffix("/v1")
    if "@" in root:
        raise ServerError("ServerUrl must not hold a user or a password; set OPENAI_API_KEY on the worker")
    if not root.lower().startswith(("http://", "https://")):
        raise ServerError(f"ServerUrl {url!r} must begin with http:// or https://")
    return State(root, settings.model, 0, "", "", (), "", "", settings)


def save(state: State, folder: Path) -> None:
    """Write the session's note of its server."""
    write_note(folder / "server.json", asdict(state))


def write_note(path: Path, value: object) -> None:
    """Write a JSON file whole and for its owner only."""
    files.write_whole(path, json.dumps(value).encode(), mode=0o600)


def load(folder: Path) -> State | None:
    """Return the session's server, or None when none was started."""
    try:
        value = json.loads((folder / "server.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return State(**{**value, "loads": tuple(value["loads"]), "settings": Settings(**value["settings"])})


def identity(state: State) -> str:
    """Return what an answer depends on of its server: two with the same one would answer alike."""
    given = state.url if state.external else ""
    return json.dumps([given, state.model, state.settings.vllm_args, state.settings.max_model_len])


def renamed(state: State, model: str) -> State:
    """Return the state with the name that the server itself gives its model."""
    return replace(state, model=model)


def stop(state: State, *, patience: float = STOP_SECONDS) -> bool:
    """End the server with all its processes and its temporary files; return whether some had to be killed."""
    if state.external:
        return False
    killed = processes.end_session(state.pid, state.born, patience)
    shutil.rmtree(state.scratch, ignore_errors=True)
    return killed
