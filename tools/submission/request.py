"""What a person asks for: the options that submit.py and run_local.py share, and the checked request made of them.

A request is the whole of what is wanted: every line, under the template's parameters as texts. Which of its lines a job
then asks is `missing.py`'s. Reads the input to check it, by the worker's own rules; writes a copy of an input that the
job's finished files would replace.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking import inspection, sizes
from checking.expiry import tell_expiry
from host import runner
from job.moment import write_moment
from job.parameters import BY_NAME, FILES, JobError
from rows import ranges
from setup_env import say

PRICE = "PricePerHour"


class RequestError(Exception):
    """Nothing can be asked as it was requested; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Request:
    """All that is wanted: the job's parameters as texts, and which sizes of tasks the person chose."""

    parameters: dict[str, str]
    sizes_given: frozenset[str] = frozenset()
    work: sizes.Work = field(default_factory=sizes.Work)

    @property
    def output(self) -> Path:
        """Return the folder of the finished files."""
        return Path(self.parameters["OutputDir"]) / "output"

    @property
    def answers(self) -> str:
        """Return the field that receives answers."""
        return self.parameters.get("OutputField", "generated_text")

    def with_values(self, values: Mapping[str, str]) -> Request:
        """Return the request with other values for some parameters."""
        return replace(self, parameters={**self.parameters, **values})


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what both commands take."""
    parser.add_argument("--output-dir", type=Path, default=Path("results"), metavar="FOLDER", help="default: ./results")
    parser.add_argument("--prompts", metavar="RANGE", help="lines to run, such as 1-10 or 2,5,8-9 (default: every one)")
    parser.add_argument(
        "-p", dest="parameters", action="append", default=[], type=split_parameter, metavar="NAME=VALUE",
        help="set any parameter of the template; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--within", dest="parameters", action="append", type=stop_within, metavar="TIME",
        help="ask nothing after so long, such as 2h or 90m; the job still ends in results",
    )  # fmt: skip
    parser.add_argument(
        "--prompt-template-file", dest="parameters", action="append", metavar="FILE",
        type=lambda file: ("PromptTemplateFile", file), help="makes each row's prompt of its fields",
    )  # fmt: skip
    parser.add_argument(
        "--after",
        metavar="JOB_OR_FOLDER",
        help="read the answers of an earlier job, by its id or its folder of results",
    )
    parser.add_argument(
        "--workers", type=_count, metavar="N", help="that will share the job at most (as many as are worth their load)"
    )
    parser.add_argument("--again", action="store_true", help="ask every line, also those that have an answer")
    parser.add_argument(
        "--trial", type=_count, default=0, metavar="N",
        help="ask N lines first, show their answers and what all would take, and ask before the rest goes",
    )  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="go on after a trial without asking")
    parser.add_argument("--follow", action="store_true", help="show first answers, and merge while the job runs")
    parser.add_argument(
        "--stop-if-failed", type=_percent, metavar="PERCENT",
        help="follow, and cancel the job when more than this share of its lines fails, such as 20%%",
    )  # fmt: skip
    parser.add_argument(
        "--price-per-hour", dest="parameters", action="append", type=_price, metavar="DOLLARS",
        help="of one worker, for what a trial says of the rest and what the results say they cost",
    )  # fmt: skip
    parser.add_argument("-v", "--verbose", action="store_true", help="on this machine: show everything openjd says")


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < len(text) < 7 or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 999999")
    return int(text)


def _percent(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (share := float(text.strip().removesuffix("%"))) < 100:
            return share
    raise argparse.ArgumentTypeError(f"{text!r} is no share such as 20%")


def _price(text: str) -> tuple[str, str]:
    with contextlib.suppress(JobError):
        if BY_NAME[PRICE].read(text):
            return PRICE, text
    raise argparse.ArgumentTypeError(f"{text!r} is no price")


def split_parameter(text: str) -> tuple[str, str]:
    """Split NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def stop_within(text: str) -> tuple[str, str]:
    """Return the StopAt that is so far from now: `2h`, `90m`, `1h30m`, `1d`."""
    parts = re.fullmatch(r"(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?", text.strip())
    numbers = [int(part or 0) for part in parts.groups()] if parts else []
    seconds = sum(number * unit for number, unit in zip(numbers, (86400, 3600, 60, 1), strict=False))
    if not seconds:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2h, 90m or 1h30m")
    return "StopAt", write_moment(time.time() + seconds)


