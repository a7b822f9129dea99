"""Every document says what is so: the links, files, rooms and names in it are those of the project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.documents import DOCUMENTS, ROOT, prose_of

FOLDERS = "scripts|tools|tests|benchmarks|cloudformation|docs|requirements|examples"

each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])


def anchors_of(path: Path) -> set[str]:
    """Return the anchors that GitHub gives to a document's headings."""
    headings = re.findall(r"^#+ (.+)$", prose_of(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_document
def test_every_link_leads_somewhere(path: Path) -> None:
    broken = []
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", prose_of(path)):
        file = (path.parent / target).resolve() if target else path
        if not file.exists() or (anchor and anchor not in anchors_of(file)):
            broken.append(f"{target}#{anchor}")
    assert broken == []


@each_document
def test_every_file_that_is_named_exists(path: Path) -> None:
    named = re.findall(rf"(?<![\w/~.-])(?:{FOLDERS})/[\w/.-]*\w", path.read_text(encoding="utf-8"))
    assert [name for name in sorted(set(named)) if not (ROOT / name).exists()] == []


@each_document
def test_nothing_was_left_to_fill_in(path: Path) -> None:
    assert not re.search(r"TODO|FIXME|TBD|XXX", path.read_text(encoding="utf-8"))


def test_the_readme_leads_to_every_other_document() -> None:
    readme = ROOT / "README.md"
    others = [str(path.relative_to(ROOT)) for path in DOCUMENTS if path != readme]
    assert [name for name in others if f"]({name})" not in readme.read_text(encoding="utf-8")] == []
