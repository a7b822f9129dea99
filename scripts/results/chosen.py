"""The result that counts for each line: where its record is, when it was answered, and how it came to the line.

Memory is thirty bytes a line.
"""

from __future__ import annotations

import array

NONE, FAILED, BLANK, UNPROVEN, SUCCEEDED = range(5)  # a better result never gives way to a worse one
RANKS = {"failed": FAILED, "blank": BLANK, "succeeded": SUCCEEDED}
AT_PLACE, BY_ROW, BY_QUESTION, SHARED = range(4)  # the line has its number, its text, its question; or another has it

Place = tuple[int, int, int]  # of a record: its shard, its offset there, its bytes


class Chosen:
    """The results, by line."""

    def __init__(self, lines: int) -> None:
        size = lines + 1
        self.shard = array.array("I", bytes(4 * size))
        self.offset = array.array("Q", bytes(8 * size))
        self.length = array.array("Q", bytes(8 * size))
        self.when = array.array("d", bytes(8 * size))  # seconds since 1970
        self.rank = bytearray(size)
        self.how = bytearray(size)

    def put(self, line: int, place: Place, rank: int, when: float, how: int = AT_PLACE) -> bool:
        """Give a line a result unless it has a better or a newer one; return whether it has this one now."""
        if (rank, when) < (self.rank[line], self.when[line]):
            return False
        self.rank[line], self.when[line], self.how[line] = rank, when, how
        self.shard[line], self.offset[line], self.length[line] = place
        return True

    def place(self, line: int) -> Place:
        """Return where a line's record is."""
        return self.shard[line], self.offset[line], self.length[line]
