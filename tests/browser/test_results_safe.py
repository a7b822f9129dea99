"""results.html in Chromium: hostile rows, accessibility, small screens, paper, and 100,000 rows."""

from __future__ import annotations

import re
from pathlib import Path

import axe_core_python
import pytest
from playwright.sync_api import Browser, Page

from support.pages.page_gallery import gallery
from support.pages.page_hostile import HOSTILE_TEXTS, hostile
from support.pages.page_rows import prompt_rows
from support.pages.results_page import (
    as_jsonl,
    drop,
    lines_shown,
    make_page,
    opened,
    search,
    wait_for_count,
    wait_for_line,
)

pytestmark = pytest.mark.browser

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(
        tmp_path_factory.mktemp("hostile"),
        hostile(),
        notes=HOSTILE_TEXTS,
        model=HOSTILE_TEXTS[0],
        errors={HOSTILE_TEXTS[1]: 3},
        endpoints={HOSTILE_TEXTS[2]: 1},
    )


@pytest.fixture(scope="module")
def gallery_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("gallery"), gallery(), rerun="15-16")


@pytest.fixture(scope="module")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    rows = list(prompt_rows(100_000, failed=frozenset(range(17, 100_001, 997))))
    (folder / "output.jsonl").write_bytes(as_jsonl(rows))
    return make_page(folder, rows)


# 7. Safe


OPEN_EVERY_ROW = """async (rows) => {
  for (let line = 1; line <= rows; line++) {
    location.hash = `#row=${line}`;
    const there = () => document.getElementById("title").textContent === `Line ${line}`;
    while (!there()) await new Promise((go) => setTimeout(go, 5));
    document.querySelectorAll("#body details").forEach((one) => { one.open = true; });
    document.querySelectorAll("#body .unfold").forEach((one) => one.click());
  }
}"""


def test_no_row_can_act(chromium: Browser, hostile_page: Path) -> None:
    with opened(chromium, hostile_page) as page:
        before = page.evaluate("[document.title, document.scripts.length, document.styleSheets.length]")
        page.click("#filterbutton")
        page.evaluate(OPEN_EVERY_ROW, len(hostile()))
        page.click("#manner")
        page.evaluate(OPEN_EVERY_ROW, len(hostile()))
        assert page.evaluate("[document.title, document.scripts.length, document.styleSheets.length]") == before
        assert (
            page.locator(
                "main :is(a, img, iframe, script, style, form, base, object, embed, link, meta), main svg [onload]"
            ).count()
            == 0
        )
        assert page.evaluate("({}).polluted") is None


def test_the_policy_allows_the_two_blocks_and_nothing_else(hostile_page: Path) -> None:
    [policy] = re.findall(
        r'http-equiv="Content-Security-Policy" content="([^"]+)"', hostile_page.read_text(encoding="utf-8")
    )
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert (
        rules["default-src"] == rules["base-uri"] == rules["form-action"] == "&#39;none&#39;"
        or rules["default-src"] == "'none'"
    )
    assert rules["img-src"] == "data:"
    assert "connect-src" not in rules
    assert rules["require-trusted-types-for"] == "'script'"
    for block in ("script-src", "style-src"):
        assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]+'", rules[block])


def test_a_script_put_into_the_page_does_not_run(chromium: Browser, gallery_page: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.html"
    path.write_text(
        gallery_page.read_text(encoding="utf-8").replace("</body>", "<script>document.title = 'ran'</script></body>"),
        encoding="utf-8",
    )
    profile = chromium.new_context()
    page = profile.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-state=ready]")
    assert page.title() != "ran"
    profile.close()


# 7. Accessible


