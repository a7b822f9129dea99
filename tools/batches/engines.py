"""The engine that stays loaded between jobs of this machine: a session of `serve.py` that this program enters itself.

Jobs of the same engine use it at once; a job of another engine waits until those before it are done, has the first one
ended, and its own loaded. Jobs join the session by a variable of their environment, so that recovery and everything
else about the engine is the worker's. It ends when nothing used it for a while, and with this program, in whatever way.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import bundle
from batches.backend import BackendError
from engine.address import Address
from engine.key import KEY_VARIABLE
from engine.note import read_note
from engine.session import KEPT_VARIABLE
from host import files
from job.parameters import TABLE, flag
from local.local_job import Machine

OF_ENGINE = tuple(each.name for each in TABLE if each.loads)
_KEY_LINE, _FAIL_LINE = f"openjd_redacted_env: {KEY_VARIABLE}=", "openjd_fail: "
_HIDDEN_LINE = "openjd_redacted_env: "


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine for a job: the variables by which the job uses it, and where it answers ("" where ServerUrl does)."""

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path | None = None

    @property
    def address(self) -> Address | None:
        """Return where the first of its copies answers now, with its key."""
        note = read_note(self.folder) if self.folder else None
        url = next((engine.url for engine in note.engines if engine.url), "") if note else ""
        return Address(url, self.variables[KEY_VARIABLE]) if url else None

    def lives(self) -> bool:
        """Tell whether its supervisor runs, which starts again what dies."""
        note = read_note(self.folder) if self.folder else None
        return bool(note and note.supervisor and note.supervisor.runs())


class Engines:
    """The one engine that this machine has loaded, if any; `keep_warm` is in seconds."""

    def __init__(self, machine: Machine, folder: Path, keep_warm: float) -> None:
        self._machine, self._folder, self._keep_warm = machine, folder, keep_warm
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._wish: dict[str, str] = {}  # what the loaded engine was started with
        self._engine: Engine | None = None
        self._users = 0
        self._starting: subprocess.Popen[str] | None = None
        self._end: threading.Timer | None = None
        self._closed = False

    @contextlib.contextmanager
    def use(self, parameters: Mapping[str, str]) -> Iterator[Engine]:
        """Give the engine of a job, loaded; it stays while the block runs. Raises BackendError."""
        if parameters.get("ServerUrl"):
            yield Engine()
            return
        wish = {name: parameters[name] for name in OF_ENGINE if parameters.get(name)}
        engine = self._join(wish)
        try:
            yield engine
        finally:
            self._leave()

    def find(self, parameters: Mapping[str, str]) -> Engine | None:
        """Return the engine of these parameters if it is loaded now."""
        wish = {name: parameters[name] for name in OF_ENGINE if parameters.get(name)}
        with self._changed:
            return self._engine if self._engine and self._wish == wish and self._engine.lives() else None

    def close(self) -> None:
        """End the engine; nothing can use one any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            if self._starting:
                self._starting.terminate()  # serve.py then ends what it started
        self._stop()

    def _join(self, wish: dict[str, str]) -> Engine:
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or (self._queue[0] is ticket and self._fits(wish)))
                if self._end:
                    self._end.cancel()
                engine = self._engine if self._wish == wish else None
            self._refuse_closed()
            if engine is None or not engine.lives():  # the others wait in the queue meanwhile
                self._stop()
                engine = self._start(wish)
            with self._changed:
                self._engine, self._wish = engine, wish
                self._users += 1
            return engine
        finally:
            with self._changed:
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise BackendError("the program ends", again=True)

    def _fits(self, wish: Mapping[str, str]) -> bool:
        """Tell whether the engine of a wish can be used now: it is loaded, or nobody uses another."""
        return not self._users or (self._engine is not None and self._wish == wish)

    def _leave(self) -> None:
        with self._changed:
            self._users -= 1
            self._changed.notify_all()
            if not self._users:
                self._end = threading.Timer(self._keep_warm, self._stop_unused)
                self._end.daemon = True
                self._end.start()

    def _stop_unused(self) -> None:
        with self._changed:
            is_unused = not self._users and not self._queue
        if is_unused:
            self._stop()

    def _start(self, wish: Mapping[str, str]) -> Engine:
        """Enter a session with an engine. Raises BackendError."""
        folder = self._folder / secrets.token_hex(6)
        folder.mkdir(parents=True, mode=0o700)
        sample = folder / "sample.jsonl"  # serve.py makes an input ready, which no one asks here
        sample.write_text(json.dumps({"prompt": "."}) + "\n", encoding="utf-8")
        flags = [f"{flag(name)}={value}" for name, value in wish.items() if name != "HfToken"]
        if "HfToken" in wish:
            files.write_whole(folder / "token", wish["HfToken"].encode(), mode=0o600)
            flags.append(f"--hf-token-file={folder / 'token'}")
        session = folder / "session"
        program = [str(self._machine.python), "-B", str(bundle.SCRIPTS / "serve.py")]
        started = subprocess.Popen(
            [*program, "start", f"--session-dir={session}", f"--input-file={sample}", "--prompts=1", *flags],
            env=self._machine.environment(wish), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
        self._starting = started
        key, failure = "", ""
        with started, (folder / "start.log").open("w", encoding="utf-8") as log:
            for line in started.stdout or ():
                if line.startswith(_KEY_LINE):
                    key = line.removeprefix(_KEY_LINE).strip()
                elif line.startswith(_FAIL_LINE):
                    failure = line.removeprefix(_FAIL_LINE).strip()
                if not line.startswith(_HIDDEN_LINE):
                    log.write(line)
                    log.flush()
        self._starting = None
        (folder / "token").unlink(missing_ok=True)
        self._refuse_closed()
        if started.returncode:
            raise BackendError(failure or f"the engine did not start: see {folder / 'start.log'}")
        return Engine({KEY_VARIABLE: key, KEPT_VARIABLE: str(session)}, session)

    def _stop(self) -> None:
        """End the engine that is loaded, if any."""
        with self._changed:
            engine, self._engine = self._engine, None
        if engine is None or engine.folder is None:
            return
        program = [str(self._machine.python), "-B", str(bundle.SCRIPTS / "serve.py")]
        environment = self._machine.environment({})
        subprocess.run([*program, "stop", f"--session-dir={engine.folder}"], env=environment, check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        shutil.rmtree(engine.folder.parent, ignore_errors=True)
