"""Results that belong to no line by their place: those of other files and other terms, and those that gave way.

Each is a few dozen bytes. Which lines they fit is `fit`'s to say.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from results.chosen import Place
from results.lookup import Lookup
from results.record import NO_KEY, Glance, read_key


class Spares:
    """The results, by number. `row` and `question` are keys; `same` tells that it was asked on the terms of the merge.

    `known` tells that its question is one that the input's lines ask, `used` that a line has it.
    """

    def __init__(self) -> None:
        self.shard, self.length = array.array("I"), array.array("I")
        self.offset, self.line = array.array("Q"), array.array("Q")
        self.row, self.question = array.array("Q"), array.array("Q")
        self.when = array.array("d")
        self.failed, self.same, self.known, self.used = bytearray(), bytearray(), bytearray(), bytearray()

    def __len__(self) -> int:
        return len(self.shard)

    def add(self, at: Place, when: float, found: Glance, *, same: bool, known: bool = False) -> None:
        """Add a result whose record is at a place."""
        shard, offset, length = at
        self.shard.append(shard)
        self.offset.append(offset)
        self.length.append(length)
        self.line.append(found.line)
        self.row.append(found.row)
        self.question.append(found.question)
        self.when.append(when)
        self.failed.append(found.status == "failed")
        self.same.append(same)
        self.used.append(False)
        self.known.append(known)

    def add_kept(self, at: Place, when: float, line: int) -> None:
        """Add an answer that gave way to a newer one of the same line; `complete` reads what it was to."""
        found = Glance(line, "succeeded", None, None, NO_KEY, NO_KEY, repeats=False)
        self.add(at, when, found, same=True, known=True)

    def complete(self, read_head: Callable[[Place], Mapping[str, Any]]) -> None:
        """Read what those were asked that gave way."""
        for number in range(len(self)):
            if self.known[number] and self.row[number] == self.question[number] == NO_KEY:
                head = read_head((self.shard[number], self.offset[number], self.length[number]))
                self.row[number], self.question[number] = read_key(head.get("row")), read_key(head.get("question"))

    def unused(self, *, failed: bool) -> Iterator[int]:
        """Yield the numbers of those that no line has."""
        return (n for n in range(len(self)) if not self.used[n] and bool(self.failed[n]) == failed)

    def by_line(self, items: Iterable[int]) -> Lookup:
        """Return them by the line that they were of."""
        return Lookup(self.line, items)

    def by_row(self, items: Iterable[int]) -> Lookup:
        """Return those on the same terms by their row."""
        return Lookup(self.row, (n for n in items if self.same[n]))

    def by_question(self, items: Iterable[int]) -> Lookup:
        """Return them by their question."""
        return Lookup(self.question, items)


class Dealer:
    """Deals the results of one lookup out: the newest first, and none twice, nor a copy of one."""

    def __init__(self, spares: Spares, lookup: Lookup) -> None:
        self._spares, self._lookup = spares, lookup
        self._left: dict[int, list[int]] = {}  # of keys that several have, the newest last

    def deal(self, key: int) -> int | None:
        """Return a result with this key that is dealt from now on, or None where none is left."""
        spares = self._spares
        left = self._left.get(key)
        if left is None:
            found = [n for n in self._lookup.find(key) if not spares.used[n]]
            if len(found) > 1:
                distinct = {
                    (spares.line[n], spares.when[n]): n for n in found
                }  # an attempt's record may be in two files
                for copy in set(found) - set(distinct.values()):
                    spares.used[copy] = True
                found = sorted(distinct.values(), key=spares.when.__getitem__)
                self._left[key] = found
            left = found
        while left:
            chosen = left.pop()
            if not spares.used[chosen]:
                spares.used[chosen] = True
                return chosen
        return None
