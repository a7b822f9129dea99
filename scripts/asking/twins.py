"""Rows of a chunk that ask one question whose answer must be the same: one is asked, the others take its outcome.

Answers are kept for rows that come later, as far as some memory goes; past it a row is asked itself.
"""

from __future__ import annotations

from collections import OrderedDict

from asking.pending import Pending
from dialects.exchange import Answer, Failure

KEPT_BYTES = 32 << 20  # of answers


class Twins:
    """The questions that are asked now, and the answers that may be asked for again."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Pending]] = {}  # by the question that is asked
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._size = 0

    def find_answer(self, pending: Pending) -> Answer | None:
        """Return the answer that another row was given to the same question."""
        return self._answers.get(pending.question.name)

    def must_wait(self, pending: Pending) -> bool:
        """Tell whether a row waits for the outcome of another that is asked; else it is the one to be asked."""
        if not pending.question.repeats:
            return False
        if pending.question.name in self._waiting:
            self._waiting[pending.question.name].append(pending)
            return True
        self._waiting[pending.question.name] = []
        return False

    def release(self, pending: Pending, outcome: Answer | Failure) -> list[Pending]:
        """Return the rows that waited for this row's outcome, which is theirs."""
        waiting = self._waiting.pop(pending.question.name, [])
        if pending.question.repeats and isinstance(outcome, Answer):
            self._answers[pending.question.name] = outcome
            self._size += len(outcome.text)
            while self._size > KEPT_BYTES:
                _, oldest = self._answers.popitem(last=False)
                self._size -= len(oldest.text)
        return waiting
