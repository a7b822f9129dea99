"""docs/architecture.md shows the rooms as they are: their order, their modules, and files that exist."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

from support.documents import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SCRIPTS = ROOT / "scripts"
ROOMS = sorted(path.parent.name for path in SCRIPTS.glob("*/__init__.py"))


def section(room: str) -> str:
    """Return what the page says of a room."""
    return PAGE.partition(f"\n### {room}\n")[2].partition("\n#")[0]


def modules_of(folder: Path) -> set[str]:
    """Return the names of the modules in a folder."""
    return {path.name for path in folder.glob("*.py")} - {"__init__.py"}


def test_the_picture_is_the_contract() -> None:
    contract = configparser.ConfigParser()
    contract.read(ROOT / ".importlinter", encoding="utf-8")
    layers = contract["importlinter:contract:rooms"]["layers"].split("\n")[1:]
    programs, *rooms = PAGE.partition("\n```\n")[2].partition("\n```")[0].split("\n")
    assert rooms == layers
    assert {f"{name}.py" for name in programs.split(" | ")} == modules_of(SCRIPTS)


def test_every_room_is_in_the_picture_and_explained() -> None:
    assert re.findall(r"^### (\w+)$", PAGE, re.MULTILINE) == re.findall(r"\w+", " ".join(picture_of_rooms()))
    assert sorted(re.findall(r"\w+", " ".join(picture_of_rooms()))) == ROOMS


def picture_of_rooms() -> list[str]:
    """Return the picture's lines below the programs."""
    return PAGE.partition("\n```\n")[2].partition("\n```")[0].split("\n")[1:]


@pytest.mark.parametrize("room", ROOMS)
def test_the_modules_of_a_room_are_those_that_are_named(room: str) -> None:
    listed = section(room).partition("\n- ")[2]
    assert set(re.findall(r"`(\w+\.py)`", listed)) == modules_of(SCRIPTS / room)
