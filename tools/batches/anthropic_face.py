"""Anthropic's Message Batches as batches of the bundle: which model answers, and what its clients get."""

from __future__ import annotations

from batches.anthropic_lines import KINDS, find_results, write_input, write_results
from batches.batch import Batch, State
from batches.faces import Delivered, Place, Prepared
from batches.models import Models

FACE = "anthropic"
_ENDINGS = {State.CANCELLED: "canceled", State.EXPIRED: "expired"}


class AnthropicFace:
    """What a batch's lines and results are. No batch of this API fails: each of its requests does."""

    name = FACE
    fails_whole = False

    def __init__(self, models: Models) -> None:
        self._models = models

    def prepare(self, batch: Batch, place: Place) -> Prepared:
        """Write the lines of the requests for the model that the first of them names, and refuse all others."""
        named = batch.spec["models"]
        model = next((found for found in map(self._models.find, named) if found), self._models.table[0])

        def refuse(name: str | None) -> str:
            found = self._models.find(name)
            if found is None:
                return f"model: {name}"
            return "" if found == model else f"model: {name}; the requests of one batch are for one model, {model.name}"

        refused = write_input(place, refuse)
        total = int(batch.spec["total"])
        return Prepared(model.name, total - refused, refused, parameters={"ModelInRows": "ignore"})

    def deliver(self, batch: Batch, place: Place, end: State) -> Delivered:
        """Write the results."""
        counts = write_results(place, _ENDINGS.get(end, "errored"), batch.why)
        failed = counts.total() - counts["succeeded"]
        unasked = counts["canceled"] + counts["expired"]
        return Delivered(counts["succeeded"], failed, unasked, {kind: counts[kind] for kind in KINDS})

    def settle(self, batch: Batch) -> None:
        """Leave a batch that failed to whoever asks for its results."""


def ensure_results(batch: Batch, place: Place) -> None:
    """Write the results of a batch that failed before a job left any: each request is errored, and says why."""
    if not find_results(place).is_file():
        write_results(place, "errored", batch.why)
