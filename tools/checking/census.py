"""Counting the lines of an input by the worker's own rules, before a GPU is paid for.

A Census takes lines one by one and keeps counts, the first problems of each kind, and 16 bytes a line to find ids that
appear twice: memory does not grow with the lines' contents. Every rule about rows is the worker's, imported from
scripts/; what is added here is what a server would say later: whether a row fits the context.

No tokenizer, no jinja2 and no network are needed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking import tokens
from checking.columns import Columns
from checking.foresight import REFUSED, Engine, Foresight
from dialects.base import Dialect
from dialects.exchange import Ask
from dialects.line import ask_row
from dialects.recognise import recognise
from engine import routes
from engine.facts import Served
from engine.routes import OF_EVERY_KIND, ROUTES
from job.defaults import Defaults
from job.options import budget_of
from rows.errors import RowError
from rows.row import Row, is_blank, parse

HAS_JINJA = importlib.util.find_spec("jinja2") is not None  # the worker has it; prompt templates alone need it
MIGHT_NOT_FIT = "may_not_fit"  # by the estimate; every other code is certain
MOST_TOKENS = 10**9  # of one row's answers in the estimate; more is a slip
EXAMPLES = 5  # problems of one code that are kept
MESSAGES = 1_000  # of problems whose lines are counted apart
MODELS, OTHERS = 20, "other models"  # names that are counted apart, and what the rest is counted as
_IDS = ("custom_id", "recordId", "id")
_BUCKETS = 256
_SURROGATE, _LARGE = re.compile(rb"\\u[dD]"), re.compile(rb"[0-9](?:[eE]|[0-9]{299})")

ANY_SERVER = "whatever ServerUrl serves"


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that would fail, why, and how to mend it."""

    line: int
    code: str
    message: str


