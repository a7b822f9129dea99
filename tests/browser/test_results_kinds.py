"""results.html in Chromium: answers that are no texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support.pages.page_gallery import gallery, kinds
from support.pages.results_page import make_page, open_charts, opened, wait_for_line

pytestmark = pytest.mark.browser

NAMES = [name for name, _, _ in kinds()]


@pytest.fixture(scope="module")
def gallery_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("gallery"), gallery())


def row(name: str) -> str:
    """Return the address of the gallery's row of this kind."""
    return f"#row={NAMES.index(name) + 1}"


def test_embeddings_are_numbers_a_picture_and_a_map(chromium: Browser, gallery_page: Path) -> None:
    with opened(chromium, gallery_page, f"#row={len(NAMES) + 1}") as page:
        open_charts(page)
        page.wait_for_selector("#charts .map")
        assert page.locator("#charts .map .dot").count() == 40
        wait_for_line(page, len(NAMES) + 1)
        page.wait_for_selector("#body h4")
        text = page.locator("#body .given").inner_text()
        assert "Dimensions\n64" in text
        assert "Norm\n1.0000" in text
        nearest = page.locator("#body .vector .bars .name").all_inner_texts()
        assert all("photosynthesis" in name for name in nearest)


def test_ranks_are_documents_sorted_with_bars(chromium: Browser, gallery_page: Path) -> None:
    with opened(chromium, gallery_page, row("rank")) as page:
        assert page.locator(".ranks li .text").all_inner_texts() == [
            "Tides follow the moon.",
            "The sea rises twice a day.",
            "Bread needs yeast.",
        ]
        widths = page.locator(".ranks .fill").evaluate_all("bars => bars.map(bar => bar.offsetWidth)")
        assert widths == sorted(widths, reverse=True)


def test_scores_take_their_documents_from_the_input(chromium: Browser, gallery_page: Path) -> None:
    with opened(chromium, gallery_page, row("score")) as page:
        assert page.locator(".ranks li .text").all_inner_texts() == [
            "Tides follow the moon.",
            "The sea rises twice a day.",
            "Bread needs yeast.",
        ]


def test_classes_show_their_label_and_probabilities(chromium: Browser, gallery_page: Path) -> None:
    with opened(chromium, gallery_page, row("class")) as page:
        assert page.locator(".classes .headline").inner_text() == "positive"
        assert page.locator(".classes .value").all_inner_texts() == ["97.0 %", "3.0 %"]
