"""Which answer is most rows' answer: exact for as many different ones as are counted, else a lower bound.

Memory is bounded whatever the number of rows: an answer of a thousandth of the rows is found (Misra and Gries).
"""

from __future__ import annotations

MOST = 1_000  # different answers that are counted at once


class Repeats:
    """Counts equal answers."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}  # of an answer: rows, and the first line

    def add(self, answer: str, line: int) -> None:
        """Count the answer of a line."""
        known = self._counts.get(answer)
        if known:
            known[0] += 1
        elif len(self._counts) < MOST:
            self._counts[answer] = [1, line]
        else:
            self._counts = {each: [rows - 1, first] for each, (rows, first) in self._counts.items() if rows > 1}

    def find_commonest(self) -> dict[str, int] | None:
        """Return how many rows have the commonest answer, and the first line of them; None where no two are equal."""
        rows, line = max(self._counts.values(), default=[0, 0], key=lambda counted: (counted[0], -counted[1]))
        return {"rows": rows, "line": line} if rows > 1 else None
