"""What a person does with the prompt builder, as calls."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

THREE = [
    '{"prompt": "one", "id": 1.0}',
    '{"prompt": "two", "temperature": 0}',
    '{"prompt":"three","big":12345678901234567890}',
]
DIALECTS = [
    '{"prompt": "Hi", "topic": "greeting"}',
    '{"custom_id": "r1", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user", "content": "Hi"}]}}',
    '{"custom_id": "a1", "params": {"max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]}}',
    '{"input": {"prompt": "Hi", "sampling_params": {"max_tokens": 5}}}',
    '{"recordId": "R1", "modelInput": {"prompt": "Hi", "inferenceConfig": {"maxTokens": 5}}}',
]


def import_bytes(page: Page, data: bytes, name: str = "prompts.jsonl") -> None:
    """Choose a file in the picker, which opens the import dialog."""
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": data})
    page.wait_for_selector("#import-dialog[open]")


def import_rows(page: Page, rows: Iterable[Any]) -> None:
    """Import rows, given as JSON text or as values, and wait for the table."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    import_bytes(page, "".join(f"{line}\n" for line in lines).encode())
    page.click("#import-add")
    page.wait_for_selector("#grid-body .row")


def raws(page: Page) -> list[str]:
    """Return the rows' texts."""
    return list(page.evaluate("() => promptBuilder.workspace.rows.map((row) => row.raw)"))


def rows(page: Page) -> list[Any]:
    """Return the rows' values."""
    return [json.loads(raw) for raw in raws(page)]


def exported(page: Page) -> bytes:
    """Press Export and return the downloaded file."""
    with page.expect_download() as waiting:
        page.click("#export")
    return Path(waiting.value.path()).read_bytes()


def open_row(page: Page, line: int) -> None:
    """Press the row of a line, which shows its card."""
    page.locator(f"#grid-body .row[aria-rowindex='{line + 1}'] .c2").click()
    if page.locator("#open").is_visible():
        page.locator("#open").click()
    page.wait_for_selector("#card:not([hidden])")


def option(page: Page, label: str) -> Any:
    """Return the field of an option, its group opened."""
    field = page.get_by_label(label, exact=True)
    field.evaluate("(element) => { element.closest('details').open = true; }")
    return field


def saved(page: Page) -> None:
    """Wait until the browser has kept the work."""
    page.wait_for_selector("#saved.saved:not(.saving)")
    page.locator("#saved", has_text="Saved in this browser").wait_for()


def labels(page: Page) -> list[str]:
    """Return what the table shows of each row."""
    return page.locator("#grid-body .words").all_inner_texts()
