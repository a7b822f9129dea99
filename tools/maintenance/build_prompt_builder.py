#!/usr/bin/env python3
"""Make tools/prompt_builder.html, the page people open from disk, out of the files in tools/prompt_builder/.

Reads page.html, the style sheets, the JavaScript modules and form.json (how the form shows the worker's options);
writes one HTML file that needs nothing else. It carries the worker's rules as data. Modules are joined in the order of
their imports into a single script, and the page's Content-Security-Policy allows exactly that script and that style
sheet, by hash. With --check nothing is written: the exit code tells whether
the page is what its sources make.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

BUNDLE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(BUNDLE / "scripts"))

from page.joiner import JoinError, csp_hash, join, order  # noqa: E402 - found by the line above
from page.rules import rules  # noqa: E402

SOURCES = BUNDLE / "tools" / "prompt_builder"
PAGE = SOURCES.with_suffix(".html")
STYLES = ("colours", "layout", "panels", "controls", "grid", "form", "dialogs", "narrow")  # later rules win


class BuildError(Exception):
    """The sources do not make a page."""


def script() -> str:
    """Return the page's script, for which every module in the folder is needed."""
    entry = SOURCES / "app.js"
    left_out = set(SOURCES.rglob("*.js")) - {module.path for module in order(entry)}
    if left_out:
        raise BuildError(f"no module imports {', '.join(sorted(path.name for path in left_out))}")
    return join(entry)


def data() -> str:
    """Return the worker's rules and what the form shows of its options, as JSON that ends no element."""
    form = json.loads((SOURCES / "form.json").read_text(encoding="utf-8"))
    known = rules()
    names = {name for shown in form for name in (shown["name"], *shown.get("also", []))}
    if unknown := names - known["options"].keys() - {"model"}:
        raise BuildError(f"form.json shows what is no option: {', '.join(sorted(unknown))}")
    return json.dumps(known | {"form": form}, ensure_ascii=False).replace("<", "\\u003c")


def build() -> str:
    """Return the page."""
    style = "".join((SOURCES / "css" / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)
    code = script()
    page = (SOURCES / "page.html").read_text(encoding="utf-8")
    blocks = {"@STYLE_HASH@": csp_hash(style), "@SCRIPT_HASH@": csp_hash(code), "@STYLE@": style, "@SCRIPT@": code}
    blocks["@RULES@"] = data()
    return re.sub("|".join(blocks), lambda match: blocks[match[0]], page)


def main(argv: list[str] | None = None) -> int:
    """Write the page, or compare it with its sources."""
    parser = argparse.ArgumentParser(description="Make tools/prompt_builder.html out of tools/prompt_builder/.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the page is not what its sources make"
    )
    arguments = parser.parse_args(argv)
    try:
        page = build()
    except (BuildError, JoinError, OSError) as error:
        print(f"build_prompt_builder: {error}", file=sys.stderr)
        return 1
    if not arguments.check:
        PAGE.write_text(page, encoding="utf-8", newline="\n")
        return 0
    if PAGE.is_file() and PAGE.read_bytes() == page.encode():
        return 0
    print(f"{PAGE.name} is not what its sources make: run tools/maintenance/build_prompt_builder.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
