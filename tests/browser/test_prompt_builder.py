"""The prompt builder in Chromium: rows as a table and as cards."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from maintenance import build_prompt_builder
from support.pages.browser import BUILDER
from support.pages.builder_moves import THREE, import_rows, labels, open_row, option, raws, rows

pytestmark = pytest.mark.browser


def test_the_committed_page_is_what_its_sources_make() -> None:
    assert BUILDER.read_text(encoding="utf-8") == build_prompt_builder.build()
    assert build_prompt_builder.main(["--check"]) == 0


def test_rows_show_as_a_table_and_one_by_one_as_cards(page: Page) -> None:
    import_rows(page, THREE)
    assert labels(page) == ["one", "two", "three"]
    open_row(page, 2)
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("two")
    page.get_by_role("button", name="Next row", exact=True).click()
    expect(page.get_by_role("heading", name="Line 3")).to_be_visible()
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("three")


def test_a_row_is_written_from_nothing(page: Page) -> None:
    page.get_by_role("button", name="Write a row").click()
    page.keyboard.type("ignored by no one")
    page.get_by_label("Prompt", exact=True).fill("Why is the sky blue?")
    page.get_by_label("System message").fill("Be brief.")
    option(page, "Temperature").fill("0")
    assert rows(page) == [{"prompt": "Why is the sky blue?", "system": "Be brief.", "temperature": 0}]


def test_rows_are_added_duplicated_moved_and_deleted_and_all_of_it_undone_and_redone(page: Page) -> None:
    import_rows(page, THREE)
    open_row(page, 2)
    page.get_by_role("button", name="Duplicate").click()
    assert [row["prompt"] for row in rows(page)] == ["one", "two", "two", "three"]
    page.get_by_role("button", name="Move down").click()
    page.get_by_role("button", name="Move up").click()
    page.get_by_role("button", name="Move up").click()
    page.locator("#delete").click()
    assert [row["prompt"] for row in rows(page)] == ["one", "two", "three"]
    page.locator("#add").click()
    after = raws(page)
    for _ in range(6):
        page.locator("#undo").click()
    assert raws(page) == THREE
    for _ in range(6):
        page.locator("#redo").click()
    assert raws(page) == after


def test_rows_are_moved_by_dragging_their_number(page: Page) -> None:
    import_rows(page, THREE)
    grip = page.locator("#grid-body .row[aria-rowindex='2'] .c1")
    grip.hover()
    page.mouse.down()
    box = page.locator("#grid-body .row[aria-rowindex='4']").bounding_box()
    assert box
    page.mouse.move(box["x"] + 60, box["y"] + box["height"] - 2, steps=5)
    page.mouse.up()
    assert [row["prompt"] for row in rows(page)] == ["two", "three", "one"]


def test_several_rows_are_selected_and_moved_together(page: Page) -> None:
    import_rows(page, [{"prompt": name} for name in "abcde"])
    page.get_by_label("Select line 2").click()
    page.get_by_label("Select line 3").click(modifiers=["Shift"])
    page.locator("#grid").focus()
    page.keyboard.press("Alt+ArrowDown")
    assert [row["prompt"] for row in rows(page)] == list("adbce")
    page.keyboard.press("Delete")
    assert [row["prompt"] for row in rows(page)] == list("ade")


def test_the_table_is_used_by_keyboard_alone(page: Page) -> None:
    import_rows(page, [{"prompt": str(n)} for n in range(50)])
    page.locator("#grid").focus()
    for key in ("End", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Line 49")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#grid")).to_be_focused()
    page.keyboard.press("Control+d")
    assert len(rows(page)) == 51
    page.keyboard.press("Control+z")
    page.keyboard.press("/")
    page.keyboard.type("48")
    expect(page.locator("#grid-body .row")).to_have_count(1)


def test_a_cell_is_edited_in_its_place(page: Page) -> None:
    import_rows(page, ['{"id": 1.0, "prompt": "one", "topic": "x"}', '{"id": 2, "prompt": "two"}'])
    page.get_by_role("button", name="Close the row").click()
    page.locator("#grid-body .row[aria-rowindex='3'] .extra").last.dblclick()
    page.keyboard.type("new topic")
    page.keyboard.press("Enter")
    page.locator("#grid-body .row[aria-rowindex='2'] .extra").first.dblclick()
    page.keyboard.type("1.50")
    page.keyboard.press("Enter")
    page.keyboard.press("F2")
    page.keyboard.type("not kept")
    page.keyboard.press("Escape")
    page.keyboard.press("F2")
    page.keyboard.type("kept")
    page.keyboard.press("Enter")
    assert raws(page) == [
        '{"id": 1.50, "prompt": "kept", "topic": "x"}',
        '{"id": 2, "prompt": "two", "topic": "new topic"}',
    ]
