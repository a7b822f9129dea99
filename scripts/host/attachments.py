"""Where a job may keep what its sessions need of each other: below the prefix of the queue's job attachments.

The worker agent tells a session the bucket and the prefix; the queue's role may read and write there, since the job's
files travel that way. Elsewhere there is no such place.
"""

from __future__ import annotations

from collections.abc import Mapping

from host.s3 import SCHEME

_FOLDER = "Kept"  # beside the folders that job attachments have there


def find_place(variables: Mapping[str, str]) -> str:
    """Return the address below which this job keeps things, with a / at its end; "" where a session knows none."""
    names = ("DEADLINE_JA_S3_BUCKET", "DEADLINE_JA_ROOT_PREFIX", "DEADLINE_JOB_ID")
    bucket, prefix, job = (variables.get(name, "") for name in names)
    folders = [part for part in (prefix.strip("/"), _FOLDER, job) if part]
    return f"{SCHEME}{bucket}/{'/'.join(folders)}/" if bucket and job else ""
