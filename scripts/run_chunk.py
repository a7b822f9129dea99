"""Answer the lines of one chunk: the onRun of step Infer.

Reads the chunk's lines only, keeps up to MaxConcurrency requests in flight, appends each finished row to a partial file
at once, and leaves one shard. A row that fails is recorded and does not fail the chunk; the chunk fails when no server
can be had or its disk is full. After StopAt, when its model loads are spent, and when more than MaxFailedPercent of its
rows fail, it asks nothing more and ends with a whole shard all the same, since a farm keeps nothing of a task that
failed. On SIGTERM it sends nothing more and keeps what arrives within the notice period, or until a second SIGTERM; the
next attempt asks only for the rest.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import socket
import sys
import time
from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path

from asking import order
from asking.copies import Copies
from asking.link import LoadsSpent
from asking.notice import listen
from asking.pending import Pending, prepare
from asking.progress import Progress
from asking.strangers import Strangers
from asking.twins import Twins
from dialects.exchange import Answer, Failure
from dialects.line import RawLine, read_line
from engine.note import ServerError, ServerGone, load_note
from host import files, runner, transfer
from job import arguments, parameters
from job.moment import read_moment
from job.parameters import JobError
from results import shards
from results.engine_use import add_up
from results.kept import Keeper
from results.outcome import Sent, record_answer, record_blank, record_failure
from results.partial import Writer, find_leftovers
from results.record import Record, keep_input
from results.terms import Terms
from rows import ranges, source
from rows.errors import DEADLINE, SERVER_GONE, TOO_MANY_FAILURES
from rows.row import is_blank

COLLECTIONS = 100_000, 20, 100  # thousands of requests in flight are many objects that live, and few die in circles
EXPECTED = (ServerError, JobError, source.SourceError, transfer.TransferError, OSError)


class Canceled(Exception):
    """The host asked the chunk to end before it was done."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this program's arguments."""
    parser = argparse.ArgumentParser(description="Answer the lines of one chunk.")
    parser.add_argument("--values", required=True, help="the chunk's range values, as the host writes them")
    parser.add_argument("--session-dir", type=Path, required=True, help="the session's own folder")
    parser.add_argument("--output-dir", type=Path, required=True, help="OutputDir of the job")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Answer the chunk; return 0, 1 with the reason told to the host, or 143 when it was canceled."""
    options = build_parser().parse_args(argv)
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    try:
        asyncio.run(Chunk(options.values, options.session_dir, options.output_dir).run())
    except Canceled as error:
        runner.fail(str(error))
        return 143
    except EXPECTED as error:
        advice = "; give the disk more room, what was answered is kept" if getattr(error, "errno", 0) == 28 else ""
        runner.fail(f"{error}{advice}")
        return 1
    return 0


class Chunk:
    """One chunk on its way from lines to a shard."""

    def __init__(self, chunk: str, session: Path, output_dir: Path) -> None:
        self._session, self._note = session, load_note(session)
        self._served = self._note.served
        values = self._values = arguments.read_note(session)
        self._terms = Terms.of(values)
        self._defaults = self._terms.defaults
        self._source = source.prepare(values["InputFile"], "", session, runner.say)
        self._lines = ranges.of_values(chunk, values["BlockSize"])
        self._folder = output_dir / "output" / "results"
        requested = ranges.of_values(values["Prompts"], values["BlockSize"])
        strangers = Strangers(self._source, requested, self._lines, self._defaults, self._served)
        self._copies = Copies(session, self._note, values, strangers)
        self._has_told_model = False
        self._twins = Twins()
        self._progress = Progress(len(self._lines.up_to(self._source.lines)))
        self._unasked: Failure | None = None  # what becomes of the rows that are not asked any more

    async def run(self) -> None:
        """Ask every line that no interrupted attempt answered, and finish the shard."""
        header, self._fleet = self._header(), self._copies.make_fleet(self._settle)
        files.make_folder(self._folder)
        keeper = Keeper(self._values["KeepRowsSeconds"], header)
        keeper.fetch(self._folder)
        kept, leftovers = find_leftovers(self._folder, header)
        with Writer(self._folder, header) as self._writer:
            for record in kept.values():
                self._add(record)
            for path in leftovers:
                path.unlink(missing_ok=True)
            if kept:
                runner.say(f"{len(kept)} lines were settled by an interrupted attempt and are kept")
            async with keeper.copying(self._writer.path):
                await self._ask(kept.keys())
                self._progress.show(at_once=True)
                done, rows = self._progress.done, self._progress.rows
                if done < rows:
                    raise Canceled(f"ended with {done} of {rows} rows done; they are kept")
                path = self._writer.finish(self._copies.loads, add_up(await self._copies.measure_use()))
        keeper.discard()
        runner.say(f"{path.name}: {self._progress.done} rows, {self._progress.failed} failed")
        self._say_past_end()

    async def _ask(self, answered: Container[int]) -> None:
        """Ask the lines that have no answer yet; those that cannot be asked any more are recorded as such."""
        canceled = listen(self._fleet.stop)
        self._stop_in_time()
        showing = asyncio.create_task(self._progress.keep_showing())
        try:
            await self._fleet.run(self._pending(answered))
        except LoadsSpent as error:
            self._give_up(Failure(SERVER_GONE, str(error)))
        except (asyncio.CancelledError, ServerGone):  # the notice ran out, or there is no server to wait for
            if not (canceled.is_set() or self._unasked):
                raise
        finally:
            showing.cancel()
        if self._unasked and not canceled.is_set():
            for pending in self._fleet.rest():
                self._settle(pending, replace(self._unasked, attempts=pending.attempts))

    def _stop_in_time(self) -> None:
        """Ask nothing more after StopAt."""
        if stop_at := self._values["StopAt"]:
            why = Failure(DEADLINE, f"StopAt {stop_at} has passed")
            left = read_moment(stop_at) - time.time()
            if left > 0:
                asyncio.get_running_loop().call_later(left, self._give_up, why)
            else:
                self._give_up(why)

    def _give_up(self, why: Failure) -> None:
        """Ask nothing more; what is in flight may still end."""
        if self._unasked is None:
            runner.say(f"{why.message}: no further row is asked")
            self._unasked = replace(why, message=f"{why.message}; this row was not asked to its end")
            self._fleet.stop()

    def _header(self) -> shards.Header:
        values, found = self._values, self._source
        farm_job = os.environ.get("DEADLINE_JOB_ID", "")
        lines = (found.sha256, values["Prompts"], str(values["BlockSize"]))
        asked = (self._terms.fingerprint, values["OutputField"], str(values["MaxModelLen"]), *lines)
        return shards.Header(
            input_sha256=found.sha256,
            input_name=found.name,
            input_lines=found.lines,
            lines=str(self._lines),
            prompts=values["Prompts"],
            block_size=values["BlockSize"],
            model=self._served.model,
            job=shards.job_key(farm_job, *asked),
            worker=os.environ.get("DEADLINE_WORKER_ID") or socket.gethostname(),
            created=time.time(),
            parameters=parameters.record(values),
            terms=self._terms,
            served=self._served,
            placement=self._note.why,
            entered=self._note.entered,
        )

    def _pending(self, answered: Container[int]) -> Iterator[Pending]:
        """Return what is to be asked, lazily and in the order in which it is asked."""
        missing = (RawLine(*numbered) for numbered in self._source.read(self._lines) if numbered[0] not in answered)
        asks = (pending for pending in map(self._prepare, missing) if pending)
        return order.arrange(asks)

    def _prepare(self, line: RawLine) -> Pending | None:
        """Return a line's request; a blank line and one that cannot be asked are recorded here."""
        if is_blank(line.raw):
            self._add(record_blank(line.number))
            return None
        try:
            line = read_line(line)
            pending = prepare(line, self._defaults, self._served, self._terms.server)
        except Exception as error:  # noqa: BLE001 - what nobody thought of may cost this row, not the others
            self._add(record_failure(line, Failure.of(error), self._defaults), line.raw)
            return None
        if pending.ask.replaced and not self._has_told_model:
            self._has_told_model = True
            named = runner.printable(pending.ask.replaced, 100)
            runner.say(f"rows name another model ({named}): {self._served.model} answers for it (ModelInRows)")
        if answer := self._twins.find_answer(pending):
            self._record(pending, answer, shared=True)
            return None
        return None if self._twins.must_wait(pending) else pending

    def _settle(self, pending: Pending, outcome: Answer | Failure) -> None:
        """Record what became of a row, and of those that wait for its answer."""
        self._record(pending, outcome)
        for twin in self._twins.release(pending, outcome):
            self._record(twin, outcome, shared=True)

    def _record(self, pending: Pending, outcome: Answer | Failure, *, shared: bool = False) -> None:
        seconds = time.monotonic() - pending.begun if pending.started else 0.0
        sent = Sent(pending.ask, pending.question, pending.attempts, pending.started, seconds, shared)
        if isinstance(outcome, Answer):
            record = record_answer(pending.line, sent, outcome, self._defaults)
        else:
            record = record_failure(pending.line, outcome, self._defaults, sent)
        self._add(record, pending.line.raw)

    def _add(self, record: Record, raw: bytes = b"") -> None:
        if raw and record.head["status"] == "failed" and not self._values["InputFile"]:
            record = keep_input(record, raw)  # an InputUrl may have expired when the job is merged
        self._writer.add(record)
        self._progress.add(record.head)
        self._progress.show()
        limit = self._values["MaxFailedPercent"]
        if self._unasked is None and limit < 100 and self._progress.failed * 100 > limit * self._progress.rows:
            runner.say(f"the last failure: {runner.printable(record.output.decode('utf-8', 'replace'), 600)}")
            share = f"{self._progress.failed} of the chunk's {self._progress.rows} rows failed"
            self._give_up(Failure(TOO_MANY_FAILURES, f"{share}, more than MaxFailedPercent ({limit:g}) allows"))

    def _say_past_end(self) -> None:
        past = len(self._lines) - self._progress.rows
        if past:
            runner.say(f"{past} lines of this chunk are past the end of the input ({self._source.lines:,} lines)")


if __name__ == "__main__":
    sys.exit(runner.run(main))