@dataclass
class Census:
    """What is known of the lines added so far. `max_model_len` None leaves the context unchecked (ServerUrl)."""

    defaults: Defaults
    model: str
    max_model_len: int | None
    known: frozenset[str] = frozenset()  # names that the server answers to
    adapters: bool = False
    engine: Engine = field(default_factory=Engine)
    keep: int | None = EXAMPLES
    report: Callable[[Problem], None] | None = None
    lines: int = 0
    blank: int = 0
    sound: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Problem]] = field(default_factory=dict)
    alike: Counter[tuple[str, str]] = field(default_factory=Counter)  # lines of the same code and message
    by_dialect: Counter[str] = field(default_factory=Counter)
    by_route: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)
    by_model: Counter[str] = field(default_factory=Counter)  # models that rows name and the job does not
    columns: Columns = field(default_factory=Columns)
    prompt_tokens: int = 0
    answer_limit: int = 0
    longest: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        known: dict[str, frozenset[str]] = ROUTES if self.max_model_len is not None else {ANY_SERVER: frozenset()}
        servers = {kind: self._server(routes) for kind, routes in known.items()}
        own = self.defaults.endpoint
        self._servers = dict(sorted(servers.items(), key=lambda item: own != "auto" and not item[1].has(own)))
        self._foresight = Foresight(self.engine)
        self._hashes: list[array[int]] = [array("Q") for _ in range(_BUCKETS)]
        self._places: list[array[int]] = [array("Q") for _ in range(_BUCKETS)]

    def _server(self, routes: frozenset[str]) -> Served:
        """Return a server of some routes; the names of a server that is given are not known here."""
        names = frozenset() if self.max_model_len is None else self.known | {self.model}
        return Served(self.model, routes, tokens=self.max_model_len, names=names, alone=not self.adapters)

    @property
    def nonblank(self) -> int:
        """Return how many lines are not blank."""
        return self.lines - self.blank

    @property
    def failing(self) -> int:
        """Return how many lines have a problem."""
        return self.codes.total()

    @property
    def hopeless(self) -> bool:
        """Tell whether no line could be answered, whatever the estimate is worth."""
        return self.sound == 0 and not self.codes.keys() & {MIGHT_NOT_FIT, REFUSED}

    def add(self, line: int, raw: bytes) -> None:
        """Count one line of the input."""
        self.lines += 1
        if is_blank(raw):
            self.blank += 1
            return
        try:
            self._ask(line, raw)
        except RowError as error:
            self._note(Problem(line, error.code, error.message))
        else:
            self.sound += 1

    def _ask(self, line: int, raw: bytes) -> None:
        try:
            row = parse(line, raw)
        except RowError:
            self.by_dialect["none"] += 1
            raise
        dialect = recognise(row.fields)
        self.by_dialect[dialect.NAME] += 1
        self._note_id(line, row.fields)
        self.columns.add(row, are_options=dialect.NAME == "prompt" and not self.defaults.columns_are_data)
        kind, ask = self._first_server(dialect, row)
        if _is_unusual(raw):
            ask.encode()
        self.by_route[ask.route] += 1
        if ask.route not in OF_EVERY_KIND:
            self.by_kind[kind] += 1
        named = ask.replaced or ask.body.get("model")
        if isinstance(named, str) and named != self.model and named not in self.known:
            self.by_model[named if named in self.by_model or len(self.by_model) < MODELS else OTHERS] += 1
        if self.max_model_len is not None:
            self._foresight.look(ask)
        self._note_tokens(line, ask)

    def _first_server(self, dialect: Dialect, row: Row) -> tuple[str, Ask]:
        """Return the kind of server that answers a row, and the request. Raises the first server's RowError."""
        first: RowError | None = None
        for kind, served in self._servers.items():
            try:
                return kind, ask_row(row, dialect, self.defaults, served)
            except RowError as error:
                if error.code not in ("missing_field", "invalid_url"):
                    raise
                first = first if first and first.code != "invalid_url" else error
        assert first is not None
        raise first

    def _note(self, problem: Problem) -> None:
        self.codes[problem.code] += 1
        kept = self.examples.setdefault(problem.code, [])
        key = (problem.code, problem.message)
        if self.keep is None or (key not in self.alike and len(kept) < self.keep):
            kept.append(problem)
        if key in self.alike or len(self.alike) < MESSAGES:
            self.alike[key] += 1
        if self.report:
            self.report(problem)

    def _note_tokens(self, line: int, ask: Ask) -> None:
        """Add the row's estimate. Raises RowError too_long or may_not_fit."""
        size = tokens.of_prompt(ask.body)
        budget = budget_of(ask.body) if ask.route in routes.GENERATING else 0
        choices = ask.body.get("n")
        limit = self.max_model_len
        self.prompt_tokens += size
        answers = min(budget, limit or budget) * (choices if isinstance(choices, int) else 1)
        self.answer_limit += min(answers, MOST_TOKENS)
        self.longest = max(self.longest, (size, line))
        if ask.lent:
            budget = 0  # MaxTokens gives way to a long prompt, a row's own limit does not
        if limit is None or size + budget <= limit or "truncate_prompt_tokens" in ask.body:
            return
        if budget >= limit:
            what = f"an answer of up to {budget:,} tokens leaves no room for a prompt in MaxModelLen {limit:,}"
            raise RowError("too_long", f"{what}; lower the row's max_tokens or raise MaxModelLen")
        what = f"about {size:,} tokens of prompt" + (f" and up to {budget:,} of answer" if budget else "")
        raise RowError(MIGHT_NOT_FIT, f"{what} are more than MaxModelLen {limit:,}")

    def _note_id(self, line: int, fields: dict[str, Any]) -> None:
        for name in _IDS:
            if (value := fields.get(name)) is not None:
                break
        else:
            return
        text = value if isinstance(value, str) else repr(value)
        marked = f"{name} {type(value).__name__} {text}".encode("utf-8", "surrogatepass")
        mark = int.from_bytes(hashlib.blake2b(marked, digest_size=8).digest(), "little")  # alike in every process
        self._hashes[mark % _BUCKETS].append(mark)
        self._places[mark % _BUCKETS].append(line)

    def take(self, later: Census) -> None:
        """Add what another census counted of later lines."""
        self.lines, self.blank, self.sound = (
            self.lines + later.lines,
            self.blank + later.blank,
            self.sound + later.sound,
        )
        self.columns.take(later.columns)
        self.prompt_tokens += later.prompt_tokens
        self.answer_limit += later.answer_limit
        self.longest = max(self.longest, later.longest)
        for name in ("codes", "by_dialect", "by_route", "by_kind", "by_model", "alike"):
            getattr(self, name).update(getattr(later, name))
        for code, problems in later.examples.items():
            told = {each.message for each in self.examples.get(code, [])} if self.keep is not None else set()
            fresh = [each for each in problems if each.message not in told]
            self.examples[code] = [*self.examples.get(code, []), *fresh][: self.keep]
        for place in range(_BUCKETS):
            self._hashes[place].extend(later._hashes[place])
            self._places[place].extend(later._places[place])

    def duplicates(self) -> Iterator[tuple[int, int]]:
        """Yield (line, later line) for every id that an earlier line has too."""
        for marks, places in zip(self._hashes, self._places, strict=True):
            first: dict[int, int] = {}
            for mark, place in zip(marks, places, strict=True):
                if first.setdefault(mark, place) != place:
                    yield first[mark], place


def _is_unusual(raw: bytes) -> bool:
    """Tell whether a line holds what alone can make a request that JSON cannot say: half a surrogate, infinity."""
    return bool((b"\\u" in raw and _SURROGATE.search(raw)) or _LARGE.search(raw))


class Unrendered:
    """Stands in for a prompt template that cannot be compiled here: each row's own checks still hold."""

    def render(self, _: dict[str, Any]) -> str:
        """Return a prompt of no meaning."""
        return "?"


def without_template(defaults: Defaults) -> Defaults:
    """Return the defaults of a job whose prompt template goes unchecked."""
    return replace(defaults, template=Unrendered())  # type: ignore[arg-type]
