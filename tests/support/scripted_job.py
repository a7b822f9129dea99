"""Jobs into one folder, in this process: a scripted model answers each line that has no answer there yet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aggregate
from asking.pending import prepare
from dialects.exchange import Answer
from dialects.line import RawLine, read_line
from engine.facts import Served
from engine.note import Load
from job import parameters
from results.answered import find_answered
from results.outcome import Sent, record_answer
from results.partial import Writer
from results.shards import Header
from results.terms import Terms
from rows import ranges, source
from rows.ranges import Lines
from support.dialect_rows import CHAT, SERVED, chat_body

BEGAN = 1_700_000_000.0  # seconds since 1970


@dataclass
class Folder:
    """One OutputDir. `answer` gives the text for a request's body and the number of requests before it."""

    path: Path
    answer: Callable[[dict[str, Any], int], str]
    served: Served = SERVED
    asked: list[dict[str, Any]] = field(default_factory=list)  # the bodies of all requests
    merge_argv: list[str] = field(default_factory=list)
    jobs: int = 0

    @property
    def results(self) -> Path:
        """The folder of the shards."""
        return self.path / "output" / "results"

    def run(self, lines: Iterable[bytes], *, stop_after: int = 10**6, **changed: Any) -> int:
        """Ask the lines that have no answer, as far as a stop lets it; return how many were asked."""
        self.jobs += 1
        values = {**parameters.defaults(), "ModelName": "m", **changed}
        path = self.path / f"input-{self.jobs}.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        found = source.prepare(str(path), "", self.path / f"session-{self.jobs}", lambda _: None)
        answered = find_answered(found, values, self.results)
        missing = answered.missing(Lines([range(1, found.lines + 1)]))
        answered.close()
        asked = Lines.of(list(missing)[:stop_after])
        if asked:
            self._ask(found, asked, values, ranges.write(missing))
        told = {"Prompts": f"1-{found.lines}", "ModelName": "m", **changed}
        flags = [f"{parameters.flag(name)}={value}" for name, value in told.items()]
        self.merge_argv = [f"--input-file={path}", f"--output-dir={self.path}", *flags]
        return len(asked)

    def _ask(self, found: source.Source, asked: Lines, values: dict[str, Any], prompts: str) -> None:
        terms = Terms.of(values)
        header = Header(
            input_sha256=found.sha256, input_name=found.name, input_lines=found.lines, lines=str(asked),
            prompts=prompts, block_size=1, model="m", job=f"job-{self.jobs}", worker="w",
            created=BEGAN + 1000 * self.jobs, parameters=parameters.record(values), terms=terms, served=self.served,
        )  # fmt: skip
        with Writer(self.results, header) as writer:
            for number, raw in found.read(asked):
                pending = prepare(read_line(RawLine(number, raw)), terms.defaults, self.served, terms.server)
                self.asked.append(pending.ask.body)
                body = chat_body(self.answer(pending.ask.body, len(self.asked)))
                sent = Sent(pending.ask, pending.question, 1, header.created + number, 0.5)
                writer.add(record_answer(pending.line, sent, Answer(200, json.dumps(body), body, "r"), terms.defaults))
            writer.finish([Load("load")])

    def merge(self) -> list[dict[str, Any]]:
        """Merge with what the last job asked; return the rows of output.jsonl."""
        assert aggregate.main(self.merge_argv) == 0
        return list(map(json.loads, self.lines()))

    def lines(self) -> list[bytes]:
        """Return the lines of output.jsonl."""
        return (self.path / "output" / "output.jsonl").read_bytes().splitlines()

    def summary(self) -> dict[str, Any]:
        """Return summary.json."""
        found: dict[str, Any] = json.loads((self.path / "output" / "summary.json").read_bytes())
        return found


def asks(body: dict[str, Any]) -> str:
    """Return what a request asks, as a text that names it."""
    return json.dumps([CHAT, sorted(body.items())])
