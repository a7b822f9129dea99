"""The page of a job shows what the model got of each row: a template's text and the system prompt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from support.fake_server import FakeServer, Fault
from support.pages.page_blocks import rows_of
from support.programs import Session

REVIEWS: list[dict[str, Any]] = [{"id": 1, "review": "Good <b>"}, {"id": 2, "review": "Bad"}, {"id": 3}]
OPENAI = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": []}}


def merged(folder: Path, template: str, server: FakeServer, **options: str) -> Path:
    """Run reviews through a template and merge; return the page."""
    file = folder / "template.jinja"
    file.write_text(template, encoding="utf-8")
    lines = [json.dumps(row).encode() for row in (*REVIEWS, OPENAI)]
    session = Session(folder, lines, server.url, options={"prompt_template_file": str(file), **options})
    session.start().check()
    session.chunk("1-4").check()
    session.aggregate().check()
    return session.output / "output" / "results.html"


def sent(page: Path) -> dict[int, Any]:
    return {line: json.loads(parts[2]) if parts[2] else None for line, parts in rows_of(page).items()}


def test_the_text_that_a_template_made_is_on_the_page(tmp_path: Path) -> None:
    with FakeServer() as server:
        page = merged(tmp_path, "Judge: {{ review }}", server)
    assert sent(page) == {1: {"prompt": "Judge: Good <b>"}, 2: {"prompt": "Judge: Bad"}, 3: None, 4: None}


def test_so_are_messages_and_those_of_rows_that_failed(tmp_path: Path) -> None:
    with FakeServer(lambda asked: Fault(400, b"no") if "Bad" in asked.text else None) as server:
        page = merged(tmp_path, '[{"role": "user", "content": {{ review | tojson }}}]', server)
    assert sent(page)[2] == {"messages": [{"role": "user", "content": "Bad"}]}


def test_the_system_prompt_of_the_job_is_told_once(tmp_path: Path) -> None:
    with FakeServer() as server:
        page = merged(tmp_path, "{{ review }}", server, system_prompt="Be short.")
    [data] = re.findall(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert json.loads(data)["system"] == "Be short."
