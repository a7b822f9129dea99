"""Modules become one script, and what would not run as modules is no script either."""

from __future__ import annotations

from pathlib import Path

import pytest

from page.joiner import JoinError, join, order

KIT = "export function make() {}\nexport const { one, two } = make();\nconst own = 1;\n"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "main.js"


def test_each_module_stands_after_those_it_imports(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        main='import { b } from "./b.js";\nimport { make } from "./kit.js";\nb(make);\n',
        b='import { one } from "./kit.js";\nexport const b = () => one;\n',
        kit=KIT,
    )
    assert [module.path.name for module in order(entry)] == ["kit.js", "b.js", "main.js"]


def test_a_module_sees_only_what_it_imports_and_gives_only_what_it_exports(tmp_path: Path) -> None:
    entry = write(tmp_path, main='import {\n  make,\n  two,\n} from "./kit.js";\nmake(two);\n', kit=KIT)
    assert join(entry) == (
        '"use strict";\n(() => {\nconst modules = {};\n'
        'modules["kit.js"] = (() => {\n'
        "function make() {}\nconst { one, two } = make();\nconst own = 1;\nreturn { make, one, two };\n})();\n"
        '(() => {\nconst { make, two } = modules["kit.js"];\nmake(two);\n})();\n})();\n'
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('import { absent } from "./kit.js";\nabsent();\n', "kit.js exports no absent"),
        ('import { own } from "./kit.js";\nown();\n', "kit.js exports no own"),
        ('import { make } from "./kit.js";\nconst make = 1;\n', "declared twice: make"),
        ("const a = 1;\nfunction a() {}\n", "declared twice: a"),
        ("const { a, b } = {};\nlet b = 1;\n", "declared twice: b"),
        ('import { make } from "./kit.js";\n', "imported and not used: make"),
        ('import { x } from "./nowhere.js";\nx();\n', "nowhere.js: No such file"),
        ('import kit from "./kit.js";\n', "another form: import kit"),
        ("const a = 1;\nexport { a };\n", "another form: export { a }"),
        ('import { x } from "./circle.js";\nexport const y = x;\n', "import each other: main.js > circle.js > main.js"),
        ("const tag = '</script>';\n", "would end its own element"),
    ],
    ids=lambda value: value if " " in value and "\n" not in value else "",
)
def test_what_would_not_run_fails_the_join(tmp_path: Path, text: str, fault: str) -> None:
    entry = write(tmp_path, main=text, kit=KIT, circle='import { y } from "./main.js";\nexport const x = y;\n')
    with pytest.raises(JoinError, match=fault):
        join(entry)
