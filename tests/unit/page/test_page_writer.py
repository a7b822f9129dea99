"""What page.py writes: which rows the page holds, in how many bytes, and a frame that nothing can break out of."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from page import joiner
from page import writer as page_module
from page.blocks import Spool, pack, to_text
from page.figures import MAX_BUCKETS, Figures
from support.pages.page_blocks import from_text, rows_of
from support.pages.page_hostile import HOSTILE_TEXTS, hostile
from support.pages.page_rows import page_row, prompt_rows, summary, write_page

PARTS = Path(page_module.__file__).parent


@given(st.binary(max_size=400))
def test_every_byte_string_survives_the_text_form(data: bytes) -> None:
    text = to_text(data).decode()
    assert from_text(text) == data
    assert not set(text) & set("\0\r<")


def test_every_row_is_in_the_page_byte_for_byte(tmp_path: Path) -> None:
    rows = hostile()
    write_page(tmp_path / "r.html", summary(len(rows)), rows)
    assert rows_of(tmp_path / "r.html") == {row.line: (row.output, row.input, row.sent) for row in rows}


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_text_in_the_summary_stays_inside_its_element(tmp_path: Path, text: str) -> None:
    told = summary(
        1,
        failed=0,
        notes=[text],
        model=text,
        input={"name": text, "sha256": "", "lines": 1},
        parameters={"SystemPrompt": text},
    )
    write_page(tmp_path / "r.html", told, prompt_rows(1, failed=frozenset()))
    document = (tmp_path / "r.html").read_text(encoding="utf-8")
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', document, re.DOTALL)
    assert json.loads(data)["summary"]["notes"] == [text]
    assert document.count("<script") == document.count("</script>") == 4


def test_failed_rows_are_kept_before_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "MAX_ROWS", 3000)
    failed = frozenset(range(7000, 9000))
    report = write_page(tmp_path / "r.html", summary(9000, failed=2000), prompt_rows(9000, failed=failed, words=5))
    held = rows_of(tmp_path / "r.html")
    assert failed <= held.keys()
    assert held.keys() - failed == set(range(1, 1001))
    assert (report.rows, report.held, report.failed, report.failed_held) == (9000, 3000, 2000, 2000)


def test_failed_rows_have_a_limit_of_bytes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "MAX_FAILED_BYTES", 10_000)
    report = write_page(
        tmp_path / "r.html", summary(500, failed=500), prompt_rows(500, failed=frozenset(range(1, 501)))
    )
    assert report.failed == 500
    assert 0 < report.failed_held < 500


def test_the_page_appears_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text("old", encoding="utf-8")

    def breaking() -> object:
        yield from prompt_rows(3)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_page(tmp_path / "r.html", summary(3), breaking())  # type: ignore[arg-type]
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "r.html"]


def test_rows_are_cut_into_blocks_of_bounded_size(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for row in prompt_rows(2500, words=5):
        spool.add(row)
    for row in prompt_rows(4, words=100_000):
        spool.add(row)
    spool.flush()
    sizes = [block.rows for block in spool.blocks]
    assert sizes[:2] == [1000, 1000]
    assert max(block.raw for block in spool.blocks) < 3 << 20
    spool.close()


def test_times_that_are_no_numbers_are_left_out() -> None:
    row = page_row(1, {}, random.Random(1))
    odd = [replace(row, seconds=value, started=value) for value in (float("nan"), float("inf"), None)]
    columns = json.loads(pack(odd).split(b"\n")[0])
    assert columns["seconds"] == columns["started"] == [None, None, None]
    figures = Figures()
    for each in odd:
        figures.add(each)
    assert figures.as_dict()["latency"] == []


def test_the_figures_keep_their_size_whatever_the_time() -> None:
    figures = Figures()
    row = page_row(1, {}, random.Random(1))
    for second in range(50_000):
        figures.add(replace(row, started=float(second), seconds=1.0))
    lanes = figures.as_dict()["lanes"]
    assert sum(count for _, count in lanes[0]["buckets"]) == 50_000
    assert len(lanes[0]["buckets"]) <= MAX_BUCKETS


def test_every_file_of_the_page_is_used_and_none_makes_markup_of_text() -> None:
    used = {module.path for module in joiner.order(page_module.SCRIPT)}
    used |= {PARTS / "css" / f"{name}.css" for name in page_module.STYLES} | {PARTS / "page.html.jinja"}
    sources = {path for path in PARTS.rglob("*.*") if path.suffix not in (".py", ".pyc")}
    assert sources == used
    for path in sources:
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\bfetch\(|XMLHttpRequest|https?://(?!www\.w3\.org/2000/svg)",
            text,
        ), path.name
