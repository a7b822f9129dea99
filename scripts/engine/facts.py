"""What a running server says of itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Served:
    """What the server answers: the model's name, its routes, and whether it has a chat template.

    `routes` are of `routes.ANY_ROUTE`, or empty where the server does not tell; `tokens` is the longest context, or
    None; `names` are those of all its models, empty where they are not known, and `alone` says that there is one.
    `limit` is the name by which its chats read the limit of new tokens, and `system` tells whether a chat may begin
    with a system message.
    """

    model: str
    routes: frozenset[str] = frozenset()
    chat: bool = True
    tokens: int | None = None
    names: frozenset[str] = frozenset()
    alone: bool = False
    limit: str = "max_tokens"
    system: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return the facts as JSON says them, for a note."""
        return {name: sorted(each) if isinstance(each, frozenset) else each for name, each in asdict(self).items()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Return the facts that a note has, by this version or another. Raises TypeError for what has none."""
        known: dict[str, Any] = {each.name: value[each.name] for each in fields(cls) if each.name in value}
        return cls(**known | {name: frozenset(each) for name, each in known.items() if isinstance(each, list)})

    def has(self, route: str) -> bool:
        """Tell whether the server answers `route`; a server that lists nothing is taken at its word when asked."""
        return not self.routes or route in self.routes
