"""Which lines of a request have no answer yet, and the job that asks only for those.

An answer counts where it is to the same question: the request as it would be sent, and the model. Reads the input and
the shards in OutputDir; needs no engine and pays for nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import bundle  # noqa: F401  (puts scripts/ on the path)
from checking import inspection, sizes
from host import files
from job import parameters
from results.answered import find_answered
from rows import ranges, source
from rows.ranges import Lines
from submission.merging import has_shards
from submission.request import Request

GLANCE_BYTES = 100 << 20  # of shards, which are read in some seconds


@dataclass(frozen=True, slots=True)
class Standing:
    """How a request stands: the lines that it wants and the file has, those without an answer, and what else is there.

    `others` are answers in the folder that are to other questions.
    """

    wanted: Lines
    missing: Lines
    others: int = 0

    def tell(self) -> str:
        """Say it in a sentence; nothing where nothing was asked before."""
        asked = len(self.missing)
        said = self._tell_answered(f"{asked:,} {'is' if asked == 1 else 'are'} asked")
        many = f"{self.others:,} answers in the folder are to other questions and stay aside"
        one = "1 answer in the folder is to another question and stays aside"
        other = one if self.others == 1 else many if self.others else ""
        return ". ".join(filter(None, (said, other)))

    def advise(self, block_size: str) -> str:
        """Say to a person whose job asks all how to ask only what has no answer; nothing where nothing has one."""
        expression = ranges.write(self.missing)
        what = f"Prompts={expression}" + (" with BlockSize=1" if block_size != "1" else "")
        fits = len(expression) <= ranges.EXPRESSION_LIMIT
        return self._tell_answered(f"{what if fits else 'tools/submit.py'} asks only the others")

    def _tell_answered(self, of_the_others: str) -> str:
        answered = len(self.wanted) - len(self.missing)
        then = of_the_others if self.missing else "none is left to ask"
        said = f"{answered:,} of {len(self.wanted):,} lines have an answer to this same question; {then}"
        return said if answered else ""


def find_standing(request: Request, *, again: bool = False) -> Standing:
    """Return how a request stands; `again` asks every line, whatever is there. Raises one of inspection.UNUSABLE."""
    values = {**parameters.defaults(), **inspection.read_values(request.parameters)}
    wanted = ranges.of_values(values["Prompts"], values["BlockSize"])
    if not values["InputFile"]:
        return Standing(wanted, wanted)
    with tempfile.TemporaryDirectory(prefix="vllm-batch-") as folder:
        found = source.prepare(values["InputFile"], "", Path(folder), lambda _: None)
        wanted = wanted.up_to(found.lines)
        if again or not has_shards(request.output):
            return Standing(wanted, wanted)
        with contextlib.closing(find_answered(found, values, request.output / "results")) as answered:
            return Standing(wanted, answered.missing(wanted), answered.others)


def advise(parameters: Mapping[str, str]) -> str:
    """Say how to ask only what has no answer in OutputDir; nothing where that is not seen at once."""
    request = Request(dict(parameters))
    with contextlib.suppress(Exception):  # what is there is no business of a submission that asks all
        size = sum(path.stat().st_size for path in (request.output / "results").iterdir())
        if 0 < size <= GLANCE_BYTES:
            return find_standing(request).advise(parameters["BlockSize"])
    return ""


def make_job(request: Request, standing: Standing, lines: Lines) -> dict[str, str]:
    """Return the parameters of the job that asks only some of the wanted lines.

    Lines that a range of the service's length cannot name, or that are many, travel in a file of their own beside the
    results: an answer belongs to its question, whatever file it was asked from.
    """
    if len(lines) == len(standing.wanted):
        return request.parameters
    given = {name: value for name, value in request.parameters.items() if name in request.sizes_given}
    expression = ranges.write(lines)
    if not request.parameters.get("InputFile") or (
        len(expression) <= ranges.EXPRESSION_LIMIT and len(lines) <= sizes.CHUNK_LIMIT
    ):
        return {**request.parameters, **_single_lines(given, len(lines)), "Prompts": expression}
    file = _write_lines(request, lines, expression)
    return {**request.parameters, **sizes.suggest(given, len(lines), request.work), "InputFile": str(file)}


def _single_lines(given: dict[str, str], count: int) -> dict[str, str]:
    """Return sizes for so many lines, each a range value of its own."""
    suited = sizes.suggest({**given, "BlockSize": "1"}, count)
    if "ChunkSize" in given:
        chunk = int(given["ChunkSize"]) * int(given.get("BlockSize", "1"))
        suited["ChunkSize"] = str(min(sizes.CHUNK_LIMIT, chunk))
    return suited


def _write_lines(request: Request, lines: Lines, expression: str) -> Path:
    """Write some lines of the input beside the results, once, and return the file."""
    with tempfile.TemporaryDirectory(prefix="vllm-batch-") as folder:
        found = source.prepare(request.parameters["InputFile"], "", Path(folder), lambda _: None)
        name = hashlib.sha256(f"{found.sha256} {expression}".encode()).hexdigest()[:12]
        path = Path(request.parameters["OutputDir"]) / f"missing-{name}.jsonl"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.open_whole(path) as file:
                file.writelines(_with_ends(found, lines))
    return path


def _with_ends(found: source.Source, lines: Lines) -> Iterator[bytes]:
    for _, raw in found.read(lines):
        yield raw + b"\n"
