"""What the program is told once, and the limits of what a client may send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20  # bytes
HOUR = 3600  # seconds


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a client may send, in bytes."""

    file: int = 8192 * MIB  # one uploaded file; the hosted API takes 512 MB, and 8 GB in parts
    body: int = 256 * MIB  # one JSON body; an Anthropic batch is one
    part: int = 64 * MIB  # one part of an upload


@dataclass(frozen=True, slots=True)
class Gathering:
    """When single calls become a job: once none came for `seconds`, or there are `rows` of them."""

    seconds: float = 2.0
    rows: int = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """How the program serves. `key` None asks no client for one; `parameters` are those of every job."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8321
    key: str | None = field(default=None, repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict)
    keep_warm: float = 600.0  # seconds that a local engine stays loaded after its last job
    limits: Limits = field(default_factory=Limits)
    gathering: Gathering = field(default_factory=Gathering)
