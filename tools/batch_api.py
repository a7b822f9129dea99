#!/usr/bin/env python3
"""Serve the batch APIs of OpenAI, Anthropic and RunPod; what they are asked is answered by jobs of this bundle.

usage: batch_api.py [--host 127.0.0.1] [--port 8321] [--data-dir FOLDER] [--api-key-file FILE] [--models FILE.toml]
                    [--keep-warm SECONDS] [--gather-seconds SECONDS] [--gather-rows N]
                    [--farm [--farm-id ID] [--queue-id ID] [--profile NAME]] [-p NAME=VALUE ...]

Clients keep their programs and change their base URL: http://127.0.0.1:8321/v1 for OpenAI's, http://127.0.0.1:8321 for
Anthropic's, http://127.0.0.1:8321/v2 for RunPod's. Jobs run on this machine, on an engine that stays loaded between
them for --keep-warm seconds, or with --farm through `deadline`. -p sets a parameter of every job, --models a table of
models with theirs (docs/batch-api.md). Everything is kept in --data-dir: started again there, every batch goes on.

It sets up what it needs once, as run_local.py does, and prints "listening on http://HOST:PORT" when it is ready.
Without a key only this machine may ask. Exit status 1, with the reason, for what cannot be served.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import bundle
import setup_env
from batches.models import ModelsError
from host import runner
from job.parameters import JobError
from setup_env import SetupError, say

NEEDED = ("fastapi", "uvicorn", "python_multipart", "jinja2", "aiohttp")


class CannotServe(Exception):
    """The program cannot serve as it is asked to; the message says why and what to do."""


def build_parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    from submission.request import split_parameter

    parser = argparse.ArgumentParser(description="Serve the batch APIs of OpenAI, Anthropic and RunPod.")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8321, help="0 takes a free one (default: 8321)")
    parser.add_argument(
        "--data-dir", type=Path, default=Path("batch-data"), metavar="FOLDER", help="default: ./batch-data"
    )
    parser.add_argument("--api-key-file", type=Path, metavar="FILE", help="a file with the key that clients must send")
    parser.add_argument("--models", type=Path, metavar="FILE", help="a table of models, in TOML")
    parser.add_argument("--keep-warm", type=float, default=600.0, metavar="SECONDS", help="default: 600")
    parser.add_argument(
        "--gather-seconds", type=float, default=2.0, metavar="SECONDS",
        help="single calls become a job once none came for so long (default: 2)",
    )  # fmt: skip
    parser.add_argument(
        "--gather-rows", type=int, default=10_000, metavar="N", help="or once there are so many (default: 10000)"
    )
    parser.add_argument("--farm", action="store_true", help="run jobs on Deadline Cloud")
    for option in ("--farm-id", "--queue-id", "--profile"):
        parser.add_argument(option, help="passed on to deadline")
    parser.add_argument(
        "-p", dest="parameters", action="append", default=[], type=split_parameter, metavar="NAME=VALUE",
        help="set a parameter of every job; may be repeated",
    )  # fmt: skip
    return parser


def serve(asked: argparse.Namespace) -> int:
    """Serve until told to end."""
    import uvicorn

    from batches.app import create_app
    from batches.starting import make_core_for

    key = read_key_file(asked.api_key_file)
    refuse_open(asked.host, key)
    core = make_core_for(asked, key)
    family = socket.AF_INET6 if ":" in asked.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((asked.host, asked.port))
        except OSError as error:
            raise CannotServe(f"{asked.host}:{asked.port} cannot be listened on: {error.strerror}") from None
        host = f"[{asked.host}]" if ":" in asked.host else asked.host
        config = uvicorn.Config(create_app(core), log_level="warning", access_log=False, timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        listener.listen(2048)
        print(f"listening on http://{host}:{listener.getsockname()[1]}", flush=True)
        server.run(sockets=[listener])
    return 0


def read_key_file(path: Path | None) -> str | None:
    """Return the key in a file, None where there is no file to read. Raises CannotServe."""
    if path is None:
        return None
    try:
        key = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise CannotServe(f"--api-key-file {path}: {error}") from None
    if not key or not key.isascii() or not key.isprintable():
        raise CannotServe(f"--api-key-file {path} must hold one key of printable characters")
    return key


def refuse_open(host: str, key: str | None) -> None:
    """Refuse to listen beyond this machine without a key. Raises CannotServe."""
    from batches.access import is_loopback

    if key is None and not is_loopback(host):
        raise CannotServe(
            f"--host {host} lets other machines ask: give --api-key-file, a file with the key they must send"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Serve what the command line asks for, in the environment that has what that needs."""
    typed = list(sys.argv[1:] if argv is None else argv)
    asked = build_parser().parse_args(typed)
    try:
        if any(importlib.util.find_spec(name) is None for name in NEEDED):
            python = str(setup_env.environment("api"))
            os.execv(python, [python, str(bundle.ROOT / "tools" / "batch_api.py"), *typed])  # noqa: S606 - itself
        return serve(asked)
    except (CannotServe, ModelsError, JobError, SetupError) as error:
        say(f"batch_api: {runner.printable(str(error))}")
        return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
