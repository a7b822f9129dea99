"""On what terms a job asks: all that its questions are made of but the rows, to make them again years later.

The parameters that ask, their files by what these hold, and which server was asked. Shards carry them in their header;
they hold no secret. Jobs on the same terms ask the same of the same line.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dialects.line import RawLine, ask_row, read_line
from dialects.question import Question, name_question
from engine.facts import Served
from host import transfer
from job.defaults import Defaults, make_defaults, read_asked
from job.options import BUDGET_NAMES
from job.parameters import BY_NAME, FILES, TABLE
from rows.row import is_blank

OTHERS = ("ServerUrl", "VllmArgs", "MaxModelLen")  # parameters that ask nothing, and on which answers depend
NAMES = (*(each.name for each in TABLE if each.asks), *OTHERS)


@dataclass(frozen=True)
class Terms:
    """`asked` are the parameters that ask, files by their texts. `server` tells servers apart that answer otherwise.

    `room` is MaxModelLen, which counts where it bounds the answers' length.
    """

    asked: Mapping[str, Any]
    server: str
    room: int

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the terms of a job's parameters. Raises JobError for a file that cannot be read."""
        address = transfer.shown(values["ServerUrl"]).rstrip("/").removesuffix("/v1") if values["ServerUrl"] else ""
        server = json.dumps([address, values["ModelName"], " ".join(values["VllmArgs"].split())])
        return cls(read_asked(values), server, values["MaxModelLen"])

    @functools.cached_property
    def defaults(self) -> Defaults:
        """Return what the parameters give each row. Raises JobError."""
        return make_defaults(self.asked, {})

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a short name: jobs with the same one ask the same of the same line, whatever field gets the answer."""
        asked = {name: value for name, value in self.asked.items() if name != "OutputField"}
        asked["SystemPrompt"] = asked.pop("SystemPromptFile") or asked["SystemPrompt"]
        budgets = [self.defaults.options[name] for name in BUDGET_NAMES if name in self.defaults.options]
        lent = min(self.room, max(budgets, default=self.room))
        whole = json.dumps([asked, self.server, lent], sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()[:16]

    def find_question(self, line: RawLine, served: Served) -> Question | None:
        """Return what a line asks of a server, or None for one that is not asked."""
        if is_blank(line.raw):
            return None
        try:
            row = read_line(line)
            ask = ask_row(row.row, row.dialect, self.defaults, served)
            return name_question(row.dialect.NAME, ask, self.server)
        except Exception:  # noqa: BLE001 - a line that cannot be asked, and what nobody thought of, are no question
            return None

    def as_json(self) -> dict[str, Any]:
        """Return the terms as a shard's header has them."""
        return {"parameters": dict(self.asked), "server": self.server, "room": self.room}

    @classmethod
    def from_json(cls, value: Any) -> Self | None:
        """Return the terms of a shard's header, or None where it has none that can be read."""
        told = value.get("parameters") if isinstance(value, dict) else None
        if not isinstance(told, dict) or type(value.get("server")) is not str or type(value.get("room")) is not int:
            return None
        asked = {}
        for each in (BY_NAME[name] for name in NAMES if name not in OTHERS):
            found = told.get(each.name, None if each.name in FILES else each.default)
            if not (each.holds(found) or (each.name in FILES and found is None)):
                return None
            asked[each.name] = found
        return cls(asked, value["server"], value["room"])
