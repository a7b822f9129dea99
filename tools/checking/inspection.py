"""Looking at a job's input on the user's machine: what check.py, submit.py and the submission hook have in common.

Takes the template's parameters as text, as every submitter has them; reads the input through the worker's own reader,
so that a file that a worker would refuse is refused here with the same words. Writes nothing but a temporary index.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking import census, lengths, server_arguments
from checking.census import Census, Problem
from checking.sizes import is_all
from engine.note import ServerError
from engine.server_url import parse_url
from engine.vllm_args import ArgumentsError, overridden, split_arguments, values_of
from host import runner
from job.defaults import Defaults, read_defaults
from job.parameters import BY_NAME, TABLE, JobError
from rows import ranges, shape, source
from rows.errors import CODES

USUAL_TEMPERATURE = 2  # the most that OpenAI's API and vLLM 0.32 take
PAIRS = 5  # duplicate ids that are shown
SHARED_LINES = 50_000  # from here on several processes pay
PROCESSES = 4  # at most, since each takes 25 MB
DEFAULTS = {  # of the parameters that decide about rows, as texts
    each.name: str(each.default) for each in TABLE if each.asks or each.checked
}
UNUSABLE = (source.SourceError, JobError, ranges.RangeError, ArgumentsError, OSError)


@dataclass
class Checked:
    """An input and what is known of it. `present` lines are those that a job would run, `asked` those looked at."""

    source: source.Source
    wanted: ranges.Lines
    census: Census
    asked: int
    present: int
    past_end: int
    duplicates: int
    pairs: list[tuple[int, int]]
    not_checked: list[str] = field(default_factory=list)
    of_server: list[str] = field(default_factory=list)

    @property
    def status(self) -> int:
        """Return the exit status that this deserves: 0 fine, 1 some rows would fail, 2 none could succeed."""
        return 2 if self.census.hopeless else 1 if self.census.failing else 0


def check(
    parameters: Mapping[str, str],
    *,
    limit: int | None = None,
    keep: int | None = census.EXAMPLES,
    report: Callable[[Problem], None] | None = None,
) -> Checked:
    """Look at the lines of InputFile that `parameters` ask for; Prompts "all" is every line.

    limit: at most so many of the lines are looked at. keep: problems of one kind that are kept, None for all.
    Raises one of UNUSABLE when there is nothing to look at.
    """
    values = read_values(parameters)
    counted, not_checked = _census(values, keep, report)
    with tempfile.TemporaryDirectory(prefix="vllm-batch-") as folder:
        found = source.prepare(values["InputFile"], "", Path(folder), lambda _: None)
        shape.refuse_other_text(found)
        wanted = _lines(values, found.lines)
        present = wanted.up_to(found.lines)
        looked_at = _first(present, limit)
        if report is None and len(looked_at) >= SHARED_LINES:
            _share(counted, found, looked_at, values, keep)
        else:
            _count(counted, found, looked_at)
    if len(looked_at) < len(present):
        not_checked.append(f"more than the first {limit:,} of {len(present):,} lines; tools/check.py checks all")
    duplicates, pairs = _duplicates(counted)
    past = len(wanted) - len(present)
    of_server = server_arguments.notes(split_arguments(values["VllmArgs"]), values)
    return Checked(found, wanted, counted, counted.lines, len(present), past, duplicates, pairs, not_checked, of_server)


def read_values(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of texts, and the defaults of what decides about rows. Raises job.JobError."""
    known = {name: text for name, text in parameters.items() if name in BY_NAME}
    lengths.refuse_long(known)
    return {name: BY_NAME[name].read(text) for name, text in {**DEFAULTS, **known}.items()}


def _check_address(url: str) -> None:
    """Refuse a ServerUrl that the worker would refuse. Raises JobError."""
    try:
        parse_url(url)
    except ServerError as error:
        raise JobError(str(error)) from None


def _census(
    values: Mapping[str, Any], keep: int | None, report: Callable[[Problem], None] | None = None
) -> tuple[Census, list[str]]:
    """Return an empty census by a job's parameters, and what of them cannot be checked here."""
    defaults, not_checked = read_terms(values)
    if values["ServerUrl"]:
        _check_address(values["ServerUrl"])
    arguments = [] if values["ServerUrl"] else split_arguments(values["VllmArgs"])
    length = overridden(arguments).get("MaxModelLen", "")
    fits = int(length) if length.isdecimal() else values["MaxModelLen"]
    known = server_arguments.names_of_models(arguments)
    adapters = bool(values_of(arguments, "--lora-modules"))
    longest = None if values["ServerUrl"] else fits
    engine = server_arguments.engine_of(arguments)
    counted = Census(defaults, values["ModelName"], longest, known=known, adapters=adapters, engine=engine, keep=keep)
    counted.report = report
    return counted, not_checked


def _count(counted: Census, found: source.Source, lines: ranges.Lines) -> None:
    for number, raw in found.read(lines):
        counted.add(number, raw)


def _count_part(values: Mapping[str, Any], keep: int | None, found: source.Source, part: ranges.Lines) -> Census:
    """Count some lines in a process of its own."""
    counted, _ = _census(values, keep)
    _count(counted, found, part)
    counted.defaults = Defaults()  # a compiled template cannot travel back
    return counted


