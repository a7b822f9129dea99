"""The bundle's own check of a batch's lines, before anything is submitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from batches.faces import Place
from checking import inspection

SHOWN = 20  # lines that are told of one kind


def check_lines(place: Place, parameters: Mapping[str, str]) -> tuple[list[dict[str, Any]], str]:
    """Return what the worker would say of lines, and why none could be answered, "" where some can."""
    asked = {**parameters, "InputFile": str(place.input), "OutputDir": str(place.folder), "Prompts": "all"}
    try:
        found = inspection.check(asked, keep=SHOWN)
    except inspection.UNUSABLE as error:
        return [], str(error)
    problems = sorted((each for some in found.census.examples.values() for each in some), key=lambda each: each.line)
    errors = [{"code": p.code, "message": p.message, "param": None, "line": p.line} for p in problems]
    return errors, "no line of the input can be answered" if found.census.hopeless else ""
