#!/usr/bin/env python3
"""Measure tools/batch_api.py in front of a server that costs nothing: a large batch, single calls, one that waits.

usage: batch_api.py [--rows 18,19,20] [--quick]

Row 18: a file of 50,000 lines uploaded, answered by a job of this machine and fetched; seconds and the program's peak
memory. Row 19: 1,000 /run calls, and how many jobs they become. Row 20: what /runsync adds to the server's own time.
The jobs are the bundle's own, by openjd. Prints the rows of the table for run_all.py.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import MIB, ROOT, Figure, emit, say

ENGINE_SECONDS = 0.02
GOAL_MEMORY, GOAL_ADDED = 200 * MIB, 0.050
ASKED = {"messages": [{"role": "user", "content": "Say something of about forty tokens, whatever it may be."}]}


@dataclass(frozen=True)
class Api:
    """The program that runs, before a stand-in for an engine."""

    url: str
    engine: str
    folder: Path
    process: subprocess.Popen[str]

    def ask(self, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        """Return the JSON of an answer."""
        request = urllib.request.Request(self.url + path, body, {"Content-Type": kind, "Authorization": "Bearer x"})
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def peak(self) -> int:
        """Return the bytes of memory that the program took at most."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(text.partition("VmHWM:")[2].split()[0]) * 1024

    def jobs(self) -> int:
        """Return how many jobs there were."""
        return len(list((self.folder / "data" / "batches").iterdir()))


@contextlib.contextmanager
def serving() -> Iterator[Api]:
    """Run the program and its stand-in."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stub = [sys.executable, "-B", str(ROOT / "benchmarks" / "stub.py"), str(ENGINE_SECONDS)]
        engine = stack.enter_context(subprocess.Popen(stub, stdout=subprocess.PIPE, text=True))
        stack.callback(engine.terminate)
        assert engine.stdout
        address = engine.stdout.readline().strip()
        program = [sys.executable, "-B", str(ROOT / "tools" / "batch_api.py"), "--port=0"]
        parameters = [f"--data-dir={folder / 'data'}", "-p", f"ServerUrl={address}", "-p", "ModelName=stub"]
        api = stack.enter_context(subprocess.Popen([*program, *parameters], stdout=subprocess.PIPE, text=True))
        stack.callback(api.send_signal, signal.SIGTERM)
        assert api.stdout
        yield Api(api.stdout.readline().removeprefix("listening on ").strip(), address, folder, api)


def measure_batch(api: Api, lines: int) -> Figure:
    """Upload a file, have it answered, fetch the answers."""
    line = {"method": "POST", "url": "/v1/chat/completions", "body": {"model": "stub", **ASKED}}
    content = "".join(json.dumps({"custom_id": f"q-{n}", **line}) + "\n" for n in range(lines))
    part = "--x\r\nContent-Disposition: form-data; "
    head = f'{part}name="purpose"\r\n\r\nbatch\r\n{part}name="file"; filename="a.jsonl"\r\n\r\n'
    form = f"{head}{content}\r\n--x--\r\n".encode()
    begun = time.perf_counter()
    file = api.ask("/v1/files", form, "multipart/form-data; boundary=x")["id"]
    uploaded = time.perf_counter() - begun
    said = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    batch = api.ask("/v1/batches", json.dumps(said).encode())
    while batch["status"] not in ("completed", "failed"):
        time.sleep(0.5)
        batch = api.ask(f"/v1/batches/{batch['id']}")
    answered = time.perf_counter() - begun
    with urllib.request.urlopen(f"{api.url}/v1/files/{batch['output_file_id']}/content") as response:
        found = sum(1 for _ in response)
    figure = f"{found:,} answers after {answered:.0f} s, {uploaded:.1f} s of it the upload; {api.peak() / MIB:.0f} MiB"
    met = found == lines and api.peak() < GOAL_MEMORY
    return Figure(18, f"tools/batch_api.py: {lines:,} lines uploaded and answered", "all, 200 MiB", figure, met)


def measure_calls(api: Api, calls: int) -> Figure:
    """Send single calls one after another over one connection; see how many jobs they become."""
    before = api.jobs()
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"))
    begun = time.perf_counter()
    names = [_post(connection, "/v2/ep/run")["id"] for _ in range(calls)]
    sent = time.perf_counter() - begun
    while api.ask("/v2/ep/health")["jobs"]["completed"] < len(names):
        time.sleep(0.2)
    jobs = api.jobs() - before
    figure = f"{jobs} (sent in {sent:.1f} s, answered after {time.perf_counter() - begun:.1f} s)"
    return Figure(19, f"the same: jobs that {calls:,} /run calls become", "1", figure, jobs == 1)


def measure_waiting(api: Api, times: int) -> Figure:
    """Compare a /runsync with the same request to the engine, in turn."""
    here = http.client.HTTPConnection(api.url.removeprefix("http://"))
    there = http.client.HTTPConnection(api.engine.removeprefix("http://"))
    added = []
    for _ in range(times):
        own, whole = _seconds(there, "/v1/chat/completions"), _seconds(here, "/v2/ep/runsync")
        added.append(whole - own)
    middle, most = statistics.median(added[1:]), max(added[1:])  # the first looks at the engine
    figure = f"{middle * 1000:.1f} ms (median of {times - 1}, at most {most * 1000:.0f} ms)"
    return Figure(20, "the same: what /runsync adds to the engine's own time", "50 ms", figure, middle <= GOAL_ADDED)


def _seconds(connection: http.client.HTTPConnection, path: str) -> float:
    begun = time.perf_counter()
    _post(connection, path)
    return time.perf_counter() - begun


def _post(connection: http.client.HTTPConnection, path: str) -> Any:
    body = json.dumps({"input": ASKED} if path.startswith("/v2") else {"model": "stub", **ASKED})
    connection.request("POST", path, body, {"Content-Type": "application/json", "Authorization": "Bearer x"})
    return json.loads(connection.getresponse().read())


def main() -> int:
    """Measure the rows asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="18,19,20", help="rows of the table")
    parser.add_argument("--quick", action="store_true", help="small sizes, only to see that it runs")
    asked = parser.parse_args()
    rows, part = set(map(int, asked.rows.split(","))), 100 if asked.quick else 1
    with serving() as api:
        for row, measure, size in ((18, measure_batch, 50_000), (19, measure_calls, 1000), (20, measure_waiting, 200)):
            if row in rows:
                say(f"row {row} ...")
                emit(measure(api, max(5, size // part)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
