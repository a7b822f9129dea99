"""What one of a session's engines has shown so far, and so whether it is worth another load.

Kept in the session's folder, since a chunk learns from those before it. A load that brought an answer, or the proof
that a row is guilty, has helped; LOADS_LIMIT loads in a row that did not are the sign of a broken worker, and so are
GUILTY_LIMIT guilty rows in a row when no other row is answered then. For that a row that was answered once in this
session, the witness, is asked again, or where there is none a row of another chunk.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from dialects.exchange import Ask
from host import files

LOADS_LIMIT = 6  # loads in a row that help nothing, the session's first included; more would pay for a broken worker
GUILTY_LIMIT = 3  # rows in a row that seem to kill the engine until a witness is asked
WITNESS_LIMIT = 1 << 16  # bytes of a request that is kept as the witness


@dataclass(slots=True)
class Trust:
    """The engine's record. `idle` counts loads in a row that helped nothing, `guilty` rows in a row found guilty."""

    path: Path | None = None  # None: kept nowhere
    idle: int = 1
    guilty: int = 0
    witness: dict[str, str] | None = None
    is_broken: bool = False  # there was no witness, not even a row of another chunk

    @classmethod
    def load(cls, folder: Path, engine: int = 0) -> Trust:
        """Return what the session's earlier chunks learned of an engine."""
        path = folder / (f"trust-{engine}.json" if engine else "trust.json")
        try:
            value = json.loads(path.read_bytes())
        except FileNotFoundError:
            value = {}
        return cls(path, **value)

    @property
    def is_worth_a_load(self) -> bool:
        """Tell whether the engine may be loaded once more."""
        return self.idle < LOADS_LIMIT

    @property
    def is_doubtful(self) -> bool:
        """Tell whether it may be the engine, and not its rows, that is why it dies."""
        return self.guilty >= GUILTY_LIMIT

    def note_load(self) -> None:
        """Count a load."""
        self.idle += 1
        self._save()

    def note_guilty(self) -> None:
        """Count a row that was found guilty."""
        self.idle, self.guilty = 0, self.guilty + 1
        self._save()

    def note_broken(self) -> None:
        """Learn that there is no witness, not even a row of another chunk: the session's next chunk costs no load."""
        self.is_broken = True
        self._save()

    def note_answer(self, ask: Ask, encoded: bytes) -> None:
        """Learn that the engine answered."""
        learns = self.witness is None and len(encoded) <= WITNESS_LIMIT and not ask.file_url
        if learns:
            self.witness = {"route": ask.route, "body": encoded.decode()}  # a text, however deeply the body is nested
        if learns or self.idle or self.guilty:
            self.idle = self.guilty = 0
            self._save()

    def get_witness(self) -> Ask | None:
        """Return the request of a row that was answered, or None where there is none."""
        return Ask(self.witness["route"], json.loads(self.witness["body"])) if self.witness else None

    def _save(self) -> None:
        if self.path is not None:
            names = ("idle", "guilty", "witness", "is_broken")
            value = {name: getattr(self, name) for name in names}
            files.write_whole(self.path, json.dumps(value).encode(), mode=0o600)
