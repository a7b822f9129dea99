"""Start the session's vLLM server, or end it: the onEnter and onExit of step Infer.

`start` reads the job's parameters first, so that what is wrong with them costs no model load; it starts the server's
supervisor, makes the input ready while the model loads, and returns when the server answers for its model. With
ServerUrl it starts nothing and checks the given server; with VLLM_BATCH_KEPT_SESSION it uses the engines of a session
that goes on. `stop` ends the supervisor with all that it owns, also after a failed start.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from engine import session
from engine.key import KEY_VARIABLE, read_key
from engine.note import Engine, ServerError, Settings
from engine.routes import ENDPOINTS
from engine.vllm_args import ArgumentsError, overridden, split_arguments
from host import runner, secrets_manager, transfer
from job import arguments
from job.defaults import read_defaults
from job.moment import read_moment
from job.parameters import BY_NAME, JobError
from rows import ranges, reserve, shape, source

EXPECTED = (
    ServerError, JobError, source.SourceError, transfer.TransferError, ranges.RangeError,
    secrets_manager.SecretError, ArgumentsError, OSError,
)  # fmt: skip
LONGEST_TIMER = 30 * 86400.0  # seconds; no model loads for so long


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this program's arguments."""
    parser = argparse.ArgumentParser(description="Start or stop the session's vLLM server.")
    actions = parser.add_subparsers(dest="action", required=True)
    start = actions.add_parser("start", help="start the server and wait until it answers")
    stop = actions.add_parser("stop", help="end the server")
    for action in (start, stop):
        action.add_argument("--session-dir", type=Path, required=True, help="the session's own folder")
    arguments.add_parameters(start)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one action; return 0, or 1 with the reason told to the host."""
    options = build_parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        if options.action == "stop":
            return stop(options.session_dir)
        return start(options.session_dir, arguments.read_values(options))
    except EXPECTED as error:
        runner.fail(str(error))
        return 1


def _interrupted(*_: object) -> NoReturn:
    raise ServerError("canceled while the server was starting")


def start(folder: Path, values: Mapping[str, Any]) -> int:
    """Bring up the server, or check the given one, and note what the session's tasks need to know."""
    begun = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    read_defaults(values)
    stop_at = str(BY_NAME["StopAt"].read(values["StopAt"]))
    wanted = ranges.of_values(values["Prompts"], values["BlockSize"])
    arguments.write_note(values, folder)
    settings = Settings(
        values["ModelName"],
        values["MaxModelLen"],
        values["GpuMemoryUtilization"],
        values["TensorParallelSize"],
        values["VllmArgs"],
        values["ServerStartTimeoutSeconds"],
    )
    due = _Due(stop_at)
    if due.is_set():
        _prepare_input(values, folder, wanted)
        return _enter_without(settings, folder, f"StopAt {stop_at} has passed: no server is started")
    for name, value in overridden(split_arguments(values["VllmArgs"])).items():
        if not values["ServerUrl"] and value != str(values[name]):
            runner.say(f"VllmArgs says {value} where {name} is {values[name]}; VllmArgs wins")
    kept = os.environ.get(session.KEPT_VARIABLE, "")
    # A file takes no time, and one that is of no use costs no engine.
    if values["ServerUrl"] or kept or not values["InputUrl"]:
        _prepare_input(values, folder, wanted)
    try:
        if values["ServerUrl"]:
            key = _find_server_key(values)
            _tell_ready(session.enter_given(values["ServerUrl"], settings, folder, key, due), values, begun)
        elif kept:
            _tell_ready(session.enter_kept(Path(kept), folder, due), values, begun)
        else:
            _start_own(values, settings, folder, wanted, due)
        return 0
    except ServerError:
        if not due.is_set():
            raise
    return _enter_without(settings, folder, f"StopAt {stop_at} passed while the model loaded: the load is ended")


