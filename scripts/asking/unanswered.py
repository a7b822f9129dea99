"""An attempt that brought no answer."""

from __future__ import annotations

from dialects.exchange import Failure


class Unanswered(Exception):
    """An attempt without an answer. `passing` tells whether another may succeed, `after` the seconds to wait first.

    `lost` tells that the connection failed, so that the server itself may be gone; `unsent` that there never was one,
    so that the server did not see the request.
    """

    def __init__(
        self,
        failure: Failure,
        *,
        passing: bool,
        after: float | None = None,
        lost: bool = False,
        unsent: bool = False,
    ) -> None:
        super().__init__(failure.message)
        self.failure, self.passing, self.after, self.lost, self.unsent = failure, passing, after, lost, unsent

    @property
    def doubtful(self) -> bool:
        """Tell whether the server itself may be gone."""
        return self.lost or (self.failure.status or 0) >= 500
