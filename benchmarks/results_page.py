"""Row 9: results.html of 100,000 rows: its size against output.jsonl, the time to the first rows, a search over all.

The same of answers that are JSON objects, which are columns: a filter on one of them, and the cross table besides.

Makes the page from made-up rows of about 800 bytes, or from the lines of an output.jsonl (`--output FILE`, repeated
until there are enough), and opens it in Chromium (CHROMIUM, or the one on PATH). Says what making it cost besides.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from figures import ROOT, Figure, emit, say
from playwright.sync_api import Page, sync_playwright

sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

from page.writer import PageRow  # noqa: E402 - found by the line above
from support.pages.page_rows import object_rows, prompt_rows, summary, write_page  # noqa: E402

ROWS = 100_000
SIZE_GOAL, FIRST_GOAL, SEARCH_GOAL = 0.35, 2.0, 0.3  # of output.jsonl; seconds; seconds
SEARCHES = ("tides", "context length", "the", "zzzqqq", 'energy heat "of the"', "e")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
TYPE_AND_WAIT = """async (text) => {
  const box = document.getElementById("search");
  const start = performance.now();
  performance.clearMeasures();
  box.value = text;
  box.dispatchEvent(new Event("input"));
  while (!performance.getEntriesByName("query", "measure").length) await new Promise((go) => setTimeout(go, 2));
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go, 0)));
  return (performance.now() - start) / 1000;
}"""


FILTER_AND_WAIT = """async (hash) => {
  const set = async (value) => {
    performance.clearMeasures();
    location.hash = value;
    while (!performance.getEntriesByName("query", "measure").length) await new Promise((go) => setTimeout(go, 2));
  };
  await set("#status=succeeded");
  const start = performance.now();
  await set(hash);
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go, 0)));
  return (performance.now() - start) / 1000;
}"""
CROSS_AND_WAIT = """async () => {
  const start = performance.now();
  document.querySelector(".cross select").dispatchEvent(new Event("change"));
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go, 0)));
  return (performance.now() - start) / 1000;
}"""
FILTERS = (
    "#answer.is=sentiment%3Dmixed",
    "#answer.min=score%3D0.5",
    "#answer=note%3Dtides",
    "#answer.is=topics%3Dprice",
)


def text_rows(path: Path | None) -> Iterator[PageRow]:
    """Yield the rows: made up, or the lines of a file over and over."""
    made = prompt_rows(ROWS, failed=frozenset(range(17, ROWS, 997)))
    if path is None:
        yield from made
        return
    lines = path.read_bytes().splitlines()
    for row in made:
        yield replace(row, status="succeeded", output=lines[row.line % len(lines)], input=b"")


def make(folder: Path, rows: list[PageRow]) -> tuple[Path, float]:
    """Write the page; return it and its share of output.jsonl."""
    raw = sum(len(row.output) + 1 for row in rows)
    cpu, wall = time.process_time(), time.perf_counter()
    report = write_page(folder / "results.html", summary(ROWS), rows)
    say(f"page written in {time.perf_counter() - wall:.1f} s, {time.process_time() - cpu:.1f} s of CPU: {report}")
    return folder / "results.html", report.bytes / raw


def first_rows(page: Page, path: Path) -> tuple[float, float]:
    """Open the page; return the seconds until rows are on screen, and until all are read."""
    start = time.perf_counter()
    page.goto(path.as_uri(), wait_until="commit")
    page.wait_for_selector("#list .row .prompt")
    first = time.perf_counter() - start
    page.wait_for_selector("html[data-state=ready]", timeout=120_000)
    return first, time.perf_counter() - start


def measure(page: Page, folder: Path, rows: list[PageRow], what: str) -> None:
    """Make a page of rows and emit what it takes."""
    path, share = make(folder, rows)
    first, whole = first_rows(page, path)
    say(f"all rows read after {whole:.1f} s")
    times = {text: median(page, TYPE_AND_WAIT, text) for text in SEARCHES}
    say(
        "searches, from the key to the drawn list: "
        + ", ".join(f"{text!r} {took:.2f} s" for text, took in times.items())
    )
    emit(Figure(9, f"{what}: size against output.jsonl", f"{SIZE_GOAL}", f"{share:.2f}", share <= SIZE_GOAL))
    emit(Figure(9, "the same: seconds to the first rows", f"{FIRST_GOAL}", f"{first:.1f}", first <= FIRST_GOAL))
    tell("the same: a search over all, the slowest of six", max(times.values()))


def median(page: Page, script: str, given: str | None = None) -> float:
    """Return the seconds that a script measures, the middle of three."""
    return statistics.median(page.evaluate(script, given) for _ in range(3))


def tell(what: str, seconds: float) -> None:
    """Emit what an action took against what it may take."""
    emit(Figure(9, what, f"{SEARCH_GOAL}", f"{seconds:.2f}", seconds <= SEARCH_GOAL))


def main() -> int:
    """Measure and emit the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="an output.jsonl whose lines make the rows")
    source = parser.parse_args().output
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        measure(page, Path(folder), list(text_rows(source)), f"results.html of {ROWS:,} rows")
        if source is None:
            measure(
                page, Path(folder), list(object_rows(ROWS)), f"results.html of {ROWS:,} answers that are JSON objects"
            )
            filters = [median(page, FILTER_AND_WAIT, address) for address in FILTERS]
            tell("the same: a filter on an answer's field, the slowest of four", max(filters))
            tell("the same: the cross table of two columns", median(page, CROSS_AND_WAIT))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
