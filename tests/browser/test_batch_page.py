"""The page of the batch APIs, in Chromium: what it shows, what it may do, and who may make it do something."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page

from batches.batch import Batch, State, make_batch
from support.batch_service import Programs, Service, serve
from support.fake_server import FakeServer
from support.pages.results_page import HANG

pytestmark = pytest.mark.browser

AXE = resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
EVIL = '<img src=x onerror="document.title=1">\u2028</script>'


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """The APIs with one batch whose job is held; the test's own are put beside it."""
    let_go = threading.Event()
    backend = Programs(before=lambda _: bool(let_go.wait(60)) and None)
    with FakeServer() as engine, serve(tmp_path, engine.url, backend=backend) as one:
        yield one
        backend.is_over = True
        let_go.set()


def add(service: Service, state: State, **values: Any) -> Batch:
    """Keep a batch as if it had come so far; it is nobody's to drive."""
    batch, _ = service.core.batches.add(make_batch("openai", "batch_", {}, 86_400, state=State.FINALIZING))
    times = {state: batch.created + 60}
    return service.core.batches.change(batch.id, (State.FINALIZING,), state, times=times, **values) or batch


def fill(service: Service) -> Batch:
    """Keep a batch in each state, one with results; return that."""
    for state in State:
        add(service, state, total=50, succeeded=12, failed=1, model="fake", why=EVIL if state == State.FAILED else "")
    done = add(service, State.COMPLETED, total=1200, succeeded=1199, failed=1, model="fake")
    page = service.core.work.place(done.id).page
    page.parent.mkdir(parents=True)
    page.write_text("<!doctype html><title>r</title><script>document.title = self.origin</script>")
    page.with_name("summary.json").write_text('{"cost": {"dollars": 0.0421}}')
    return done


@pytest.fixture
def shown(chromium: Browser, service: Service) -> Iterator[Page]:
    """The page with a batch of each state; it may say nothing in the console."""
    fill(service)
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(HANG)
    seen: list[str] = []
    page.on("console", lambda message: seen.append(message.text))
    page.on("pageerror", lambda error: seen.append(str(error)))
    open_page(page, service)
    yield page
    context.close()
    assert seen == []


def open_page(page: Page, service: Service) -> None:
    page.goto(service.url)
    page.wait_for_selector("html[data-ready]")


def test_it_shows_each_batch_with_its_progress_in_lines_its_cost_and_its_results(shown: Page) -> None:
    first = shown.locator(".batch").first
    assert first.locator(".state").text_content() == "completed"
    assert first.locator(".counts").text_content() == "1,200 of 1,200 lines done, 1 failed, $0.0421"
    assert "OpenAI · fake" in (first.locator(".about").text_content() or "")
    assert first.locator(".cancel").is_hidden()
    assert shown.locator(".batch").count() == len(State) + 1
    assert EVIL.replace("\u2028", "") in (shown.locator(".wrong:visible").text_content() or "").replace("\u2028", "")


def test_a_batch_is_cancelled_once_its_person_says_so_twice(shown: Page, service: Service) -> None:
    row = shown.locator(".batch:has(.cancel:visible)").first
    name = row.locator(".id").text_content() or ""
    row.locator(".cancel").click()
    shown.get_by_role("button", name="Let it go on").click()
    assert not service.core.batches.get(name).is_cancelling  # type: ignore[union-attr]
    row.locator(".cancel").click()
    shown.get_by_role("button", name="Cancel the batch").click()
    shown.wait_for_selector(f".batch:has(:text('{name}')) .state:text('cancelling')")
    assert service.core.batches.get(name).is_cancelling  # type: ignore[union-attr]


def test_it_goes_on_showing_what_changes(shown: Page, service: Service) -> None:
    batch = add(service, State.RUNNING, total=4, succeeded=1)
    counts = f".batch:has(:text('{batch.id}')) .counts"
    shown.wait_for_selector(f"{counts}:text('1 of 4 lines done')")
    service.core.batches.change(batch.id, (State.RUNNING,), succeeded=3)
    shown.wait_for_selector(f"{counts}:text('3 of 4 lines done')")


def test_results_open_in_a_document_that_reaches_nothing_here(shown: Page) -> None:
    with shown.expect_popup() as opening:
        shown.locator(".open:visible").click()
    opening.value.wait_for_function("document.title !== 'r'")
    assert opening.value.title() == "null"  # an origin of its own


def test_no_other_site_and_no_bare_post_cancels(service: Service) -> None:
    batch = add(service, State.RUNNING)
    url = f"{service.url}/page/batches/{batch.id}/cancel"
    tries = [{}, {"Origin": "https://evil.example", "X-Batch-Page": "1"}, {"Host": "evil.example", "X-Batch-Page": "1"}]
    assert [httpx.post(url, headers=headers).status_code for headers in tries] == [403, 403, 403]
    assert not service.core.batches.get(batch.id).is_cancelling  # type: ignore[union-attr]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(
    chromium: Browser, service: Service, scheme: Any, width: int
) -> None:
    fill(service)
    context = chromium.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce"
    )
    page = context.new_page()
    open_page(page, service)
    page.evaluate(AXE)
    for asks in (False, True):
        if asks:
            page.locator(".cancel:visible").first.click()
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()
