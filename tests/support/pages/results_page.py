"""Make a results page and open it in Chromium, watched: no request, message, error or dialog may come from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Download, Page

from page.writer import PageRow
from support.pages.page_rows import summary, write_page

HANG = 120_000  # ms until a page that hangs fails its test; a busy machine needs far fewer
WIDE = {"width": 1366, "height": 768}


def make_page(folder: Path, rows: Iterable[PageRow], **more: Any) -> Path:
    """Write a results page for `rows`; `more` goes into its summary."""
    path = folder / "results.html"
    listed = list(rows)
    failed = sum(row.status != "succeeded" for row in listed)
    write_page(path, summary(len(listed), failed=failed, **more), listed)
    return path


@contextmanager
def opened(browser: Browser, path: Path, address: str = "", *, ready: bool = True, **context: Any) -> Iterator[Page]:
    """Open a page from disk; on leaving, assert that it did nothing that a page from disk must not do."""
    profile = browser.new_context(viewport=context.pop("viewport", WIDE), accept_downloads=True, **context)
    profile.set_default_timeout(HANG)
    page = profile.new_page()
    seen: list[str] = []
    page.on("console", lambda message: seen.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: seen.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (seen.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((path.as_uri(), "blob:")) else seen.append(f"request: {request.url}")
        ),
    )
    profile.on("page", lambda other: seen.append(f"window: {other.url}"))
    try:
        page.goto(path.as_uri() + address)
        if ready:
            page.wait_for_selector("html[data-state=ready]")
        yield page
        assert seen == []
    finally:
        profile.close()


def open_charts(page: Page) -> None:
    """Open the charts, which give way to the rows until somebody wants them."""
    page.click("#chartbox summary")


def lines_shown(page: Page) -> list[int]:
    """Return the line numbers of the rows in the list that are drawn, from top to bottom."""
    rows = page.locator("#list .row").evaluate_all(
        """rows => rows.map(row => [Number(row.dataset.position), Number(row.dataset.line)])
             .sort((a, b) => a[0] - b[0]).map(pair => pair[1])"""
    )
    return [int(line) for line in rows]


def wait_for_count(page: Page, text: str) -> None:
    """Wait until the count above the list reads `text`."""
    page.wait_for_function("text => document.getElementById('count').textContent === text", arg=text)


def wait_for_line(page: Page, line: int) -> None:
    """Wait until the pane shows this line."""
    page.wait_for_function("text => document.getElementById('title').textContent === text", arg=f"Line {line:,}")


def search(page: Page, text: str) -> None:
    """Type into the search box."""
    page.fill("#search", text)


def saved(page: Page, button: str) -> Download:
    """Click a button that saves a file, and return the file."""
    with page.expect_download() as waiting:
        page.click(button)
    return waiting.value


def saved_bytes(page: Page, button: str) -> bytes:
    """Click a button that saves a file, and return what is in the file."""
    return Path(saved(page, button).path()).read_bytes()


def drop(page: Page, path: Path, choice: str) -> None:
    """Give the page a file and choose what to do with it: the name of a button of the question."""
    page.set_input_files("#file", path)
    page.click(f"dialog[open] button:text-is('{choice}')")


def as_jsonl(rows: Iterable[PageRow]) -> bytes:
    """Return the rows as output.jsonl has them."""
    return b"".join(row.output + b"\n" for row in rows)
