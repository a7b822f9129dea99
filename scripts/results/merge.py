"""Which result counts for each line of an input: the newest answer to the line's own question, whoever asked it.

The results of a shard of the same input, asked on the same terms, are those of the lines whose numbers they have. All
others are spares, of which the lines that lack an answer take what fits them (`fit`). Where an answer must be the same
whenever it is asked for, one serves all lines that ask for it.
"""

from __future__ import annotations

import array
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.facts import Served
from job.parameters import BY_NAME
from results import chosen
from results.chosen import BY_QUESTION, SHARED, Chosen, Place
from results.fit import Asking, Openings, fit
from results.folder import find_shards
from results.lookup import Lookup
from results.reader import Reader
from results.record import NO_KEY, Glance, Record, read_key
from results.remarks import remark
from results.retry import Input
from results.shards import Header, Shard
from results.spares import Spares
from results.terms import Terms
from results.work import Work
from rows.ranges import Lines, RangeError, of_values

KINDS_OF_SERVER = 4  # that told different things of themselves on the same terms; more are not looked at


@dataclass
class Merge:
    """The results that count, by line. Fill with `take`, then read with `record` and tell `show` of each that is shown.

    `terms` are those on which the lines are asked, by default those of the newest shard that tells its own. `others`
    counts the answers that are to other questions than the input's.
    """

    input: Input
    terms: Terms | None = None
    notes: list[str] = field(default_factory=list)
    requested: Lines = field(default_factory=Lines)
    others: int = 0
    works: list[Work] = field(default_factory=list)  # of the shards that are read
    used: list[Shard] = field(default_factory=list)  # those whose results are some line's
    _own: set[int] = field(default_factory=set)  # places of shards of this input, asked on these terms
    _given: Counter[int] = field(default_factory=Counter)  # spares that lines have, by their shard
    _spares: Spares = field(default_factory=Spares)
    _repeats: bool = False  # one of the answers must be the same whenever it is asked for
    _reader: Reader = field(default_factory=Reader)

    def __post_init__(self) -> None:
        self._chosen = Chosen(self.input.lines)
        self._works: dict[Path, Work] = {}
        self._requests: set[tuple[str, int]] = set()
        self._fields: list[str] = []  # OutputField of each shard's job

    def take(self, folder: Path) -> None:
        """Take what fits of every shard in a folder; what is left alone is noted."""
        found = list(find_shards(folder, self.notes))
        told = [shard.header for shard in found if shard.header.terms]
        if self.terms is None and told:
            self.terms = max(told, key=lambda header: header.created).terms
        own = [shard for shard in found if self._is_own(shard.header)]
        for shard in found:
            if shard.header.terms and not self._is_own(shard.header):
                self._take_spares(shard)
        elsewhere = self._spares.by_question(range(len(self._spares)))
        for shard in own:
            self._take_own(shard, elsewhere)
        if self.terms and (len(self._spares) or self._repeats):
            self._fit(self.terms)
        self._count_others(elsewhere)
        places = {shard for shard, rank in zip(self._chosen.shard, self._chosen.rank, strict=True) if rank}
        self.used = [self.works[number].shard for number in sorted(places)]
        untold = [shard.header for shard in found if shard.header.terms is None]
        are_own = [self._is_own(header) for header in untold]
        self.notes += remark(untold, are_own, [shard.header.model for shard in self.used], self.others)

    def _is_own(self, header: Header) -> bool:
        """Tell whether a shard's results are those of the lines whose numbers they have."""
        return header.input_sha256 == self.input.sha256 and (header.terms is None or self._is_same(header))

    def _is_same(self, header: Header) -> bool:
        """Tell whether a shard was asked on the terms of the merge."""
        return bool(header.terms and self.terms and header.terms.fingerprint == self.terms.fingerprint)

    def _add(self, shard: Shard) -> tuple[int, Work]:
        """Add a shard to those that are read; return its number."""
        self.works.append(Work(shard))
        self._works[shard.path] = self.works[-1]
        self._reader.paths.append(shard.path)
        self._fields.append(shard.header.parameters.get("OutputField", BY_NAME["OutputField"].default))
        if shard.header.input_sha256 == self.input.sha256:
            self._ask(shard.header)
        return len(self.works) - 1, self.works[-1]

    def _take_spares(self, shard: Shard) -> None:
        (number, work), same = self._add(shard), self._is_same(shard.header)
        for offset, length, found in shard.glances():
            self._repeats |= found.repeats
            if found.status != "blank":
                when = work.add(found.started, found.seconds)
                self._spares.add((number, offset, length), when, found, same=same)

    def _take_own(self, shard: Shard, elsewhere: Lookup) -> None:
        number, work = self._add(shard)
        self._own.add(number)
        ranks = chosen.RANKS if shard.header.terms else {**chosen.RANKS, "succeeded": chosen.UNPROVEN}
        for offset, length, found in shard.glances():
            if 0 < found.line <= self.input.lines:
                self._repeats |= found.repeats
                self._know(found.question, elsewhere)
                when = work.add(found.started, found.seconds)
                self._put((number, offset, length), ranks[found.status], when, found)

    def _put(self, place: Place, rank: int, when: float, found: Glance) -> None:
        """Keep the better of two results of a line at its place; another line may have the answer that gives way."""
        line, lines = found.line, self._chosen
        before, earlier, old = lines.rank[line], lines.when[line], lines.place(line)
        if before == rank == chosen.SUCCEEDED and when != earlier:  # else it is one record in two files
            self._spares.add_kept(*((old, earlier) if when > earlier else (place, when)), line)
        lines.put(line, place, rank, when)

    def _ask(self, header: Header) -> None:
        """Add what the job of a shard asked for, once for all its shards."""
        request = (header.prompts, header.block_size)
        if request in self._requests:
            return
        try:
            asked = of_values(header.prompts, header.block_size)
            self._requests.add(request)
        except RangeError:
            asked = header.chunk()
        self.requested |= asked

    def _fit(self, terms: Terms) -> None:
        """Give the lines that have no answer at their place one that fits."""
        have = (chosen.BLANK, chosen.SUCCEEDED)
        lines = array.array("Q", (n for n in range(1, self.input.lines + 1) if self._chosen.rank[n] not in have))
        asked = self.requested.as_mask(self.input.lines)
        openings = Openings(self.input, Asking(terms, self._servers(terms)), lines, bytearray(asked[n] for n in lines))
        openings.read_rows(self._recorded_row)
        if any(openings.open):
            self._spares.complete(self._read_head)
            fit(self._spares, openings, self._give)
            if self._repeats or any(openings.repeats):
                self._share(openings)
        self.requested |= Lines.of(n for n in lines if self._is_carried(n))

    def _servers(self, terms: Terms) -> list[Served]:
        """Return what the servers of these terms told of themselves, the last first."""
        headers = sorted((work.shard.header for work in self.works), key=lambda header: -header.created)
        told = [header.served for header in headers if header.terms and header.terms.server == terms.server]
        return list(dict.fromkeys(served for served in told if served))[:KINDS_OF_SERVER]

    def _recorded_row(self, line: int) -> int:
        """Return the row of a line that the input does not hold any more, as its own result tells it."""
        record = self._reader.read(self._chosen.place(line)) if self._chosen.rank[line] else None
        return read_key(record.head.get("row")) if record else NO_KEY

    def _read_head(self, place: Place) -> dict[str, Any]:
        record = self._reader.read(place)
        return record.head if record else {}

    def _give(self, line: int, spare: int, how: int) -> None:
        """Give a line a spare result."""
        spares = self._spares
        place = spares.shard[spare], spares.offset[spare], spares.length[spare]
        rank = chosen.FAILED if spares.failed[spare] else chosen.SUCCEEDED
        if self._chosen.put(line, place, rank, spares.when[spare], how):
            self._given[place[0]] += 1

    def _share(self, openings: Openings) -> None:
        """Give lines whose answer must be the same the one that another line has."""
        for questions in openings.find_questions():
            items = [n for n in openings.in_turn() if openings.first[n] and openings.repeats[n]]
            wanted = Lookup(questions, items)
            for number, work in enumerate(self.works) if items else ():
                for offset, length, found in work.shard.glances():
                    first = wanted.first(found.question) if found.status == "succeeded" else None
                    if first is not None and openings.open[first]:
                        when = (found.started or work.shard.header.created) + (found.seconds or 0)
                        for item in wanted.find(found.question):
                            place, line = (number, offset, length), openings.lines[item]
                            self._chosen.put(line, place, chosen.SUCCEEDED, when, SHARED)
                            openings.open[item] = False
                            self._given[number] += 1

    def _know(self, question: int, elsewhere: Lookup) -> None:
        """Note that a question is asked here, so that what was answered to it elsewhere is not to another."""
        first = elsewhere.first(question)
        if first is not None and not self._spares.known[first]:
            for number in elsewhere.find(question):
                self._spares.known[number] = True

    def _count_others(self, elsewhere: Lookup) -> None:
        """Count the answers whose question no line of the input asks."""
        spares = self._spares
        for number in range(len(spares)):
            if spares.used[number] and not spares.known[number]:
                self._know(spares.question[number], elsewhere)
        self.others = sum(not spares.known[n] for n in spares.unused(failed=False))

    @property
    def newest(self) -> Shard | None:
        """Return the shard that was begun last, of those that fit, also where other results won over all of its own."""
        fitting = (work.shard for n, work in enumerate(self.works) if n in self._own or self._given[n])
        return max(fitting, key=lambda shard: shard.header.created, default=None)

    @property
    def reused(self) -> list[Work]:
        """Return what is shown of other jobs than the newest."""
        newest = self.newest
        return [work for work in self.works if newest and work.answers and work.shard.header.job != newest.header.job]

    def show(self, head: Mapping[str, Any], shard: Shard) -> None:
        """Note that a result of a shard is shown, for what it cost."""
        self._works[shard.path].show(head)

    def has_answer(self, line: int) -> bool:
        """Tell whether a line has an answer."""
        return self._chosen.rank[line] >= chosen.UNPROVEN

    def _is_carried(self, line: int) -> bool:
        """Tell whether a line's result is of a shard of another input, or was asked on other terms."""
        return self._chosen.rank[line] != chosen.NONE and self._chosen.shard[line] not in self._own

    def find_field(self, line: int) -> str:
        """Return the OutputField of the job that a line's result is of."""
        return self._fields[self._chosen.shard[line]]

    def is_another_rows(self, line: int) -> bool:
        """Tell whether a line's result was found by its question alone, so that it is written with another row."""
        return self._chosen.how[line] in (BY_QUESTION, SHARED)

    def is_shared(self, line: int) -> bool:
        """Tell whether a line's result is also that of the line that was asked."""
        return self._chosen.how[line] == SHARED

    def record(self, line: int) -> tuple[Record, Shard] | None:
        """Return the result that counts for a line and the shard it comes from, or None where no shard has one."""
        if self._chosen.rank[line] == chosen.NONE:
            return None
        place = self._chosen.place(line)
        record = self._reader.read(place)
        if record is None:
            return None
        if record.head["line"] != line and record.head.get("dialect") == "none":
            value: dict[str, Any] = {**json.loads(record.output), "line": line}
            record = Record(record.head, json.dumps(value, ensure_ascii=False).encode())
        return record, self.works[place[0]].shard

    def close(self) -> None:
        """Close the shards."""
        self._reader.close()