def _share(
    counted: Census, found: source.Source, lines: ranges.Lines, values: Mapping[str, Any], keep: int | None
) -> None:
    """Count many lines in a few processes."""
    parts = list(_parts(lines, SHARED_LINES // 2))
    count = min(PROCESSES, os.cpu_count() or 1)
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        for part in pool.map(_count_part, repeat(values), repeat(keep), repeat(found), parts):
            counted.take(part)


def _parts(lines: ranges.Lines, size: int) -> Iterator[ranges.Lines]:
    """Yield the lines in parts of at most `size`, ascending."""
    pieces = (numbers[at : at + size] for numbers in lines.ranges for at in range(0, len(numbers), size))
    taken: list[range] = []
    for piece in pieces:
        if taken and sum(map(len, taken)) + len(piece) > size:
            yield ranges.Lines(taken)
            taken = []
        taken.append(piece)
    if taken:
        yield ranges.Lines(taken)


def _first(lines: ranges.Lines, limit: int | None) -> ranges.Lines:
    return lines if limit is None or len(lines) <= limit else next(_parts(lines, limit))


def _lines(values: Mapping[str, Any], lines: int) -> ranges.Lines:
    if is_all(values["Prompts"]):
        return ranges.Lines([range(1, lines + 1)])
    return ranges.of_values(values["Prompts"], values["BlockSize"])


def _duplicates(counted: Census) -> tuple[int, list[tuple[int, int]]]:
    """Return how many ids appear again, and the first of them."""
    count = 0
    pairs: list[tuple[int, int]] = []
    for first, again in counted.duplicates():
        count += 1
        if len(pairs) < PAIRS or again < pairs[-1][1]:
            pairs = sorted([*pairs, (first, again)], key=lambda pair: pair[1])[:PAIRS]
    return count, pairs


def read_terms(values: Mapping[str, Any]) -> tuple[Defaults, list[str]]:
    """Return the job's defaults for rows, and what of them cannot be checked here. Raises JobError and OSError."""
    template = values["PromptTemplateFile"]
    if not template or census.HAS_JINJA:
        return read_defaults(values), []
    Path(template).read_bytes()  # it must be there at least
    defaults = read_defaults({**values, "PromptTemplateFile": ""})
    return census.without_template(defaults), ["PromptTemplateFile: this Python has no jinja2 (pip install jinja2)"]


def problems(checked: Checked) -> list[str]:
    """Return the lines that show what is wrong, how often, where, and how to mend it."""
    shown = []
    counted = checked.census
    for code, count in counted.codes.most_common():
        shown.append(f"{count:,} {'line' if count == 1 else 'lines'}: {code}")
        examples = counted.examples[code]
        alike = {each.message: counted.alike[(code, each.message)] for each in examples}
        shown += [f"  {place(checked.source.name, each)}{_how_many(alike[each.message])}" for each in examples]
        more = count - (len(examples) if counted.keep is None else sum(max(1, each) for each in alike.values()))
        shown += [f"  ... and {more:,} more"] if more else []
        shown += [f"  to mend: {CODES[code].mend}"]
    return shown


def _how_many(lines: int) -> str:
    return f" ({lines:,} lines alike)" if lines > 1 else ""


def _who_answers(counted: Census) -> str:
    """Say what becomes of rows that name a model which the job does not."""
    if counted.max_model_len is None:
        return "ServerUrl answers them if it has these models, and for every name if it has one model (ModelInRows)"
    if counted.adapters and counted.defaults.model_in_rows != "ignore":
        return "a server with adapters refuses names that it does not know; see --lora-modules in VllmArgs"
    return f"the job's model, {counted.model}, answers for every name; ModelInRows=error refuses them instead"


def place(name: str, problem: Problem) -> str:
    """Return FILE:LINE: MESSAGE on one line."""
    return runner.printable(f"{name}:{problem.line}: {problem.message}")


def notes(checked: Checked) -> list[str]:
    """Return what a person should know although no row fails by it."""
    counted = checked.census
    said = [*checked.of_server, *counted.columns.notes()]
    if len(counted.by_kind) > 1:
        each = ", ".join(f"{count:,} for {kind} models" for kind, count in counted.by_kind.most_common())
        said.append(f"the rows are for more than one kind of model, and a server has one; split the file ({each})")
    if counted.by_model:
        each = ", ".join(f"{count:,} name {model!r}" for model, count in counted.by_model.most_common(census.EXAMPLES))
        said.append(f"rows name models of their own ({each}): {_who_answers(counted)}")
    if counted.defaults.options.get("temperature", 0) > USUAL_TEMPERATURE:
        said.append(f"newer vLLM refuses a Temperature above {USUAL_TEMPERATURE}: every row that sets none would fail")
    if checked.duplicates:
        pairs = "; ".join(f"lines {first} and {again}" for first, again in checked.pairs)
        said.append(f"{checked.duplicates:,} ids appear again: {pairs}. All are answered, in input order")
    if checked.past_end:
        said.append(f"{checked.past_end:,} of the lines asked for are past the end of the file")
    left = checked.source.lines - checked.present
    if left:
        said.append(f"{left:,} lines of the file are not asked for")
    return said + [f"not checked: {what}" for what in checked.not_checked]
