"""Finding items by the beginnings of their digests, among a million of them, in a dozen bytes each."""

from __future__ import annotations

import array
from collections.abc import Iterable

from results.record import NO_KEY

_LEAST_BITS = 4  # of the number of slots


class Lookup:
    """A hash table over `keys`, which are digests already: item n has the key `keys[n]`. Several may have one key."""

    def __init__(self, keys: array.array[int], items: Iterable[int]) -> None:
        self._keys = keys
        bits = max(_LEAST_BITS, len(keys).bit_length() + 1)  # at most half of the slots are taken
        self._slots = array.array("I", bytes(4 << bits))  # an item's number and 1; 0 is empty
        self._mask = (1 << bits) - 1
        self._next = array.array("I", bytes(4 * len(keys)))  # the item before it with the same key, and 1
        for item in items:
            if keys[item] != NO_KEY:
                slot = self._find_slot(keys[item])
                self._next[item] = self._slots[slot]
                self._slots[slot] = item + 1

    def _find_slot(self, key: int) -> int:
        slots, keys, mask = self._slots, self._keys, self._mask
        slot = key & mask
        while (taken := slots[slot]) and keys[taken - 1] != key:
            slot = (slot + 1) & mask
        return slot

    def first(self, key: int) -> int | None:
        """Return the item with a key that `find` gives first, or None where there is none."""
        item = self._slots[self._find_slot(key)] if key != NO_KEY else 0
        return item - 1 if item else None

    def find(self, key: int) -> list[int]:
        """Return the items with a key."""
        found = []
        item = self.first(key)
        while item is not None:
            found.append(item)
            item = self._next[item] - 1 if self._next[item] else None
        return found
