"""A user without a name or a home, and a temporary folder that sockets and programs cannot use."""

from __future__ import annotations

import os
import pwd
import tempfile
from pathlib import Path

import pytest

from host import user


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "USER", "LOGNAME"):
        monkeypatch.delenv(name, raising=False)


def test_a_user_whom_nobody_knows_gets_a_name_and_a_home(nobody: None) -> None:
    assert user.find_home() is None
    assert user.name_missing(os.environ, Path("/x")) == {"USER": "vllm", "LOGNAME": "vllm", "HOME": "/x"}


def test_what_the_environment_says_of_the_user_stays(nobody: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("USER", "ann")
    assert user.find_home() == Path("/home/ann")
    assert user.name_missing(os.environ, Path("/x")) == {"LOGNAME": "vllm"}


def test_a_user_who_is_known_is_left_alone() -> None:
    assert user.name_missing({}, Path("/x")) == {}


@pytest.mark.parametrize("name", ["a" * user.SOCKET_BYTES, "no-exec", "missing"])
def test_a_temporary_folder_that_does_not_serve_gives_way(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / name
    if name != "missing":
        folder.mkdir()
    real = os.statvfs

    def mounted(path: str) -> object:
        found = real(path)
        return (
            os.statvfs_result([*found[:8], found.f_flag | os.ST_NOEXEC, found.f_namemax])
            if path == str(folder)
            else found
        )

    monkeypatch.setattr(os, "statvfs", mounted)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert user.find_temporary() == "/tmp"


def test_a_temporary_folder_that_serves_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    assert user.find_temporary() == "/var/tmp"
