"""The bundle's own programs against a real vLLM: one server for many small jobs.

`RealServer` is started and ended by scripts/serve.py. A job is what a worker does for a task and for Aggregate: serve
with ServerUrl, run_chunk over every line, aggregate. `calls` asks the server by hand, without the bundle.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from engine.note import load_note
from job.parameters import flag

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
RUN_PYTHON = os.environ["VLLM_BATCH_RUN_PYTHON"]
SMALL = "--dtype float32 --enforce-eager"  # what a CPU starts fastest with
TOOLS = "--enable-auto-tool-choice --tool-call-parser hermes"
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}  # a longer call could be cut
TOOL = {"type": "function", "function": {"name": "f", "parameters": NOTHING}}
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def environment(**more: str) -> dict[str, str]:
    """Return the variables of a worker with no GPU and no way to the network."""
    ours = {name: value for name, value in os.environ.items() if name not in PROXIES}
    return ours | {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", **more}


def run(*command: str | Path, env: dict[str, str] | None = None, stdin: str = "") -> str:
    """Run a program in the run environment; return its stdout, or fail with all that it said."""
    whole = [RUN_PYTHON, "-B", *command]
    done = subprocess.run(whole, capture_output=True, text=True, env=env or environment(), input=stdin, check=False)
    said = f"{done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{said}"
    return done.stdout


def flags(parameters: dict[str, Any]) -> list[str]:
    """Write template parameters as a program's arguments."""
    return [f"{flag(name)}={value}" for name, value in parameters.items()]


@dataclass
class Result:
    """What a job wrote."""

    folder: Path
    log: str

    @property
    def raw(self) -> list[bytes]:
        """The lines of output.jsonl."""
        return (self.folder / "output.jsonl").read_bytes().splitlines()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The lines of output.jsonl, parsed."""
        return [json.loads(line) for line in self.raw]

    @property
    def summary(self) -> dict[str, Any]:
        """summary.json."""
        value: dict[str, Any] = json.loads((self.folder / "summary.json").read_bytes())
        return value


@dataclass
class RealServer:
    """A vLLM server of a model; use as a context manager."""

    model: str
    folder: Path
    max_model_len: int
    vllm_args: str = SMALL
    url: str = ""
    key: str = field(default="", repr=False)
    variables: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        one = self.folder / "one.jsonl"
        one.write_text('{"prompt": "x"}\n', encoding="utf-8")
        start = self._start("server", InputFile=one, VllmArgs=self.vllm_args)
        said = run(SCRIPTS / "serve.py", "start", *start, env=environment(**self.variables))
        marked = [line for line in said.splitlines() if line.startswith("openjd_redacted_env: VLLM_API_KEY=")]
        self.key = marked[0].partition("=")[2]
        self.url = load_note(self.folder / "server").engines[0].url
        return self

    def __exit__(self, *_: object) -> None:
        run(SCRIPTS / "serve.py", "stop", f"--session-dir={self.folder / 'server'}")

    def _start(self, session: str, **parameters: Any) -> list[str]:
        given = {"ModelName": self.model, "MaxModelLen": self.max_model_len, "Prompts": "1", **parameters}
        return [f"--session-dir={self.folder / session}", *flags({"ServerStartTimeoutSeconds": 600, **given})]

    def call(self, path: str, body: dict[str, Any]) -> Any:
        """Return the JSON of a request made by hand. Raises HTTPError."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=300) as response:
            return json.load(response)

    def job(self, name: str, lines: list[Any], **parameters: Any) -> Result:
        """Answer lines (JSON values, or bytes as they are); `parameters` have the template's names."""
        file = self.folder / f"{name}.jsonl"
        texts = [line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() for line in lines]
        file.write_bytes(b"\n".join(texts) + b"\n")
        return self.job_over(name, len(lines), InputFile=file, **parameters)

    def job_over(self, name: str, count: int, **parameters: Any) -> Result:
        """Answer the first `count` lines of InputFile, or of the URL in `InputUrl`; also PUT to `OutputUrl`."""
        for url in ("InputUrl", "OutputUrl"):
            if url in parameters:
                secret = self.folder / f"{name}.{url}"
                secret.write_text(parameters.pop(url), encoding="utf-8")
                parameters[f"{url}File"] = secret
        sent = {"OutputUrlFile": parameters.pop("OutputUrlFile")} if "OutputUrlFile" in parameters else {}
        out, session, env = self.folder / name, f"{name}-session", environment(VLLM_API_KEY=self.key)
        limits = {"MaxConcurrency": 64, "RowTimeoutSeconds": 300, "MaxAttempts": 3}
        whole = {"ModelName": self.model, "Prompts": f"1-{count}", **limits, **parameters}
        places = {"InputFile", "InputUrlFile", "Prompts", "BlockSize"}
        given = [f"--session-dir={self.folder / session}", f"--output-dir={out}"]
        merged = {name: value for name, value in whole.items() if name in places} | sent
        log = run(SCRIPTS / "serve.py", "start", *self._start(session, ServerUrl=self.url, **whole), env=env)
        log += run(SCRIPTS / "run_chunk.py", *given, f"--values=1-{count}", env=env)
        log += run(SCRIPTS / "aggregate.py", *given, *flags(merged), env=env)
        return Result(out / "output", log)


def openai_line(custom_id: Any, url: str, body: Any) -> dict[str, Any]:
    """Return an OpenAI Batch line."""
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": body}


@contextlib.contextmanager
def short_folder() -> Iterator[Path]:
    """Give a short path: vLLM keeps sockets below the temporary folder, whose paths have a limit of 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="vb", dir="/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path)
