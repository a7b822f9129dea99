"""Caches hold code that is run: they are kept where nobody else can write."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import caches
from engine.caches import COMPILED, DOWNLOADS, choose_caches

NAME = f"vllm-batch-{os.getuid()}"
FARM = {"DEADLINE_JOB_ID": "job-1"}


@pytest.fixture
def fallback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in /var/tmp's place."""
    folder = tmp_path / "var"
    folder.mkdir()
    monkeypatch.setattr(caches, "FALLBACK", folder)
    return folder


def test_all_caches_are_in_one_private_folder(fallback: Path) -> None:
    chosen = choose_caches(FARM)
    root = fallback / NAME
    assert chosen.variables == {name: str(root / folder) for name, folder in {**COMPILED, **DOWNLOADS}.items()}
    assert (root.stat().st_mode & 0o777, chosen.temporary, chosen.remarks) == (0o700, "", [])
    root.chmod(0o755)  # as earlier versions made it
    assert choose_caches(FARM).variables == chosen.variables
    assert root.stat().st_mode & 0o777 == 0o700


def test_a_persistent_volume_comes_first(fallback: Path, tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    mount.mkdir()
    found = choose_caches({"DEADLINE_PERSISTENT_MOUNT": str(mount)}).variables
    assert {Path(path).parent for path in found.values()} == {mount / NAME}


def test_a_volume_that_cannot_be_written_is_said_and_not_used(fallback: Path, tmp_path: Path) -> None:
    chosen = choose_caches({"DEADLINE_PERSISTENT_MOUNT": str(tmp_path / "missing")})
    assert {Path(path).parent for path in chosen.variables.values()} == {fallback / NAME}
    assert chosen.remarks == [
        f"{tmp_path / 'missing' / NAME} does not hold the session's caches: No such file or directory"
    ]


def give_away(root: Path) -> None:
    root.mkdir()
    os.chown(root, 12345, 12345)


def open_to_all(root: Path) -> None:
    root.mkdir()
    root.chmod(0o777)


def lead_elsewhere(root: Path) -> None:
    (root.parent / "theirs").mkdir()
    root.symlink_to(root.parent / "theirs")


PLANTED = {"another user's": give_away, "open to all": open_to_all, "a link": lead_elsewhere, "a file": Path.touch}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED.keys())
def test_a_folder_that_others_can_write_in_is_not_used(plant: Callable[[Path], None], fallback: Path) -> None:
    try:
        plant(fallback / NAME)
    except PermissionError:
        shutil.rmtree(fallback / NAME)
        open_to_all(fallback / NAME)  # only root can give a folder away
    chosen = choose_caches(FARM)
    assert {Path(path).parent for path in chosen.variables.values()} == {Path(chosen.temporary)}
    assert Path(chosen.temporary).stat().st_mode & 0o777 == 0o700
    assert str(fallback / NAME) in chosen.remarks[0]
    assert chosen.temporary in chosen.remarks[1]


def test_on_a_person_s_own_machine_downloads_stay_where_they_are(
    fallback: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert choose_caches({}).variables.keys() == COMPILED.keys()


def test_what_the_environment_names_stays(fallback: Path) -> None:
    assert choose_caches({**FARM, "HF_HOME": "/mine"}).variables.keys() == COMPILED.keys()
    assert choose_caches({**FARM, **dict.fromkeys({**COMPILED, **DOWNLOADS}, "/mine")}).variables == {}
    assert list(fallback.iterdir()) == [fallback / NAME]
