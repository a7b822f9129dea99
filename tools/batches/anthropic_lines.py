"""Anthropic's Message Batches in files: a create's body as the bundle's lines, and a job's output as the API's results.

A batch is one JSON body of up to hundreds of megabytes, and its results are as large: both pass item by item.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import bundle  # noqa: F401  (puts scripts/ on the path)
from batches.faces import Place
from batches.json_items import NotJson, read_items
from host import files
from results.in_order import MISSING
from rows.errors import DEADLINE
from rows.json_text import quote, shorten
from rows.row import is_blank
from submission.arrivals import Arrivals

MOST_REQUESTS = 100_000
LONGEST_NAME = 64  # characters of a custom_id
MOST_MODELS = 100  # names that one batch may have
KINDS = ("succeeded", "errored", "canceled", "expired")


class BadBatch(Exception):
    """A batch that is not made; the message says why in the API's words."""


def find_requests(place: Place) -> Path:
    """Return where a batch's requests lie as they came."""
    return place.folder / "requests.jsonl"


def find_results(place: Place) -> Path:
    """Return where a batch's results lie."""
    return place.folder / "results.jsonl"


def write_requests(body: BinaryIO, lines: BinaryIO) -> tuple[int, list[str | None]]:
    """Write the requests of a create's body as lines; return how many there are and which models they name.

    What a request's `params` must be is checked when it runs, as the API has it. Raises BadBatch.
    """
    seen: set[str] = set()
    models: dict[str | None, None] = {}
    try:
        for place, request in enumerate(read_items(body, "requests")):
            if place == MOST_REQUESTS:
                raise BadBatch(f"requests: a batch has at most {MOST_REQUESTS:,} requests")
            name, params = _read_request(request, f"requests.{place}", seen)
            seen.add(name)
            models[find_model(params)] = None
            if len(models) > MOST_MODELS:
                raise BadBatch(f"requests: a batch names at most {MOST_MODELS} models")
            lines.write(json.dumps({"custom_id": name, "params": params}, separators=(",", ":")).encode() + b"\n")
    except NotJson as error:
        raise BadBatch(f"the body is not the JSON of a batch: {error}") from None
    if not seen:
        raise BadBatch("requests: a batch has at least one request")
    return len(seen), [*models]


def _read_request(request: Any, where: str, seen: set[str]) -> tuple[str, dict[str, Any]]:
    if not isinstance(request, dict):
        raise BadBatch(f"{where}: must be an object with custom_id and params")
    name, params = request.get("custom_id"), request.get("params")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise BadBatch(f"{where}.custom_id: must be a text of 1 to {LONGEST_NAME} characters")
    if name in seen:
        raise BadBatch(f"{where}.custom_id: {shorten(name)} is that of an earlier request; each must be unique")
    if not isinstance(params, dict):
        raise BadBatch(f"{where}.params: must be the parameters of a message")
    return name, params


def find_model(params: Mapping[str, Any]) -> str | None:
    """Return the model that a request names."""
    name = params.get("model")
    return name if isinstance(name, str) else None


def write_input(place: Place, refuse: Callable[[str | None], str]) -> int:
    """Write the lines that the job answers, and those that it does not as results; return how many the latter are.

    `refuse` says why a request that names a model is not asked, "" where it is. A refused line is a blank one.
    """
    refused = 0
    with files.open_whole(place.input) as asked, files.open_whole(place.refused) as others:
        for raw in _read(find_requests(place)):
            line = json.loads(raw)
            if why := refuse(find_model(line["params"])):
                refused += 1
                others.write(_write_error(line["custom_id"], "not_found_error", why) + b"\n")
            asked.write(b"\n" if why else raw + b"\n")
    if not refused:
        place.refused.unlink()
    return refused


def write_results(place: Place, ending: str, why: str = "") -> Counter[str]:
    """Write the results of a batch whose job has ended, and return how many there are of each of KINDS.

    ending: what became of the requests that were not asked: "canceled", "expired" or "errored". why: what is said of
    those that are errored.
    """
    counts: Counter[str] = Counter()
    with files.open_whole(find_results(place)) as file:
        for kind, line in _read_results(place, ending, why):
            counts[kind] += 1
            file.write(line + b"\n")
    return counts


def _read_results(place: Place, ending: str, why: str) -> Iterator[tuple[str, bytes]]:
    """Yield each request's result and of which kind it is."""
    if place.refused.is_file():
        for raw in _read(place.refused):
            yield "errored", raw
    source = place.input if place.input.is_file() else find_requests(place)
    asked = ((number, raw) for number, raw in enumerate(_read(source), 1) if not is_blank(raw))
    if not place.answers.is_file():
        for _, raw in asked:
            yield ending, _write_unasked(json.loads(raw)["custom_id"], ending, why)
        return
    codes = _find_codes(place.answers.parent)
    for (number, _), raw in zip(asked, _read(place.answers), strict=False):
        line = json.loads(raw)
        kind = str(line["result"]["type"])
        code = codes.get(number, MISSING.code) if kind == "errored" else ""
        if code == DEADLINE or (code == MISSING.code and ending != "errored"):
            kind = "expired" if code == DEADLINE and ending == "errored" else ending
            yield kind, _write_unasked(line["custom_id"], kind, "")
        else:
            yield kind, raw


def _find_codes(output: Path) -> dict[int, str]:
    """Return why the failed lines failed, by their numbers; the API's own errors do not tell."""
    codes = {}
    for shard in Arrivals(output, all_of_it=True).shards():
        for record in shard.records():
            if record.head["status"] == "failed":
                codes[int(record.head["line"])] = str(record.head["code"])
    return codes


def _write_unasked(name: str, kind: str, why: str) -> bytes:
    if kind == "errored":
        return _write_error(name, "api_error", why or MISSING.message)
    return f'{{"custom_id": {quote(name)}, "result": {quote({"type": kind})}}}'.encode()


def _write_error(name: str, kind: str, message: str) -> bytes:
    error = {"type": "error", "error": {"type": kind, "message": message}}
    result = {"type": "errored", "error": error}
    return f'{{"custom_id": {quote(name)}, "result": {quote(result)}}}'.encode()


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            yield line.rstrip(b"\n")
