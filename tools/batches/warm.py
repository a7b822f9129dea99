"""The engine that is loaded, for calls whose clients wait: the one that jobs use, held for as long as a call lasts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from batches.backend import Keeper, Kept
from batches.live import Engine, Live
from batches.models import Model
from engine.given import find_given
from engine.key import read_key
from engine.note import load_note
from engine.server_url import parse_url
from job import parameters
from job.parameters import BY_NAME


class Warm:
    """Gives what asks a model's engine at once. `engines` are those of the local jobs."""

    def __init__(self, engines: Keeper) -> None:
        self._engines = engines
        self._lives: dict[tuple[str, str, str], Live] = {}  # by model, address and key
        self._looking = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def use(self, model: Model) -> AsyncIterator[Live]:
        """Give the engine of a model, loaded if it must be; it stays while the block runs.

        Raises BackendError and ServerError.
        """
        holding = self._engines.use(model.parameters)
        kept = await asyncio.to_thread(holding.__enter__)
        try:
            yield await self._find(model, kept)
        finally:
            await asyncio.to_thread(holding.__exit__, None, None, None)

    async def close(self) -> None:
        """Close all connections."""
        for live in self._lives.values():
            await live.__aexit__()

    async def _find(self, model: Model, kept: Kept) -> Live:
        address = kept.address if kept.folder else None
        key = (model.name, *((address.url, address.key) if address else (model.parameters["ServerUrl"], "")))
        async with self._looking:
            if key not in self._lives:
                engine = await asyncio.to_thread(_look, kept, read_all(model.parameters))
                self._lives[key] = Live(engine)
        return self._lives[key]


def _look(kept: Kept, values: Mapping[str, Any]) -> Engine:
    """Return the engine that jobs use, or the given server. Raises ServerError."""
    if kept.folder and (address := kept.address):
        return Engine(address.url, address.key, load_note(kept.folder).served, values)
    address, served = find_given(parse_url(values["ServerUrl"]), read_key(), values["ModelName"])
    return Engine(address.url, address.key, served, values)


def read_all(given: Mapping[str, str]) -> dict[str, Any]:
    """Return every parameter of a job, read. Raises JobError."""
    return {**parameters.defaults(), **{name: BY_NAME[name].read(text) for name, text in given.items()}}
