"""What became of a line, as the record that its shard holds: an answer, a failure, or nothing to ask."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, replace
from typing import Any

from dialects.exchange import Answer, Ask, Failure
from dialects.line import RawLine, RowLine
from dialects.question import Question
from dialects.recognise import PROMPT
from dialects.reply import is_empty, is_refused, read_cached, read_counts, read_end, read_texts
from engine.routes import GENERATING
from job.defaults import Defaults
from results.record import Record, digest_row
from rows.errors import RowError
from rows.row import parse

SAYS = 12  # hexadecimal digits that tell answers apart, to count those that are equal


@dataclass(frozen=True, slots=True)
class Sent:
    """How a row was asked: its request, its attempts, when the first began (seconds since 1970), and seconds in all.

    `question` is what its request was at first. A row that is `shared` was not asked: it has another row's answer.
    """

    ask: Ask
    question: Question
    attempts: int
    started: float
    seconds: float
    shared: bool = False

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
        results = line.dialect.read_answer(sent.ask, answer, defaults)
        output = line.dialect.write(line.row, results, defaults).encode()
        head = {**_head(line, "succeeded", sent), "dialect": line.dialect.NAME, "attempts": sent.attempts}
        return Record({**head, "added": len(results), **_usage(answer.body), **sent.as_head()}, output)
    except RowError as error:
        failure = Failure.of(error)
    except Exception as error:  # noqa: BLE001 - what nobody thought of may cost this row, not the others
        failure = replace(Failure.of(error), code="invalid_answer")  # the row was asked: it can only be the answer
    return record_failure(line, replace(failure, status=answer.status, attempts=sent.attempts), defaults, sent)


def record_failure(line: RawLine, failure: Failure, defaults: Defaults, sent: Sent | None = None) -> Record:
    """Return the record of a line without an answer; a line that is no row has an output line of its own."""
    head = {**_head(line, "failed", sent), "code": failure.code, "attempts": failure.attempts}
    times = sent.as_head() if sent else {}
    if isinstance(line, RowLine):
        with contextlib.suppress(Exception):  # a dialect that fails at this row, too, costs its form and nothing else
            results = line.dialect.read_failure(failure)
            output = line.dialect.write(line.row, results, defaults).encode()
            return Record({**head, "dialect": line.dialect.NAME, "added": len(results), **times}, output)
    own = f'{{"line": {line.number}, "error": {failure.as_json()}}}'
    return Record({**head, "dialect": "none", **times}, own.encode())


def carry_over(record: Record, line: RowLine, earlier_field: str, defaults: Defaults) -> Record:
    """Return the result of an earlier row as that of another that asks the same.

    `earlier_field` is the OutputField that the earlier job had.
    Raises ValueError, KeyError or RowError for a record that cannot be read.
    """
    earlier = parse(line.number, record.output)
    results = earlier.find_results(int(record.head["added"]))
    if line.dialect.NAME == PROMPT.NAME and record.head.get("endpoint") in GENERATING:
        results = {defaults.output_field if name == earlier_field else name: text for name, text in results.items()}
    output = line.dialect.write(line.row, results, defaults).encode()
    return Record({**record.head, "line": line.number, "row": digest_row(line.raw)}, output)


def mark_shared(record: Record) -> Record:
    """Return the record of an answer that another line has, too."""
    return Record({**record.head, "shared": 1}, record.output)


def _head(line: RawLine, status: str, sent: Sent | None) -> dict[str, Any]:
    """Return the beginning of a head; a line that cannot be asked is no question."""
    head = {"line": line.number, "status": status, "row": digest_row(line.raw)}
    if sent is None or not sent.question.name:
        return head
    marks = {"repeats": sent.question.repeats, "shared": sent.shared}
    return {**head, "question": sent.question.name, **{name: 1 for name, holds in marks.items() if holds}}


def _usage(body: Any) -> dict[str, Any]:
    """Return how an answer ended and its tokens, where its endpoint tells them, and what it is not."""
    prompt, answer = read_counts(body)
    found = {"in": prompt, "cached": read_cached(body), "out": answer, "finish": read_end(body)}
    if texts := read_texts(body):
        found["says"] = hashlib.sha256("\0".join(texts).strip().encode("utf-8", "replace")).hexdigest()[:SAYS]
    marks = {"empty": is_empty(body), "refused": is_refused(body)}
    told = {name: value for name, value in found.items() if value is not None}
    return told | {name: 1 for name, holds in marks.items() if holds}
