"""Make results.html: one file, opened from disk, that shows what a job answered.

Reads the summary and the rows as a stream; writes one finished page. Of a large job it holds the first rows up to
`MAX_ROWS` and every failed row (up to `MAX_FAILED_BYTES`), and says so. Memory stays at a few blocks of rows.
The frame is a Jinja template with autoescape; rows travel as inert text (page_blocks.py) and become text nodes only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from host import files
from page.blocks import PageRow, Spool
from page.figures import Figures
from page.joiner import csp_hash, join
from page.rules import rules

__all__ = ["Page", "PageReport", "PageRow"]

MAX_ROWS = 100_000  # what a browser opens and searches at once
MAX_BYTES = 256 << 20  # of rows, unpacked, in the page
MAX_FAILED_BYTES = 64 << 20  # of MAX_BYTES, kept for failed rows
PARTS = Path(__file__).parent
SCRIPT = PARTS / "frame" / "main.js"
STYLES = ("base", "controls", "overview", "charts", "toolbar", "rows", "detail", "texts", "answers", "print")
HOLE = "<!--rows-->"  # where the template takes the blocks


@dataclass(frozen=True, slots=True)
class PageReport:
    """What the page holds, for the log."""

    rows: int  # seen
    held: int  # in the page
    failed: int  # seen
    failed_held: int
    bytes: int


class Page:
    """Takes rows one by one and writes them as one page below `folder`. Use as a context manager.

    `system` is the job's system prompt.
    """

    def __init__(self, folder: Path, system: str = "") -> None:
        self._system = system
        self._figures = Figures()
        self._kept, self._failed = Spool(folder), Spool(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.close()
        self._failed.close()

    def has_room(self) -> bool:
        """Tell whether a row that succeeded would still be held; later ones are only counted."""
        return self._kept.rows < MAX_ROWS and self._kept.raw < MAX_BYTES

    def add(self, row: PageRow) -> None:
        """Take a row."""
        self._figures.add(row)
        if row.status != "succeeded":
            if self._failed.rows < MAX_ROWS and self._failed.raw < MAX_FAILED_BYTES:
                self._failed.add(row)
        elif self.has_room():
            self._kept.add(row)

    def write(self, path: Path, summary: dict[str, Any]) -> PageReport:
        """Write the page of the rows taken to `path`; it appears whole, under a temporary name until then."""
        kept, failed, tally = self._kept, self._failed, self._figures
        kept.flush()
        failed.flush()
        _fit(kept, failed)
        held = {"rows": tally.rows, "held": kept.rows + failed.rows, "failed": tally.failed, "failed_held": failed.rows}
        frame = render({"summary": summary, "held": held, "tally": tally.as_dict(), "system": self._system})
        with files.open_whole(path) as file:
            _write(file, frame, kept, failed)
            size = file.tell()
        return PageReport(bytes=size, **held)


def _fit(kept: Spool, failed: Spool) -> None:
    """Give up the last succeeded rows, a block at a time, where both together are over the limits."""
    while kept.blocks and (kept.rows + failed.rows > MAX_ROWS or kept.raw + failed.raw > MAX_BYTES):
        kept.drop_last()


def _write(file: BinaryIO, frame: str, *spools: Spool) -> None:
    """Write the frame with the blocks in its hole, in the order of their first lines."""
    before, after = frame.split(HOLE)
    file.write(before.encode())
    blocks = [(block.first, n, block) for n, spool in enumerate(spools) for block in spool.blocks]
    for _, n, block in sorted(blocks, key=lambda entry: entry[:2]):
        file.write(b'<script type="application/octet-stream" class="block">')
        file.write(spools[n].read(block))
        file.write(b"</script>\n")
    file.write(after.encode())


def render(data: dict[str, Any]) -> str:
    """Return the page's frame, which carries `data` as one JSON."""
    import jinja2  # a merge by hand may run in a Python without it, and then says so before it begins

    summary = data["summary"]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PARTS),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}  # the parameters in their own order
    style = "\n".join((PARTS / "css" / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)
    script = join(SCRIPT)
    return environment.get_template("page.html.jinja").render(
        rules=rules(),
        data=data,
        style=style,
        script=script,
        style_hash=csp_hash(style),
        script_hash=csp_hash(script),
        model=_model_name(str(summary.get("model") or "")),
        name=str((summary.get("input") or {}).get("name") or ""),
        when=str(summary.get("started") or ""),
        when_text=str(summary.get("started") or "")[:16].replace("T", " "),
        hole=HOLE,
    )


def _model_name(model: str) -> str:
    """Return a model's name; of a folder on a worker the last part."""
    return model.rstrip("/").rpartition("/")[2] if model.startswith("/") else model
