"""The loopback farm of the tests; `farm.py` says what in it is real and what stands in."""

from __future__ import annotations

from .agent import Agent, tool
from .farm import Farm, FarmError
from .jobs import Job
from .outcomes import Outcomes, Table
from .sessions import Action, Session

__all__ = ["Action", "Agent", "Farm", "FarmError", "Job", "Outcomes", "Session", "Table", "tool"]
