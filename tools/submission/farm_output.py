"""Where a job's output.jsonl lies on the farm: job attachments keep it in the queue's bucket, under its own digest.

Asks the `deadline` command, which reads the bucket by the queue's role. Fetches the lists of files, and no file.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import bundle  # noqa: F401  (puts scripts/ on the path)
from host.s3 import SCHEME
from job.parameters import TABLE
from submission.farm_job import FarmJobError, deadline

_PARAMETER = re.compile(r"^  (\w+):\n    (?:string|int|float|path): ([^|>\n].*)$", re.MULTILINE)
_NAME = re.compile(r"^  (\w+):$", re.MULTILINE)
_SETTING = r"^\s+{}: (\S+)$"
_OUTPUT = "/output/output.jsonl"
_DIGEST, _KIND = re.compile(r"[0-9a-f]{16,128}"), re.compile(r"[a-z0-9]+")  # of a file in job attachments, and its hash


class NotInBucket(Exception):
    """No other job could read the output where it lies; the message says why."""


def read_parameters(details: str) -> dict[str, str]:
    """Return a job's parameters from what `deadline job get` prints: defaults included, texts of several lines not."""
    named = set(_NAME.findall(details))
    defaults = {each.name: str(each.default) for each in TABLE if each.name not in named and each.default is not None}
    return {**defaults, **{name: _unquote(value) for name, value in _PARAMETER.findall(details)}}


def _unquote(value: str) -> str:
    """Return the text of a YAML scalar on one line."""
    if value.startswith("'"):
        return value[1:-1].replace("''", "'")
    if value.startswith('"'):
        with contextlib.suppress(ValueError):
            return str(json.loads(value))
    return value


def find_address(job_id: str, options: Sequence[str]) -> str:
    """Return the s3:// address of a job's output.jsonl. Raises NotInBucket."""
    try:
        queue = deadline("queue", "get", *options)
        with tempfile.TemporaryDirectory(prefix="vllm-batch-") as folder:
            deadline("manifest", "download", folder, "--job-id", job_id, "--asset-type", "output", *options)
            names = list(_find_outputs(Path(folder)))
    except FarmJobError as error:
        raise NotInBucket(f"deadline does not tell where it is ({str(error).splitlines()[-1]})") from None
    bucket, prefix = (re.search(_SETTING.format(name), queue, re.MULTILINE) for name in ("s3BucketName", "rootPrefix"))
    if not (bucket and prefix):
        raise NotInBucket("its queue has no bucket for job attachments")
    if len(names) != 1:
        raise NotInBucket("it left no output.jsonl of its own in the queue's bucket")
    return f"{SCHEME}{_unquote(bucket[1])}/{_unquote(prefix[1]).strip('/')}/Data/{names[0]}"


def _find_outputs(folder: Path) -> Iterator[str]:
    """Yield the names that output.jsonl has in the bucket, by the lists of the job's files in a folder."""
    for path in folder.iterdir():
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            kind, files = told["hashAlg"], {f"/{each['path']}": each["hash"] for each in told["paths"]}
        except (ValueError, KeyError, TypeError):
            raise NotInBucket("the list of its files cannot be read here") from None
        for name, digest in files.items():
            if name.endswith(_OUTPUT) and _DIGEST.fullmatch(str(digest)) and _KIND.fullmatch(str(kind)):
                yield f"{digest}.{kind}"
