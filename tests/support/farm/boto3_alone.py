"""boto3 in a folder of its own, for the jobs' python: on a farm it has it from CondaPackages."""

from __future__ import annotations

import importlib
from pathlib import Path

NAMES = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six", "urllib3")


def link_boto3(folder: Path) -> Path:
    """Link this environment's boto3 and what it needs into a new folder; return the folder."""
    folder.mkdir()
    for name in NAMES:
        path = Path(str(importlib.import_module(name).__file__))
        found = path.parent if path.name == "__init__.py" else path
        (folder / found.name).symlink_to(found)
    return folder
