"""results.html where it cannot work: in old browsers, and as a copy that a browser saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from support.pages.page_rows import prompt_rows
from support.pages.results_page import make_page, opened

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def prompts_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("prompts"), prompt_rows(30))


def test_a_browser_that_cannot_read_the_script_is_told_so(chromium: Browser, prompts_page: Path) -> None:
    profile = chromium.new_context(java_script_enabled=False)
    page = profile.new_page()
    page.goto(prompts_page.as_uri())
    page.wait_for_selector("#old", state="visible")
    assert "too old" in page.locator("#old").inner_text()
    profile.close()


def test_a_browser_that_cannot_unpack_rows_says_so(chromium: Browser, prompts_page: Path) -> None:
    profile = chromium.new_context()
    profile.add_init_script("delete globalThis.DecompressionStream")
    assert "too old" in alert(profile.new_page(), prompts_page)
    profile.close()


def alert(page: Page, path: Path) -> str:
    """Open a page, whatever it writes to the console, and return what it warns of."""
    page.goto(path.as_uri())
    return page.locator("#remarks [role=alert]").inner_text()


def test_a_copy_that_a_browser_saved_says_where_the_rows_are(
    chromium: Browser, prompts_page: Path, tmp_path: Path
) -> None:
    with opened(chromium, prompts_page) as page:
        saved = page.evaluate("'<!doctype html>' + document.documentElement.outerHTML")
    copy = tmp_path / "copy.html"
    copy.write_text(saved, encoding="utf-8")
    profile = chromium.new_context()  # the copy has styles of the browser's making, which its policy refuses
    assert "a copy that a browser saved" in alert(profile.new_page(), copy)
    profile.close()
