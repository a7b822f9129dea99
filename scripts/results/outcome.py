"""What became of a line, as the record that its shard holds: an answer, a failure, or nothing to ask."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, replace
from typing import Any

from dialects.exchange import Answer, Ask, Failure
from dialects.line import RawLine, RowLine
from dialects.reply import read_counts, read_end
from job.defaults import Defaults
from results.record import Record
from rows.errors import RowError


@dataclass(frozen=True, slots=True)
class Sent:
    """How a row was asked: its request, its attempts, when the first began (seconds since 1970), and seconds in all."""

    ask: Ask
    attempts: int
    started: float
    seconds: float

    def as_head(self) -> dict[str, Any]:
        """Return what a record's head says of it; a row whose turn never came has no times."""
        if not self.started:
            return {"endpoint": self.ask.route}
        times = {"started": round(self.started, 3), "seconds": round(self.seconds, 3)}
        return {"endpoint": self.ask.route, **times}


def record_blank(number: int) -> Record:
    """Return the record of a line that holds nothing."""
    return Record({"line": number, "status": "blank"}, b"")


def record_answer(line: RowLine, sent: Sent, answer: Answer, defaults: Defaults) -> Record:
    """Return the record of an answered row; an answer that its dialect cannot use is a failure."""
    try:
        output = line.dialect.write_answer(line.row, sent.ask, answer, defaults).encode()
        head = {**_head(line, "succeeded"), "dialect": line.dialect.NAME, "attempts": sent.attempts}
        return Record({**head, **_usage(answer.body), **sent.as_head()}, output)
    except RowError as error:
        failure = Failure.of(error)
    except Exception as error:  # noqa: BLE001 - what nobody thought of may cost this row, not the others
        failure = replace(Failure.of(error), code="invalid_answer")  # the row was asked: it can only be the answer
    return record_failure(line, replace(failure, status=answer.status, attempts=sent.attempts), defaults, sent)


def record_failure(line: RawLine, failure: Failure, defaults: Defaults, sent: Sent | None = None) -> Record:
    """Return the record of a line without an answer; a line that is no row has an output line of its own."""
    head = {**_head(line, "failed"), "code": failure.code, "attempts": failure.attempts}
    times = sent.as_head() if sent else {}
    if isinstance(line, RowLine):
        with contextlib.suppress(Exception):  # a dialect that fails at this row, too, costs its form and nothing else
            output = line.dialect.write_failure(line.row, failure, defaults).encode()
            return Record({**head, "dialect": line.dialect.NAME, **times}, output)
    own = f'{{"line": {line.number}, "error": {failure.as_json()}}}'
    return Record({**head, "dialect": "none", **times}, own.encode())


def _head(line: RawLine, status: str) -> dict[str, Any]:
    """Return the beginning of a head; `row` is a short digest, by which a result can be traced to its row."""
    return {"line": line.number, "status": status, "row": hashlib.sha256(line.raw).hexdigest()[:16]}


def _usage(body: Any) -> dict[str, Any]:
    """Return how an answer ended and its tokens, where its endpoint tells them."""
    prompt, answer = read_counts(body)
    found = {"in": prompt, "out": answer, "finish": read_end(body)}
    return {name: value for name, value in found.items() if value is not None}
