"""Which engines a task may use when it begins: those that load, answer or died, and none that does not start."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from engine.facts import Served
from engine.note import Engine, Load, Note, ServerGone, Settings, State, write_note
from engine.watch import Watch

SETTINGS = Settings("m", 4096, 0.9, 0, "", 60.0)
LOG = "the end of its log\nThe vLLM server ended while it was starting"


def join(folder: Path, *engines: Engine, number: int = 0) -> Watch:
    """Return the watch of an engine of a session with these, once a task has joined it."""
    note = Note(SETTINGS, engines)
    write_note(note, folder)
    watch = Watch(folder, note, "key", number)
    asyncio.run(watch.join())
    return watch


def engine(number: int, state: State, *, served: bool = True) -> Engine:
    facts = Served("m") if served else None
    return Engine(number, state=state, generation=1, loads=(Load(f"load-{number}"),), served=facts, message=LOG)


@pytest.mark.parametrize("state", [State.READY, State.DOWN])
def test_an_engine_that_was_ready_is_used_and_its_load_counted(tmp_path: Path, state: State) -> None:
    watch = join(tmp_path, engine(0, State.READY), engine(1, state), number=1)
    assert watch.loads == [Load("load-1")]


@pytest.mark.parametrize("served", [False, True], ids=["never started", "not again"])
def test_one_of_several_that_does_not_start_is_left_alone(tmp_path: Path, served: bool) -> None:
    with pytest.raises(ServerGone) as gone:
        join(tmp_path, engine(0, State.READY), engine(1, State.FAILED, served=served), number=1)
    assert str(gone.value) == "copy 2 of 2: The vLLM server ended while it was starting"


def test_the_only_engine_is_tried_again_by_each_task(tmp_path: Path) -> None:
    assert join(tmp_path, engine(0, State.FAILED)).loads == [Load("load-0")]


def test_an_engine_that_loads_while_nobody_owns_it_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(ServerGone, match="copy 2 of 2"):
        join(tmp_path, engine(0, State.READY), engine(1, State.STARTING, served=False), number=1)
