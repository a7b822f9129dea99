"""Where an engine's downloads and compiled code are kept from one session to the next.

Compiled code of the cache is run, so a folder counts only when nobody else can write in it. On a farm it is on the
persistent volume, else in /var/tmp; where neither can be had, the session gets a folder of its own for its time. On a
person's own machine downloads stay where Hugging Face's tools keep them, and are found with the login.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from host import user

FALLBACK = Path("/var/tmp")  # noqa: S108 - /tmp is a RAM disk on the workers, a model cache must not live there
DOWNLOADS = {"HF_HOME": "huggingface"}
COMPILED = {  # each is below the home folder or in /tmp otherwise
    "VLLM_CACHE_ROOT": "vllm",  # compiled graphs
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
}
_OTHERS_WRITE, _OTHERS = stat.S_IWGRP | stat.S_IWOTH, stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Caches:
    """The variables that name the folders; `temporary` is to be removed with the session, `remarks` are for its log."""

    variables: dict[str, str]
    temporary: str = ""
    remarks: list[str] = field(default_factory=list)


def choose_caches(environment: Mapping[str, str]) -> Caches:
    """Return the caches of a session. What its environment names already stays."""
    wanted = dict(COMPILED)
    if any(name.startswith("DEADLINE_") for name in environment) or not _has_home():
        wanted |= DOWNLOADS
    wanted = {name: folder for name, folder in wanted.items() if name not in environment}
    if not wanted:
        return Caches({})
    remarks = []
    for root in _places(environment):
        try:
            _make_private(root)
        except OSError as error:
            remarks.append(f"{root} does not hold the session's caches: {error.strerror or error}")
        else:
            return Caches(_below(root, wanted), "", remarks)
    temporary = tempfile.mkdtemp(prefix="vllm-batch-", dir=FALLBACK)
    remarks.append(f"they are in {temporary}, for this session alone")
    return Caches(_below(Path(temporary), wanted), temporary, remarks)


def _has_home() -> bool:
    home = user.find_home()
    return home is not None and os.access(home, os.W_OK)


def remove_caches(temporary: str) -> None:
    """Remove the caches of one session; "" when they are kept."""
    if temporary:
        shutil.rmtree(temporary, ignore_errors=True)


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield where the caches may be, the best first."""
    name = f"vllm-batch-{os.getuid()}"
    if mount := environment.get("DEADLINE_PERSISTENT_MOUNT"):
        yield Path(mount) / name
    yield FALLBACK / name


def _make_private(root: Path) -> None:
    """Make a folder that this user alone uses, or see that it is one. Raises OSError."""
    root.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    found = root.lstat()
    with tempfile.TemporaryFile(dir=root) as probe:
        own = os.fstat(probe.fileno()).st_uid  # of this user, as the file system sees it
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != own:
        raise PermissionError(0, "it is another user's")
    if found.st_mode & _OTHERS_WRITE:
        raise PermissionError(0, "other users can write in it")
    if found.st_mode & _OTHERS:
        root.chmod(stat.S_IRWXU)


def _below(root: Path, wanted: Mapping[str, str]) -> dict[str, str]:
    return {name: str(root / folder) for name, folder in wanted.items()}
