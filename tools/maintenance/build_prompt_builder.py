#!/usr/bin/env python3
"""Make tools/prompt_builder.html, the page people open from disk, out of the files in tools/prompt_builder/.

Reads page.html, the style sheets and the JavaScript modules; writes one HTML file that needs nothing else. Modules are
joined in the order of their imports, so that the page holds a single script, and the page's Content-Security-Policy
allows exactly that script and that style sheet, by hash. With --check nothing is written: the exit code tells whether
the page is what its sources make.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import sys
from pathlib import Path

BUNDLE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(BUNDLE / "scripts"))

from page.joiner import JoinError, join, order  # noqa: E402 - found by the line above

SOURCES = BUNDLE / "tools" / "prompt_builder"
PAGE = SOURCES.with_suffix(".html")
STYLES = ("colours.css", "layout.css", "parts.css")


class BuildError(Exception):
    """The sources do not make a page."""


def script() -> str:
    """Return the page's script, for which every module in the folder is needed."""
    entry = SOURCES / "app.js"
    left_out = set(SOURCES.rglob("*.js")) - {module.path for module in order(entry)}
    if left_out:
        raise BuildError(f"no module imports {', '.join(sorted(path.name for path in left_out))}")
    return join(entry)


def digest(text: str) -> str:
    """Return the hash of an inlined block as a Content-Security-Policy writes it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def build() -> str:
    """Return the page."""
    style = "".join((SOURCES / "css" / name).read_text(encoding="utf-8") for name in STYLES)
    code = script()
    page = (SOURCES / "page.html").read_text(encoding="utf-8")
    blocks = {"@STYLE_HASH@": digest(style), "@SCRIPT_HASH@": digest(code), "@STYLE@": style, "@SCRIPT@": code}
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
