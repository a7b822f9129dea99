"""The session's note of its engines, and the requests that its tasks put beside it.

`engine.json` in the session's folder says which engines there are and how each one is. The supervisor alone writes it
once it runs; everybody else reads it. Whoever wants an engine restarted or ended leaves a request, which names the
generation that it is about: a request for an engine that was started again since is void.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from engine.facts import Served
from engine.placement import ON_CPU, UNKNOWN_ROWS, Placement
from host import files
from host.processes import Process

OWNER_ONLY = 0o600
_NOT_ENTERED = "the session has no server: its environment was not entered"
_NAME, _REQUESTS = "engine.json", "request-*.json"


class ServerError(Exception):
    """No server can be had; the message says why and what to do."""


class ServerGone(ServerError):
    """No server can be had any more; rows that were not answered stay so."""


class State(StrEnum):
    """How an engine is. `down`: it ended after it was ready. `failed`: it never became ready."""

    STARTING = "starting"
    READY = "ready"
    DOWN = "down"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server is started with, as the template's parameters give it."""

    model: str
    max_model_len: int
    gpu_memory_utilization: float
    tensor_parallel_size: int
    vllm_args: str
    start_timeout: float  # seconds


@dataclass(frozen=True, slots=True)
class Load:
    """One load of the model: its name, when it began (seconds since 1970), and how long it took or went on in vain."""

    name: str
    began: float = 0.0
    seconds: float = 0.0  # 0 while it goes on


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine: how it is, where it answers, and what its process left. A given server has no process."""

    number: int = 0
    place: Placement = ON_CPU
    state: State = State.STARTING
    generation: int = 0  # counts its launches
    url: str = ""
    process: Process | None = None
    loads: tuple[Load, ...] = ()  # of its model in this session
    log: str = ""
    scratch: str = ""  # its temporary folder, removed with it
    served: Served | None = None
    ports_taken: int = 0  # ports that another program took first in this load
    died: float = 0.0  # when its process was gone, by time.monotonic(), which counts alike in all of a machine
    status: int | None = None  # that its process ended with, as Popen gives it
    killed: bool = False  # its end took SIGKILL
    message: str = ""  # why it failed


@dataclass(frozen=True, slots=True)
class Note:
    """The session's engines. `supervisor` is None where the server was given by ServerUrl.

    `entered` is when the session began, in seconds since 1970.
    """

    settings: Settings
    engines: tuple[Engine, ...]
    supervisor: Process | None = None
    external: bool = False
    cache: str = ""  # a folder of caches for this session alone, removed with it
    why: str = ""  # there are so many engines
    entered: float = field(default_factory=time.time)

    @property
    def served(self) -> Served:
        """Return what the engines answer, which are all of one model. Raises ServerError."""
        for engine in self.engines:
            if engine.served:
                return engine.served
        raise ServerError(_NOT_ENTERED)

    @property
    def rows(self) -> tuple[int, ...]:
        """Return how many requests in flight keep each engine full."""
        return tuple(UNKNOWN_ROWS if self.external else engine.place.rows for engine in self.engines)


def write_note(note: Note, folder: Path) -> None:
    """Write the note whole and for its owner only."""
    text = json.dumps(asdict(note), default=sorted)  # sets of routes
    files.write_whole(folder / _NAME, text.encode(), mode=OWNER_ONLY)


def load_note(folder: Path) -> Note:
    """Return the session's note. Raises ServerError when its environment was not entered."""
    note = read_note(folder)
    if note is None:
        raise ServerError(_NOT_ENTERED)
    return note


def link_note(kept: Path, folder: Path) -> None:
    """Make the note of a session that goes on the note of another, whose tasks then use its engines."""
    (folder / _NAME).symlink_to(kept.absolute() / _NAME)


def is_linked(folder: Path) -> bool:
    """Tell whether a session uses the engines of another."""
    return (folder / _NAME).is_symlink()


def read_note(folder: Path) -> Note | None:
    """Return the session's note, or None when there is none."""
    try:
        value = json.loads((folder / _NAME).read_bytes())
    except FileNotFoundError:
        return None
    parsed = {
        "settings": Settings(**value["settings"]),
        "engines": tuple(map(_parse_engine, value["engines"])),
        "supervisor": _parse_process(value["supervisor"]),
    }
    return Note(**{**value, **parsed})


def _parse_engine(value: dict[str, Any]) -> Engine:
    served = value["served"]
    parsed = {
        "place": Placement(**value["place"]),
        "state": State(value["state"]),
        "process": _parse_process(value["process"]),
        "loads": tuple(Load(**load) for load in value["loads"]),
        "served": Served.from_json(served) if served else None,
    }
    return Engine(**{**value, **parsed})


def _parse_process(value: dict[str, Any] | None) -> Process | None:
    return Process(**value) if value else None


@dataclass(frozen=True, slots=True)
class Request:
    """What a task wants of one generation of an engine: `restart` it, or `end` it. `reason` is for the log."""

    engine: int
    generation: int
    action: str
    reason: str


def send_request(request: Request, folder: Path) -> None:
    """Leave a request for the supervisor, beside the note that it writes."""
    name = _REQUESTS.replace("*", secrets.token_hex(6))
    files.write_whole((folder / _NAME).resolve().with_name(name), json.dumps(asdict(request)).encode(), mode=OWNER_ONLY)


def take_requests(folder: Path) -> list[Request]:
    """Return the requests that were left since the last call."""
    found = []
    for path in folder.glob(_REQUESTS):
        found.append(Request(**json.loads(path.read_bytes())))
        path.unlink()
    return found
