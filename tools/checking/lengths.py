"""Values that the service does not take, because they are too long: told before anything is uploaded, with the way out.

Source: the Open Job Description specification: the value of a STRING or PATH parameter has at most LIMIT characters.
"""

from __future__ import annotations

from collections.abc import Mapping

import bundle  # noqa: F401  (puts scripts/ on the path)
from job.parameters import BY_NAME, JobError
from rows.ranges import EXPRESSION_LIMIT as LIMIT


def refuse_long(parameters: Mapping[str, str]) -> None:
    """Raise JobError for the first value that is longer than the service takes."""
    for name, text in parameters.items():
        if len(text) > LIMIT and BY_NAME[name].type is str:
            way = BY_NAME[name].shorter
            raise JobError(
                f"{name} has {len(text):,} characters, more than the {LIMIT:,} that the service takes: {way}"
            )