def read_request(asked: argparse.Namespace, file: str | Path | None, usual: Mapping[str, str] | None = None) -> Request:
    """Return the request of a command line, checked, its sizes chosen where nothing sets them. Raises RequestError.

    usual: parameters that the command line may set otherwise.
    """
    given = {**(usual or {}), **dict(asked.parameters)}
    if file:
        given["InputFile"] = make_whole(file)
    if asked.prompts and not sizes.is_all(asked.prompts):
        given["Prompts"] = asked.prompts
    chosen = {"OutputDir": str(asked.output_dir), **given}
    _refuse_unusable(chosen)
    for name in ("OutputDir", *FILES):
        if chosen.get(name):
            chosen[name] = make_whole(chosen[name])
    sizes_given = frozenset(sizes.NAMES) & dict(asked.parameters).keys()
    if not chosen.get("InputFile"):
        if not (chosen.get("InputUrl") and chosen.get("Prompts")):
            raise RequestError("name the file to run, or give -p InputUrl=... with --prompts")
        _refuse_unreadable(chosen)
        for line in ("InputUrl is not checked: it is fetched on the worker", *tell_expiry(chosen)):
            say(line)
        return Request({**chosen, **_suit_unseen(chosen, asked.workers)}, sizes_given)
    _refuse_missing(Path(chosen["InputFile"]), Path(chosen["OutputDir"]))
    found = _show_check({"Prompts": "all", **chosen})
    work = sizes.Work.of(chosen, found.census, asked.workers)
    suited = sizes.suggest_for(chosen, found.wanted, found.source.lines, work)
    say("sizes: " + " ".join(f"{name}={value}" for name, value in suited.items()))
    file = _out_of_the_way(Path(chosen["InputFile"]), Path(chosen["OutputDir"]))
    return Request({**chosen, **suited, "InputFile": str(file)}, sizes_given, work)


def _suit_unseen(chosen: Mapping[str, str], workers: int | None) -> dict[str, str]:
    """Return the sizes for lines of an input that is not here. Raises RequestError."""
    try:
        wanted = ranges.of_values(chosen["Prompts"], int(chosen.get("BlockSize", 1)))
    except ranges.RangeError as error:
        raise RequestError(str(error)) from None
    return sizes.suggest_for(chosen, wanted, None, sizes.Work.of(chosen, workers=workers))


def make_whole(path: str | Path) -> str:
    """Return an absolute path without "..", which leads nowhere in a worker's copy of a folder; links stay."""
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would put a link's target in the place of its name


def _refuse_unusable(chosen: Mapping[str, str]) -> None:
    """Raise RequestError for a name that no parameter has, and JobError for a value that its parameter cannot have."""
    for name in chosen.keys() - BY_NAME.keys():
        close = difflib.get_close_matches(name, BY_NAME, n=1)
        raise RequestError(f"there is no parameter {name}" + (f"; did you mean {close[0]}?" if close else ""))
    inspection.read_values(chosen)


def _refuse_unreadable(chosen: Mapping[str, str]) -> None:
    """Raise RequestError for a template, a schema or options that no row could be asked with."""
    try:
        inspection.read_terms(inspection.read_values(chosen))
    except inspection.UNUSABLE as error:
        raise RequestError(str(error)) from None


def _refuse_missing(file: Path, output_dir: Path) -> None:
    if not file.is_file():
        raise RequestError(f"there is no file {file}")
    if file.resolve() == (output_dir / "output" / "retry.jsonl").resolve() and not file.stat().st_size:
        raise RequestError("retry.jsonl is empty: no line is left to run again")


def _out_of_the_way(file: Path, output_dir: Path) -> Path:
    """Return the input, or a copy where it is one of the files that the job's end will replace (retry.jsonl)."""
    if file.parent.resolve() != (output_dir / "output").resolve():
        return file
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    copy = output_dir / f"input-{digest[:12]}{''.join(file.suffixes)}"
    if not copy.exists():
        shutil.copy(file, copy)
    say(f"the input is copied to {copy}, since the finished files will replace {file.name}")
    return copy


def _show_check(chosen: Mapping[str, str]) -> inspection.Checked:
    """Check the input and show what is found. Raises RequestError when no row could succeed."""
    try:
        found = inspection.check(chosen)
    except inspection.UNUSABLE as error:
        raise RequestError(str(error)) from None
    say(f"{found.source.name}: {found.census.sound:,} of {found.census.nonblank:,} rows are fine")
    for line in [*inspection.problems(found), *(f"note: {note}" for note in inspection.notes(found))]:
        say(runner.printable(line))
    if found.census.hopeless:
        raise RequestError("no row could be answered; see above")
    return found
