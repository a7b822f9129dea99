"""The prompt builder in Chromium: work that is kept between visits and tabs, and 10,000 rows."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from support.pages.browser import Watch, open_builder
from support.pages.builder_moves import (
    exported,
    import_bytes,
    import_rows,
    open_row,
    rows,
    saved,
)

pytestmark = pytest.mark.browser


def test_work_is_kept_between_visits_until_it_is_cleared(context: BrowserContext, page: Page, watch: Watch) -> None:
    import_bytes(page, b'{"prompt": "x", "id": 1.0}\n' + b'{"prompt": "\xe9"}\n')
    page.click("#import-add")
    page.get_by_role("tab", name="Template").click()
    page.get_by_label("Prompt template").fill("{{prompt}}!")
    saved(page)
    page.close()
    again = context.new_page()
    watch.follow(again)
    open_builder(again)
    assert exported(again) == b'{"prompt": "x", "id": 1.0}\n{"prompt": "\xe9"}\n'
    again.get_by_role("tab", name="Template").click()
    expect(again.get_by_label("Prompt template")).to_have_value("{{prompt}}!")
    again.get_by_role("tab", name="Check and submit").click()
    again.get_by_role("button", name="Clear everything").click()
    again.get_by_role("button", name="Clear", exact=True).click()
    saved(again)
    again.reload()
    again.wait_for_selector("html[data-ready]")
    expect(again.locator("#empty")).to_be_visible()


def test_work_is_kept_where_the_browser_refuses_local_storage(context: BrowserContext, watch: Watch) -> None:
    """As some do to a page from disk: merely naming it throws."""
    denied = "get() { throw new DOMException('denied', 'SecurityError'); }"
    context.add_init_script(f"Object.defineProperty(globalThis, 'localStorage', {{ {denied} }});")
    page = context.new_page()
    watch.follow(page)
    open_builder(page)
    import_rows(page, [{"prompt": "x"}])
    saved(page)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert rows(page) == [{"prompt": "x"}]


def test_the_last_keystroke_before_the_page_closes_is_kept(page: Page) -> None:
    import_rows(page, [{"prompt": "x"}])
    saved(page)
    open_row(page, 1)
    for n in range(5):
        page.get_by_label("Prompt", exact=True).fill(f"typed {n}")
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert rows(page) == [{"prompt": f"typed {n}"}]
        open_row(page, 1)


def test_a_second_tab_says_that_it_does_not_keep_the_work_and_can_take_over(
    context: BrowserContext, page: Page, watch: Watch
) -> None:
    import_rows(page, [{"prompt": "x"}])
    saved(page)
    other = context.new_page()
    watch.follow(other)
    open_builder(other)
    expect(other.locator("#elsewhere")).to_be_visible()
    other.get_by_role("button", name="Work here instead").click()
    expect(other.locator("#elsewhere")).to_be_hidden()
    expect(page.locator("#elsewhere")).to_be_visible()
    open_row(other, 1)
    other.get_by_label("Prompt", exact=True).fill("y")
    saved(other)
    other.reload()
    other.wait_for_selector("html[data-ready]")
    assert rows(other) == [{"prompt": "y"}]


def test_taking_over_loses_nothing_of_either_tab(context: BrowserContext, page: Page, watch: Watch) -> None:
    import_rows(page, [{"prompt": "first tab"}])
    saved(page)
    other = context.new_page()
    watch.follow(other)
    open_builder(other)
    open_row(other, 1)
    other.get_by_label("Prompt", exact=True).fill("second tab")
    page.bring_to_front()
    open_row(page, 1)
    page.get_by_label("Prompt", exact=True).fill("first tab, later")
    other.bring_to_front()
    other.get_by_role("button", name="Work here instead").click()
    expect(other.locator("#toast")).to_contain_text("Undo brings back")
    assert rows(other) == [{"prompt": "first tab, later"}]
    other.locator("#undo").click()
    assert rows(other) == [{"prompt": "second tab"}]


def test_ten_thousand_rows_are_edited_found_and_kept(page: Page) -> None:
    import_rows(page, [{"id": n, "prompt": f"What is {n} squared?", "max_tokens": 16} for n in range(1, 10_001)])
    assert page.locator("#grid-body .row").count() < 60
    page.locator("#grid").focus()
    page.keyboard.press("End")
    expect(page.locator("#grid-body .row[aria-rowindex='10001']")).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.type("Now the last.")
    page.locator("#find").fill("9999 squared")
    expect(page.locator("#grid-body .row")).to_have_count(1)
    saved(page)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    kept = rows(page)
    assert len(kept) == 10_000
    assert "Now the last." in kept[-1].values()


LEAVING = """(full) => {
  const put = Storage.prototype.setItem;
  if (full) Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
  const work = promptBuilder.workspace;
  work.add([work.makeRow('{"prompt": "new"}')], 0, "new row");
  const leaving = new Event("beforeunload", { cancelable: true });
  dispatchEvent(leaving);
  Storage.prototype.setItem = put;
  return leaving.defaultPrevented;
}"""


@pytest.mark.parametrize("full", [True, False])
def test_the_browser_asks_before_it_leaves_rows_that_nothing_keeps(page: Page, *, full: bool) -> None:
    assert page.evaluate(LEAVING, full) is full
    saved(page)
    page.evaluate("() => addEventListener('beforeunload', (event) => (globalThis.asked = event.defaultPrevented))")
    page.evaluate("() => dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    assert page.evaluate("() => asked") is False
