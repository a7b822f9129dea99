"""Columns that have an option's name and look like a user's own data: the signs by which checks and pages tell them.

The worker takes such a column for an option all the same, unless the job says that columns are data (OptionsInRows).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from job.options import OPTIONS, check_options
from rows.errors import RowError


@dataclass(frozen=True, slots=True)
class Sign:
    """What a value looks like that is data.

    A number `above` one, a text of at most so many `words` that is no sentence, or one of `several` words.
    """

    above: int | None = None
    words: int = 0
    several: bool = False

    def fits(self, value: Any) -> bool:
        """Tell whether a value looks like data."""
        if isinstance(value, int | float):
            return self.above is not None and value > self.above
        if not isinstance(value, str):
            return False
        if self.words:
            return len(value.split()) <= self.words and not value.rstrip().endswith(SENTENCE_ENDS)
        return self.several and value[:1].isalnum() and " " in value.strip()


SENTENCE_ENDS = (".", "!", "?", ":")
SIGNS = {
    "system": Sign(words=3),  # "Linux", and no instruction
    "n": Sign(above=16),  # a count of something else than answers
    "temperature": Sign(above=2),  # the weather's, or a patient's
    "stop": Sign(several=True),  # "Main St"
    "model": Sign(several=True),  # "Toyota Corolla"
}


def looks_like_data(name: str, value: Any) -> bool:
    """Tell whether a column with an option's name looks like a user's own data."""
    if sign := SIGNS.get(name):
        return sign.fits(value)
    option = OPTIONS.get(name)
    if not isinstance(value, str) or option is None or "chats" not in option.read_by:
        return False  # no row fails by an option that its endpoint does not read
    if any(kind.kind == "string" for kind in option.takes):
        return False
    try:
        check_options({name: value})
    except RowError:  # a text where none can be meant
        return True
    return False
