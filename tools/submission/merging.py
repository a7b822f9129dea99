"""Merging what jobs left in a folder into the finished files, as step Aggregate does, and showing where they are."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bundle
from job.parameters import BY_NAME, flag
from results import terms
from results.shards import ShardError, read_header
from setup_env import say

SAID = "| "  # before every line that a worker program says to people
TOLD = ("requested", "succeeded", "failed", "blank", "past_end", "errors", "not_requested")  # of a summary
Figures = dict[str, Any]
PAGE = f"{SAID}results: "  # the page's path, which is told at the very end


def merge(
    parameters: Mapping[str, str], *, python: Path | None = None, unfinished: str = "", told: Figures | None = None
) -> bool:
    """Merge every shard in OutputDir with the original input, as step Aggregate does; return whether that went well.

    python: one that has jinja2, where this one may lack it. unfinished: how far a job is that still runs; the files say
    so. told: what the terminal has shown of an earlier merge. It shows nothing of a merge that went well and is of an
    unfinished job, or finds the same again.
    """
    if obstacle := find_obstacle(parameters, python):
        if _may_lack(Path(parameters["OutputDir"]) / "output"):
            say(obstacle)
        return True
    command = [str(python or sys.executable), "-B", str(bundle.SCRIPTS / "aggregate.py")]
    command += [f"--input-file={parameters['InputFile']}", f"--output-dir={parameters['OutputDir']}"]
    command += [f"{flag(name)}={value}" for name, value in _asked(parameters).items()]
    command += [f"--unfinished={unfinished}"] if unfinished else []
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
        check=False,
        start_new_session=bool(unfinished),  # a terminal's Ctrl-C is for the job
    )
    is_quiet = done.returncode == 0 and (unfinished or (told and told == read_figures(parameters)))
    for line in done.stdout.splitlines():
        if line.startswith(SAID) and not is_quiet and not line.startswith(PAGE):
            say(line.removeprefix(SAID))
    if done.returncode != 0:
        say(done.stderr[-2000:])
    return done.returncode == 0


def read_figures(parameters: Mapping[str, str]) -> Figures | None:
    """Return what a merge tells of OutputDir's finished files; None where they cannot be read."""
    try:
        whole = json.loads((Path(parameters["OutputDir"]) / "output" / "summary.json").read_text(encoding="utf-8"))
        return {name: whole[name] for name in TOLD}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_obstacle(parameters: Mapping[str, str], python: Path | None) -> str:
    """Return why nothing can be merged here, or nothing."""
    if not parameters.get("InputFile"):
        return "The input is an InputUrl, so shards of earlier jobs are not merged here"
    if python is None and importlib.util.find_spec("jinja2") is None:
        return "Shards of earlier jobs are not merged, since this Python has no jinja2: pip install jinja2"
    return ""


def _may_lack(output: Path) -> bool:
    """Tell whether finished files may lack what is in the shards: there are none, or the shards are of several jobs."""
    jobs = set()
    for path in (output / "results").glob("lines-*"):
        with contextlib.suppress(ShardError, OSError):
            jobs.add(read_header(path).job)
    return len(jobs) > 1 or not (output / "summary.json").is_file()


def _asked(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return what the merge is told of a request: which lines, on what terms, and a price, as far as they are known.

    A job that was submitted elsewhere is known by its folders alone: then the newest shard tells.
    """
    price = {name: value for name, value in parameters.items() if name == "PricePerHour"}
    if "Prompts" not in parameters:
        return price
    told = {"ModelName": BY_NAME["ModelName"].default, **parameters}
    return {name: told[name] for name in ("Prompts", "BlockSize", *terms.NAMES) if name in told} | price


def has_shards(output: Path) -> bool:
    """Tell whether any answer may lie in a folder of finished files."""
    return any((output / "results").glob("*lines-*"))


def has_page(output: Path) -> bool:
    """Tell whether there is a results.html."""
    return (output / "results.html").is_file()


def show_page(output: Path) -> None:
    """Print the path of results.html on stdout, where there is one."""
    if has_page(output):
        say("\nOpen this in any browser:")
        print(output / "results.html", flush=True)
