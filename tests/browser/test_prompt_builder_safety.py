"""The prompt builder takes hostile text in and nothing comes of it; it is usable by everyone, in light and in dark."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from support.pages.browser import BUILDER, Watch, open_builder
from support.pages.builder_moves import exported, import_bytes, import_rows, open_row, raws

pytestmark = pytest.mark.browser

MARKUP = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<svg onload=alert(3)><style>*{display:none}</style>",
    "javascript:alert(4)",
    '"><iframe src="https://example.com/">',
    "{{constructor.constructor('alert(5)')()}}${alert(6)}",
    "=HYPERLINK(\"https://example.com\")",
    "openjd_fail: no\nopenjd_env: A=b",
    "\u202eright to left\u2066\u0000\ufeff\u2028",
    "https://example.com/beacon.png",
]  # fmt: skip


def hostile_rows() -> list[str]:
    """Return rows with hostile text in every place that the page shows."""
    rows: list[Any] = []
    for text in MARKUP:
        image = {"type": "image_url", "image_url": {"url": text}}
        talk = [
            {"role": text, "content": text},
            {"role": "user", "content": [{"type": "text", "text": text}, image, {text: text}]},
        ]
        rows += [
            {"prompt": text, "id": text, "system": text, text: text, "temperature": text, "stop": [text]},
            {"messages": talk, "response_format": {text: text}, "model": text},
            {"custom_id": text, "method": text, "url": "/" + text, "body": {"messages": talk, text: text}},
            {"custom_id": text, "params": {"messages": talk}},
            {"input": {"messages": talk, "sampling_params": {"n": text}}},
            {"recordId": text, "modelInput": {"prompt": text}},
        ]
    odd = [
        '{"__proto__": {"ok": 1}, "prompt": "x"}',
        '{"constructor": 1, "toString": "x", "text": "x", "hasOwnProperty": 0}',
        "<b>",
        "[1]",
        '{"prompt": "\\ud800"}',
    ]
    deep = '{"prompt": "x", "deep": ' + "[" * 5000 + "]" * 5000 + "}"
    return [json.dumps(row, ensure_ascii=False) for row in rows] + [*odd, deep, json.dumps({"prompt": "x" * 1_000_000})]


def test_nothing_in_hostile_rows_acts_in_any_part_of_the_page(page: Page) -> None:
    lines = hostile_rows()
    import_bytes(page, "".join(f"{line}\n" for line in lines).encode(), "<img src=x onerror=alert(7)>.jsonl")
    page.click("#import-add")
    for line in range(1, len(lines) + 1):
        page.evaluate(
            "(line) => { const grid = document.getElementById('grid'); grid.scrollTop = (line - 1) * 40; }", line
        )
        open_row(page, line)
    for tab in ("Raw JSON", "Form"):
        page.get_by_role("tab", name=tab).click()
    page.get_by_role("tab", name="Template").click()
    for text in MARKUP:
        page.get_by_label("Prompt template").fill(text + "{{prompt}}")
    page.get_by_role("tab", name="Check and submit").click()
    for label in ("File to export", "Output folder", "Job bundle’s folder", "Model (empty: the job’s default)"):
        page.get_by_label(label).fill(MARKUP[1])
    assert (
        page.evaluate("() => document.querySelectorAll('img, iframe, svg, object, embed, link, script').length") == 2
    )  # rules, script
    assert page.evaluate("() => ({}).ok") is None
    page.get_by_label("File to export").fill("prompts.jsonl")
    assert exported(page).decode() == "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.json", "a.txt"])
def test_hostile_tables_and_texts_come_in_as_text(page: Page, name: str) -> None:
    cells = ['"' + text.replace('"', '""') + '"' for text in MARKUP]
    table = "\n".join((("\t" if name == "a.tsv" else ",").join(cells), *cells))
    texts = {"a.json": json.dumps(MARKUP), "a.txt": "\n".join(MARKUP)}
    import_bytes(page, texts.get(name, table).encode(), name)
    page.click("#import-add")
    open_row(page, 1)
    page.get_by_role("tab", name="Template").click()
    assert page.evaluate("() => document.querySelectorAll('img, iframe, svg').length") == 0


def test_the_policy_of_the_page_allows_its_own_script_and_style_alone() -> None:
    text = BUILDER.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert "http:" not in policy[1]
    assert re.findall(r"<(?:script|style)[^>]*>", text) == [
        "<style>",
        '<script type="application/json" id="rules">',
        "<script>",
    ]
    assert re.findall(r"\son\w+=|\sstyle=|\s(?:src|href)=\"(?!#)", text.split("<script>")[0]) == []
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert sink not in text


def test_a_script_that_gets_into_the_page_does_not_run(chromium: Browser) -> None:
    context = chromium.new_context()
    page = context.new_page()
    open_builder(page)
    refused = page.evaluate(
        """() => {
            const script = document.createElement("script");
            try { script.textContent = "globalThis.broken = true"; } catch (error) { return error.name; }
            document.body.append(script);
            return globalThis.broken ?? "not run";
        }"""
    )
    context.close()
    assert refused in ("TypeError", "not run")


def axe() -> str:
    """Return axe-core, as its package ships it."""
    return resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def violations(page: Page) -> list[str]:
    """Return what axe finds wrong with the page as it now stands."""
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{v['id']}: {node['html'][:150]} {node['failureSummary']}" for v in found["violations"] for node in v["nodes"]
    ]


SOME = [
    {"id": "1", "prompt": "A question", "topic": "x", "temperature": 0},
    {"id": "2", "prompt": "A wrong one", "top_p": 7},
    {
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "t"}, {"type": "image", "source": {"url": "u"}}]},
        ]
    },
    {"custom_id": "a", "url": "/v1/embeddings", "body": {"input": "x"}},
]  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1366, 390])
def test_axe_finds_nothing_wrong_in_any_view(chromium: Browser, watch: Watch, scheme: Any, width: int) -> None:
    context = chromium.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    watch.follow(page)
    open_builder(page)
    page.evaluate(axe())
    assert violations(page) == []
    import_bytes(page, b"text,label\na,b\nc\n", "a.csv")
    assert violations(page) == []
    page.click("#import-close")
    import_rows(page, [*SOME, "{broken"])
    page.locator("#toast").evaluate("(toast) => { toast.hidden = true; }")
    assert violations(page) == []
    for line in range(1, 6):
        open_row(page, line)
        page.evaluate("() => document.querySelectorAll('#card details').forEach((group) => { group.open = true; })")
        assert violations(page) == []
        page.locator("[data-act=close]").click()
    for tab in ("Template", "Check and submit"):
        page.get_by_role("tab", name=tab).click()
        assert violations(page) == []
    context.close()


@pytest.mark.parametrize("width", [1366, 768, 390, 320])
def test_nothing_is_wider_than_the_screen(chromium: Browser, width: int) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    open_builder(page)
    import_rows(page, SOME)
    open_row(page, 3)
    for tab in (None, "Template", "Check and submit"):
        if tab:
            page.locator("[data-act=close]").click() if page.locator("#card").is_visible() else None
            page.get_by_role("tab", name=tab).click()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    context.close()


def test_every_control_is_reached_and_left_by_the_tab_key_in_sight(page: Page) -> None:
    import_rows(page, SOME)
    open_row(page, 1)
    names = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        names.add(
            page.evaluate("() => { const at = document.activeElement; return at.dataset.path || at.id || at.tagName; }")
        )
    assert {
        "undo",
        "import",
        "export",
        "tab-rows",
        "add",
        "find",
        "grid",
        "card-tab-form",
        "prompt",
        "id",
        "option/temperature",
    } <= names


def test_what_happens_is_told_to_screen_readers(page: Page) -> None:
    import_rows(page, SOME)
    expect(page.get_by_role("status").filter(has_text="4 rows imported, 1 line to mend")).to_be_visible()
    grid = page.get_by_role("grid", name="Rows")
    expect(grid).to_have_attribute("aria-rowcount", "5")
    grid.focus()
    page.keyboard.press("ArrowDown")
    active = grid.get_attribute("aria-activedescendant")
    assert active
    expect(page.locator(f"#{active}")).to_have_attribute("aria-rowindex", "3")
    expect(page.locator(f"#{active}")).to_contain_text("has a problem")


def test_a_field_is_set_in_all_selected_rows_where_each_dialect_keeps_it(page: Page) -> None:
    import_rows(page, [*SOME[:1], SOME[3], {"input": {"prompt": "x"}}])
    page.get_by_label("Select all rows shown").check()
    page.get_by_role("button", name="Set a field").click()
    page.get_by_label("Field or option").fill("temperature")
    page.get_by_label("Value: JSON").fill("0.50")
    page.get_by_role("button", name="Set it").click()
    first, second, third = raws(page)
    assert first.endswith('"temperature": 0.50}')
    assert second.endswith('"body": {"input": "x", "temperature": 0.50}}')
    assert third == '{"input": {"prompt": "x", "sampling_params": {"temperature": 0.50}}}'
