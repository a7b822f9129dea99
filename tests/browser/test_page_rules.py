"""Both pages know what the worker knows of rows: they carry its tables, and list nothing of their own."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from job.options import OPTIONS, Option, Value
from maintenance import build_prompt_builder
from page.rules import rules
from support.pages.page_rows import page_row
from support.pages.results_page import make_page, opened

pytestmark = pytest.mark.browser
EXAMPLES: dict[str, Any] = {
    "integer": 1,
    "number": 1,
    "boolean": True,
    "string": "x",
    "object": {"a": 1},
    "list": [],
    "word": "never",
}
SOURCES = [*build_prompt_builder.SOURCES.rglob("*.js"), *(build_prompt_builder.BUNDLE / "scripts/page").rglob("*.js")]


def shown(browser: Browser, folder: Path) -> tuple[list[str], list[str]]:
    """Return what the page tells of a row with every option: the options, and the fields of the user's own."""
    row = {"prompt": "Hi", "topic": "mine", "generated_text": "Hello"}
    row |= {name: EXAMPLES[option.takes[0].kind] for name, option in OPTIONS.items()}
    with opened(browser, make_page(folder, [page_row(1, row, random.Random(1))])) as page:
        names = page.locator("h3:text('Options of this row') + .chips :is(.name, .role)").all_inner_texts()
        sorts = page.locator("#sort option").all_text_contents()
    return names, sorts


def test_the_results_page_tells_every_option_of_the_worker_from_the_users_own_fields(
    chromium: Browser, tmp_path: Path
) -> None:
    names, sorts = shown(chromium, tmp_path)
    assert OPTIONS.keys() <= set(names)
    assert [name for name in sorts if name.startswith("Field ")] == ["Field topic"]


def test_an_option_that_the_worker_learns_is_one_on_the_results_page(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OPTIONS, "brand_new", Option("a number", (Value("number"),)))
    names, sorts = shown(chromium, tmp_path)
    assert "brand_new" in names
    assert "Field brand_new" not in sorts


def test_an_option_that_the_worker_learns_makes_the_kept_builder_stale(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(OPTIONS, "brand_new", Option("a number", (Value("number"),)))
    assert build_prompt_builder.main(["--check"]) == 1
    assert "not what its sources make" in capsys.readouterr().err


def test_an_option_that_only_the_form_knows_makes_no_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = {name: option for name, option in OPTIONS.items() if name != "top_k"}
    monkeypatch.setattr("job.options.OPTIONS", fewer)  # not `delitem`, whose undoing puts the option last
    with pytest.raises(build_prompt_builder.BuildError, match="no option: top_k"):
        build_prompt_builder.build()


def test_the_builder_carries_the_rules(page: Page) -> None:
    text = page.locator("#rules").text_content()
    assert text is not None
    carried = json.loads(text)
    del carried["form"]
    assert carried == json.loads(json.dumps(rules()))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_script_lists_options_or_routes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    told = OPTIONS.keys() & set(re.findall(r'(?<!\{)"(\w+)"(?!:)', text))  # an example's `{"prompt": ...}` is no list
    assert len(told) < 4, told
    routes = set(re.findall(r'"(/v\d/[\w/]+)"', text)) & set(rules()["routes"])
    assert len(routes) < 2, routes
