"""Fixtures for the pages: real Chromium, and the prompt builder opened from disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, sync_playwright

from support.pages.results_page import HANG

BUILDER = Path(__file__).resolve().parents[3] / "tools" / "prompt_builder.html"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Watch:
    """What a page did that it must not: requests, console messages, errors, dialogs."""

    seen: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        """Write down what `page` does from now on."""
        page.on("console", lambda message: self.seen.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.seen.append(f"error: {error}"))
        page.on("dialog", self.note_dialog)
        page.on("request", lambda request: self.note_request(request.url))

    def note_dialog(self, dialog: Dialog) -> None:
        """Write down a dialog and close it."""
        self.seen.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def note_request(self, url: str) -> None:
        """Write down a request that leaves the page's own file."""
        if not url.startswith((BUILDER.as_uri(), "blob:")):
            self.seen.append(f"request: {url}")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Chromium, one for the tests of a file."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert path, "Chromium is missing: set CHROMIUM, or run tests/run_all.py, which installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser profile of its own, with nothing kept from other tests."""
    context = chromium.new_context(viewport={"width": 1366, "height": 768}, accept_downloads=True)
    context.set_default_timeout(HANG)
    yield context
    context.close()


@pytest.fixture
def watch() -> Iterator[Watch]:
    """A watch over the test's pages; the test fails if a page did what it must not."""
    watch = Watch()
    yield watch
    assert watch.seen == []


@pytest.fixture
def page(context: BrowserContext, watch: Watch) -> Page:
    """The prompt builder, opened from disk and watched."""
    page = context.new_page()
    watch.follow(page)
    open_builder(page)
    return page


def open_builder(page: Page) -> None:
    """Open the prompt builder and wait until it has read what an earlier visit left."""
    page.goto(BUILDER.as_uri())
    page.wait_for_selector("html[data-ready]")
