"""Where the bundle lies. Importing this module puts the worker's rooms, scripts/, on the import path.

Every tool that uses the worker's own rules imports it first. What a tool prints never fails for its letters.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"

sys.dont_write_bytecode = True  # scripts/ travels with every job
for stream in (sys.stdout, sys.stderr):
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")  # of a locale that lacks a user's letters
if str(SCRIPTS) not in sys.path:
    sys.path.insert(0, str(SCRIPTS))