def _start_own(
    values: Mapping[str, Any], settings: Settings, folder: Path, wanted: ranges.Lines, due: threading.Event
) -> None:
    """Start the session's own server. Raises ServerError, also once `due`."""
    begun = time.monotonic()
    with session.Entrance(settings, folder, _set_secrets(values)) as entrance:
        if values["InputUrl"]:
            _prepare_input(values, folder, wanted)
        _tell_ready(entrance.wait(due), values, begun)
        entrance.finish()


class _Due(threading.Event):
    """Set from the moment StopAt on; never where there is none."""

    def __init__(self, stop_at: str) -> None:
        super().__init__()
        left = read_moment(stop_at) - time.time() if stop_at else LONGEST_TIMER
        if left <= 0:
            self.set()
        elif left < LONGEST_TIMER:
            timer = threading.Timer(left, self.set)
            timer.daemon = True
            timer.start()


def _enter_without(settings: Settings, folder: Path, why: str) -> int:
    """Enter the session without a server: its tasks end, each row of theirs with `deadline`."""
    session.enter_without(settings, folder)
    runner.say(f"{why}, and no row is asked")
    return 0


def _tell_ready(engine: Engine, values: Mapping[str, Any], begun: float) -> None:
    """Say what answers, and where, and whether it can answer what the job asks."""
    assert engine.served
    model = engine.served.model
    what = "chat" if engine.served.chat else "no chat template: prompts are completed as text"
    if engine.served.chat and not engine.served.system:
        what = "chat without system messages: a system prompt stands before the first user turn"
    runner.say(f"{model} answers at {transfer.shown(engine.url)} after {time.monotonic() - begun:.1f} s ({what})")
    runner.status(f"{model} is ready")
    endpoint = read_defaults(values).endpoint
    if endpoint != "auto" and not engine.served.has(endpoint):
        able = ", ".join(name for name, route in ENDPOINTS.items() if route in engine.served.routes)
        runner.say(f"Endpoint {values['Endpoint']} is not answered by this model's server, so no prompt row will be")
        runner.say(f"it answers {able}" if able else "set Endpoint to auto")


def _prepare_input(values: Mapping[str, Any], folder: Path, wanted: ranges.Lines) -> None:
    """Make the input ready, and refuse a range that none of its lines is in."""
    keep = bool(values["KeepRowsSeconds"])
    found = reserve.prepare(values["InputFile"], values["InputUrl"], folder, runner.say, keep=keep)
    shape.refuse_other_text(found)
    runner.say(f"input {found.name!r}: {found.lines:,} lines, {found.size:,} bytes, SHA-256 {found.sha256}")
    if not wanted.up_to(found.lines):
        raise source.SourceError(
            f"Prompts {values['Prompts']!r} is past the end of {found.name}, which has {found.lines:,} lines; "
            f"for all of them set Prompts to 1-{-(-found.lines // values['BlockSize'])}"
        )
    if source.is_blank_in(found, wanted):
        raise source.SourceError(f"every line of {found.name} that Prompts {values['Prompts']!r} asks for is blank")


def _find_server_key(values: Mapping[str, Any]) -> str:
    """Return the key of the given server; one out of a secret goes into the session's environment."""
    key = secrets_manager.server_key(values["ServerKeySecretId"])
    if not key:
        return read_key()
    runner.set_secret(KEY_VARIABLE, key)
    return key


def _set_secrets(values: Mapping[str, Any]) -> str:
    """Put the key and the token into the session's environment, hidden from its log; return the key."""
    key = secrets.token_hex(18)
    runner.set_secret(KEY_VARIABLE, key)
    token = secrets_manager.hugging_face_token(values["HfTokenSecretId"], values["HfToken"])
    if token:
        runner.set_secret("HF_TOKEN", token)
        os.environ["HF_TOKEN"] = token
    return key


def stop(folder: Path) -> int:
    """End the session's server, if it has one."""
    killed = session.leave(folder)
    if killed is None:
        runner.say("no server was started")
    else:
        runner.say("the server had to be killed" if killed else "the server has ended")
    return 0


if __name__ == "__main__":
    sys.exit(runner.run(main))
