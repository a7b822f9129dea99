"""Rows of a running chunk kept in S3, for its next attempt on whichever worker.

A farm keeps nothing of a task that is interrupted. With KeepRowsSeconds the chunk's partial file is copied now and then
to the job attachments' bucket, in which the queue's role may write; the next attempt fetches the copies, and takes them
like what an attempt left in its own folder. Once the chunk has ended well they are discarded.

Copying costs no row and fails no chunk: what S3 refuses is said once. It takes a tenth of the time at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

from host import attachments, runner, s3
from host.transfer import TransferError
from results.partial import draw_path
from results.shards import NAME, Header, ShardError, name_when_whole, open_shard

NAME_OF_PARAMETER = "KeepRowsSeconds"
SHARE = 9  # as long as a copy took are the pauses between copies at least
LARGEST = 1 << 30  # bytes of one copy; a chunk with more than that keeps what was copied before
_NO_PLACE = "this worker's agent does not say where the job's attachments are: rows are kept on this worker alone"


class Keeper:
    """Keeps one chunk's rows; `seconds` is KeepRowsSeconds, and 0 keeps none."""

    def __init__(self, seconds: float, header: Header) -> None:
        self._seconds, self._header = seconds, header
        self._place = attachments.find_place(os.environ) if seconds else ""
        self._copies: list[str] = []  # the objects that hold rows of this chunk
        self._size = 0  # bytes of the last copy
        self._has_told = False
        if seconds and not self._place:
            self._tell(_NO_PLACE)

    def fetch(self, folder: Path) -> None:
        """Put what earlier attempts at the chunk kept into a folder, as partial files."""
        if not self._place:
            return
        first_and_last = name_when_whole(draw_path(folder, self._header)).split(".")[0]
        try:
            for url in s3.find(f"{self._place}{first_and_last}.", NAME_OF_PARAMETER):
                if NAME.fullmatch(url.removeprefix(self._place)):
                    self._copies.append(url)
                    self._fetch(url, draw_path(folder, self._header))
        except TransferError as error:
            self._tell(str(error))

    def _fetch(self, url: str, path: Path) -> None:
        """Fetch one copy, and drop one of rows that were asked otherwise."""
        s3.download(url, path, runner.say, NAME_OF_PARAMETER)
        with contextlib.suppress(ShardError):
            if open_shard(path).header.job == self._header.job:
                return
        path.unlink()

    @contextlib.asynccontextmanager
    async def copying(self, path: Path) -> AsyncIterator[None]:
        """Copy a partial file now and then while the block runs, and once more where it does not end well."""
        if not self._place:
            yield
            return
        ended = asyncio.Event()
        task = asyncio.create_task(self._keep_copying(path, ended))
        try:
            yield
        except BaseException:
            ended.set()
            await task
            await asyncio.to_thread(self._copy, path)
            raise
        ended.set()
        await task  # a copy that comes later than `discard` would stay

    async def _keep_copying(self, path: Path, ended: asyncio.Event) -> None:
        pause = self._seconds
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), pause)
            if not ended.is_set():
                begun = time.monotonic()
                await asyncio.to_thread(self._copy, path)
                pause = max(self._seconds, SHARE * (time.monotonic() - begun))

    def _copy(self, path: Path) -> None:
        """Copy the file if it has grown. A line at its end that is torn is dropped by who reads it."""
        url = self._place + name_when_whole(path)
        try:
            size = path.stat().st_size
            if self._size < size <= LARGEST:
                s3.upload(path, url, NAME_OF_PARAMETER)
                self._size = size
                self._copies += [] if url in self._copies else [url]
        except (TransferError, OSError) as error:
            self._tell(str(error))

    def discard(self) -> None:
        """Discard the copies of a chunk that has ended well."""
        for url in self._copies:
            try:
                s3.discard(url, NAME_OF_PARAMETER)
            except TransferError as error:
                self._tell(str(error))

    def _tell(self, why: str) -> None:
        if not self._has_told:
            self._has_told = True
            runner.say(f"{why if why.startswith(NAME_OF_PARAMETER) else f'{NAME_OF_PARAMETER}: {why}'}")
