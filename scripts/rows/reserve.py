"""A reserve copy of an input that was fetched from an address, for sessions that begin after the address has expired.

The first session that fetched the input leaves it where the job's other sessions find it, if the job asks for that. It
is read where InputUrl gives the input no more, and costs nothing where InputUrl does.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from host import attachments, s3, transfer
from rows import source
from rows.source import Source, SourceError

_NAME = "InputUrl"


def prepare(input_file: str, input_url: str, folder: Path, report: transfer.Report, *, keep: bool = False) -> Source:
    """Return the session's source as `source.prepare` does, by the reserve copy where InputUrl gives it no more.

    With `keep` a copy is left. Raises SourceError and transfer.TransferError.
    """
    name = "" if input_file or s3.is_s3(input_url) else source.name_of(input_url)
    place = attachments.find_place(os.environ)
    if not (name and place):
        return source.prepare(input_file, input_url, folder, report)
    reserve = f"{place}input/{name}"
    try:
        found = source.prepare(input_file, input_url, folder, report)
    except (SourceError, transfer.TransferError) as error:
        if not _exists(reserve):
            raise
        report(f"{error}; the copy that an earlier session kept is read")
        return source.prepare("", reserve, folder, report)
    if keep and not _exists(reserve):
        try:
            s3.upload(Path(found.path), reserve, _NAME)
        except transfer.TransferError as error:
            report(f"no copy of the input is kept: {error}")
    return found


def _exists(url: str) -> bool:
    with contextlib.suppress(transfer.TransferError):
        return url in s3.find(url, _NAME)
    return False
