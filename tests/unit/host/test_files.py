"""A file appears with all of its content or not at all, whoever else writes it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from host import files


def write_half(path: Path) -> None:
    with files.open_whole(path) as file:
        file.write(b"half")
        raise OSError("the disk is full")


def test_a_file_shows_its_old_content_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with files.open_whole(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="full"):
        write_half(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_programs_of_one_process_id_write_one_file_at_once(tmp_path: Path) -> None:
    """Two hosts that share a folder may have programs with the same id."""
    path = tmp_path / "a.json"
    with files.open_whole(path) as first, files.open_whole(path) as second:
        first.write(b"first, and longer")
        second.write(b"second")
    assert path.read_bytes() == b"first, and longer"
    assert list(tmp_path.iterdir()) == [path]


def test_a_temporary_file_is_hidden(tmp_path: Path) -> None:
    with files.open_whole(tmp_path / "a.json"):
        assert all(path.name.startswith(".") for path in tmp_path.iterdir())


def test_a_private_file_is_never_open_to_others(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with files.open_whole(path, mode=0o600):
        (temporary,) = tmp_path.iterdir()
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
