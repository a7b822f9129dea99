"""What a running server says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Served:
    """What the server answers: the model's name, its routes, and whether it has a chat template.

    `routes` are of `routes.ANY_ROUTE`, or empty where the server does not tell; `tokens` is the longest context, or
    None; `names` are those of all its models, empty where they are not known, and `alone` says that there is one.
    """

    model: str
    routes: frozenset[str] = frozenset()
    chat: bool = True
    tokens: int | None = None
    names: frozenset[str] = frozenset()
    alone: bool = False

    def has(self, route: str) -> bool:
        """Tell whether the server answers `route`; a server that lists nothing is taken at its word when asked."""
        return not self.routes or route in self.routes