def violations(page: Page) -> list[str]:
    """Return what axe finds, as text."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [f"{one['id']}: {node['html'][:150]} {node['failureSummary']}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, PHONE], ids=["laptop", "phone"])
def test_axe_finds_nothing(
    chromium: Browser, gallery_page: Path, tmp_path: Path, scheme: str, viewport: dict[str, int] | None
) -> None:
    options = {"viewport": viewport} if viewport else {}
    (tmp_path / "other.jsonl").write_bytes(as_jsonl(prompt_rows(30)))
    with opened(
        chromium, gallery_page, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce", **options
    ) as page:
        assert violations(page) == []
        page.click("#filterbutton")
        search(page, "the")
        page.wait_for_function("() => location.hash.includes('q=the')")  # else it would leave the row of the next link
        for line in (6, 12):
            page.evaluate(f"location.hash = '#row={line}'")
            wait_for_line(page, line)
            page.locator("#body details").evaluate_all("all => all.forEach(one => { one.open = true })")
            assert violations(page) == []
        page.evaluate("document.getElementById('help').showModal()")
        assert violations(page) == []
        page.evaluate("document.getElementById('help').close()")
        drop(page, tmp_path / "other.jsonl", "Compare with it")
        page.wait_for_selector("#compare:not([hidden])")
        assert violations(page) == []


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1366])
def test_nothing_is_wider_than_the_screen(chromium: Browser, hostile_page: Path, width: int) -> None:
    with opened(chromium, hostile_page, viewport={"width": width, "height": 700}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.click("#filterbutton")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_a_row_opens_over_the_list_and_closes(chromium: Browser, gallery_page: Path) -> None:
    with opened(chromium, gallery_page, viewport=PHONE) as page:
        assert not page.locator("#detail").is_visible()
        page.click("#list .row >> nth=1")
        wait_for_line(page, 2)
        assert page.locator("#detail").is_visible()
        page.click("#back")
        assert not page.locator("#detail").is_visible()


def test_it_prints_the_overview_and_the_rows_that_are_shown(chromium: Browser, gallery_page: Path) -> None:
    with opened(chromium, gallery_page) as page:
        page.evaluate("window.print = () => { document.body.dataset.printed = 'yes' }")
        page.click("[data-status=failed]")
        wait_for_count(page, "6 of 66 rows")
        page.click("#printbutton")
        page.wait_for_selector("body[data-printed]")
        page.emulate_media(media="print")
        assert page.locator("#print article").count() == 6
        assert "The model `m` does not exist." in page.locator("#print").inner_text()
        assert not page.locator("#toolbar").is_visible()
        assert page.locator(".outcome").is_visible()


# 6. Scale


def test_100_000_rows_open_scroll_and_search(chromium: Browser, large_page: Path) -> None:
    with opened(chromium, large_page) as page:
        wait_for_count(page, "100,000 rows")
        assert page.locator("#list .row").count() < 60
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        page.wait_for_selector("#list [data-line='100000'] .prompt")
        assert lines_shown(page)[-1] == 100_000
        search(page, "line 997")
        page.wait_for_function("() => document.getElementById('count').textContent.endsWith(' of 100,000 rows')")
        page.evaluate("location.hash = '#row=54321'")
        wait_for_line(page, 54_321)
        page.wait_for_selector("#list [data-line='54321'][aria-selected=true]")


def test_a_list_taller_than_browsers_lay_out_reaches_its_ends(
    chromium: Browser, gallery_page: Path, tmp_path: Path
) -> None:
    rows = 200_000  # times 64 pixels
    (tmp_path / "output.jsonl").write_text(
        "".join(f'{{"prompt":"p{n}"}}\n' for n in range(1, rows + 1)), encoding="utf-8"
    )
    with opened(chromium, gallery_page) as page:
        drop(page, tmp_path / "output.jsonl", "Open its rows here")
        wait_for_count(page, "200,000 rows")
        page.focus("#list")
        for key, line in (("End", rows), ("k", rows - 1), ("Home", 1), ("j", 2)):
            page.keyboard.press(key)
            wait_for_line(page, line)
            page.wait_for_selector(f"#list [data-line='{line}'][aria-selected=true]")
            assert page.locator(f"#list [data-line='{line}']").evaluate(
                "one => one.getBoundingClientRect().bottom <= innerHeight"
            )


def test_the_page_is_much_smaller_than_the_output(large_page: Path) -> None:
    assert large_page.stat().st_size <= 0.35 * large_page.with_name("output.jsonl").stat().st_size


def test_a_page_that_does_not_hold_every_row_says_so(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("page.writer.MAX_ROWS", 1500)
    path = make_page(tmp_path, prompt_rows(4000, failed=frozenset({17, 3999}), words=10))
    (tmp_path / "output.jsonl").write_bytes(as_jsonl(prompt_rows(4000, failed=frozenset({17, 3999}), words=10)))
    with opened(chromium, path) as page:
        assert (
            "This page holds 1,002 of 4,000 rows, all 2 failed ones among them" in page.locator("#remarks").inner_text()
        )
        page.click("[data-status=failed]")
        wait_for_count(page, "2 of 1,002 rows")
        assert lines_shown(page) == [17, 3999]
        drop(page, tmp_path / "output.jsonl", "Open its rows here")
        wait_for_count(page, "2 of 4,000 rows")
        page.click("[data-status=all]")
        wait_for_count(page, "4,000 rows")
