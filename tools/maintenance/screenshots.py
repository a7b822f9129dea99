#!/usr/bin/env python3
"""Make the README's pictures: results.html of a run, the prompt builder, and the submission form.

usage: screenshots.py [--results FILE] [--out FOLDER]

FILE is the results.html of a real run, such as run_local.py's (default: ./results/output/results.html). Needs the
`test` environment of setup_env.py, which it finds by itself, and Chromium (CHROMIUM, or on PATH). The form is rendered
off screen with a throwaway configuration, no credentials and no network.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

BUNDLE = Path(__file__).resolve().parents[2]
BUILDER = BUNDLE / "tools" / "prompt_builder.html"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
LAPTOP: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 760}
SETTLE = 2000  # ms; rows are drawn and saved, messages fade
FORM_SIZE = (640, 900)
FORM_WAIT = 2500  # ms; the form asks for credentials on threads of its own and settles by then
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")  # the toolkit brings none of its own


def main(argv: Sequence[str] | None = None) -> int:
    """Make every picture; return 0, or 1 with the reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--results", type=Path, default=Path("results/output/results.html"), help="a run's results.html"
    )
    parser.add_argument("--out", type=Path, default=BUNDLE / "docs" / "images", help="folder for the pictures")
    parser.add_argument("--form", type=Path, help=argparse.SUPPRESS)  # the child process that renders the form
    given = parser.parse_args(argv)
    if given.form:
        return render_form(given.form)
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        import setup_env

        os.execv(python := str(setup_env.environment("test")), [python, *sys.argv])  # noqa: S606 - this program again
    if not given.results.is_file():
        print(f"screenshots: there is no {given.results}; run tools/run_local.py first", file=sys.stderr)
        return 1
    given.out.mkdir(parents=True, exist_ok=True)
    picture_pages(given.results.resolve(), given.out)
    picture_form(given.out / "form.png")
    for path in sorted(given.out.glob("*.png")):
        print(f"{path} {path.stat().st_size // 1000} kB")
    return 0


def picture_pages(results: Path, out: Path) -> None:
    """Picture both pages in a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        picture_results(browser, results, out / "results.png", "light", LAPTOP)
        picture_results(browser, results, out / "results-dark.png", "dark", LAPTOP)
        picture_results(browser, results, out / "results-phone.png", "light", PHONE)
        picture_builder(browser, out / "prompt-builder.png")
        browser.close()


def picture_results(browser: Browser, page_file: Path, out: Path, scheme: str, size: ViewportSize) -> None:
    """Picture a results page with its longest answer open."""
    dark = scheme == "dark"
    context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.goto(page_file.as_uri() + "#sort=-tokensOut")
    page.wait_for_selector("html[data-state=ready]")
    line = page.locator("#list .row").first.get_attribute("data-line")
    page.goto(f"{page_file.as_uri()}#row={line}")
    page.wait_for_selector(f"#list [data-line='{line}'][aria-selected=true]")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(SETTLE)
    page.screenshot(path=out)
    context.close()


def picture_builder(browser: Browser, out: Path) -> None:
    """Picture the prompt builder with the rows of the sample."""
    context = browser.new_context(viewport=LAPTOP)
    page = context.new_page()
    page.goto(BUILDER.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.locator("input[type=file]").first.set_input_files(BUNDLE / "sample_prompts.jsonl")
    page.click("dialog[open] button:has-text('Add')")
    page.wait_for_selector("dialog[open]", state="detached")
    page.wait_for_timeout(SETTLE)
    page.screenshot(path=out)
    context.close()


def picture_form(out: Path) -> None:
    """Picture the job's own settings in the submission form, in a process that reaches nothing."""
    with tempfile.TemporaryDirectory() as home:
        subprocess.run(
            [sys.executable, __file__, "--form", str(out)],
            env=sealed(home),
            check=True,
            capture_output=True,
            timeout=120,
        )


def sealed(home: str) -> dict[str, str]:
    """Return an environment without credentials, with a throwaway home and nothing to reach."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DEADLINE_"))}
    none = str(Path(home) / "none")
    return kept | {
        "HOME": home,
        "QT_QPA_PLATFORM": "offscreen",
        "QT_API": "pyside6",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_DEFAULT_REGION": "us-west-2",
        "AWS_CONFIG_FILE": none,
        "AWS_SHARED_CREDENTIALS_FILE": none,
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",  # a stray call is refused at once
        "DEADLINE_CONFIG_FILE_PATH": str(Path(home) / "deadline.conf"),
        "DEADLINE_CLOUD_TELEMETRY_OPT_OUT": "true",
    }


def render_form(out: Path) -> int:
    """Show the form off screen, save it, and end the process: its threads would keep it alive."""
    from deadline.client.ui.job_bundle_submitter import show_job_bundle_submitter
    from qtpy.QtCore import QTimer
    from qtpy.QtGui import QFont, QFontDatabase
    from qtpy.QtWidgets import QApplication

    application = QApplication(["deadline"])
    application.setStyle("Fusion")
    families = QFontDatabase.applicationFontFamilies(QFontDatabase.addApplicationFont(str(FONT)))
    if families:
        application.setFont(QFont(families[0], 9))
    form = show_job_bundle_submitter(input_job_bundle_dir=str(BUNDLE))
    assert form is not None
    titles = [form.tabs.tabText(index) for index in range(form.tabs.count())]
    form.tabs.setCurrentIndex(next((n for n, title in enumerate(titles) if "Job-specific" in title), 1))
    form.resize(*FORM_SIZE)

    def save() -> None:
        saved = form.grab().save(str(out))
        sys.stdout.flush()
        os._exit(0 if saved else 1)

    QTimer.singleShot(FORM_WAIT, save)
    application.exec()
    return 1


if __name__ == "__main__":
    sys.exit(main())
