"""The table of error codes names every code that a row may get, and the documents explain each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from asking import reading
from rows.errors import CODES

ROOT = Path(__file__).resolve().parents[3]
RAISING = {"RowError", "Failure", "replace"}
DOCUMENT = ROOT / "docs" / "row-errors.md"


def trees() -> Iterator[ast.Module]:
    for room in ("scripts", "tools"):
        yield from (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / room).rglob("*.py"))


def constants() -> dict[str, str]:
    """Return the module constants that hold a text."""
    return {
        target.id: node.value.value
        for tree in trees()
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def codes_raised() -> set[str]:
    """Return the codes that scripts/ and tools/ name where they make a row's error, and those of HTTP statuses."""
    known = constants()
    found = {reading._meaning(status, "")[0] for status in range(300, 600)}
    for tree in trees():
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in RAISING):
                continue
            first = call.args[:1] if call.func.id != "replace" else []
            for value in [*first, *(word.value for word in call.keywords if word.arg == "code")]:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found.add(value.value)
                elif isinstance(value, ast.Name) and value.id in known:
                    found.add(known[value.id])
    return found


def test_the_table_holds_the_codes_that_are_raised_and_no_other() -> None:
    assert codes_raised() == CODES.keys()


@pytest.mark.parametrize("name", CODES)
def test_a_code_says_what_happened_and_how_to_mend_it(name: str) -> None:
    code = CODES[name]
    assert code.meaning[0].isupper()
    assert code.meaning.endswith(".")
    assert code.mend
    assert not code.mend.endswith(".")


def test_the_document_explains_every_code_in_the_tables_words() -> None:
    rows = [
        f"| `{name}` | {code.meaning} | {'yes' if code.may_pass else 'no'} | {code.mend.replace('|', chr(92) + '|')} |"
        for name, code in CODES.items()
    ]
    found = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert found == rows
