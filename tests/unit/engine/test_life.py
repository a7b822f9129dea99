"""The life of an engine: what makes its start pass a second time, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import life
from engine.facts import Served
from engine.launch import HubBusy, PortTaken
from engine.life import Life, Plan
from engine.note import Engine, ServerError, Settings, State

BUSY, TAKEN, BROKEN = HubBusy("429 Client Error"), PortTaken("the port is taken"), ServerError("it is broken")


def load(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *ends: ServerError, pause: float = 0.0, patience: float = 60.0
) -> tuple[State, int]:
    """Load an engine whose launches end so, and then well; return how it is, and how often it was launched."""
    launches, waiting = 0, iter(ends)

    def start(*_: object, **__: object) -> None:
        nonlocal launches
        launches += 1

    def wait(_: Life) -> Served:
        if (error := next(waiting, None)) is not None:
            raise error
        return Served("m")

    monkeypatch.setattr(life, "HUB_PAUSES", (pause,) * 3)
    monkeypatch.setattr(Life, "_start", start)
    monkeypatch.setattr(Life, "_await", wait)
    one = Life(Engine(), Plan(Settings("m", 4096, 0.9, 0, "", patience), folder, ""), lambda _: None)
    one._load()
    return one.engine.state, launches


def test_a_busy_hub_is_asked_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert load(monkeypatch, tmp_path, BUSY, TAKEN, BUSY, TAKEN, BUSY) == (State.READY, 6)


def test_a_hub_that_stays_busy_fails_the_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert load(monkeypatch, tmp_path, *[BUSY] * 4) == (State.FAILED, 4)


def test_no_longer_than_the_server_may_take_to_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert load(monkeypatch, tmp_path, BUSY, pause=3600.0) == (State.FAILED, 1)


def test_what_does_not_pass_is_not_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert load(monkeypatch, tmp_path, BROKEN) == (State.FAILED, 1)
    assert load(monkeypatch, tmp_path, *[TAKEN] * 3) == (State.FAILED, 3)
