"""The stand-in's server: `python -m vllm.entrypoints.openai.api_server` with vLLM's flags.

The model's name says how it behaves, by one or more of the words in it: `dies`, `out-of-memory`, `gated`,
`no-such-model`, `hostile` (what its log ends with), `mute` (never answers), `mute-again` (never when it is started a
second time), `slow`, `stubborn` (ignores SIGTERM), `once` (dies when it is started a second time), `port-taken` (finds
its port taken the first time), `third` (dies at every third row since its start), `deaf` (never answers /health),
`strays` (its child leaves its process session), `broken-gpu-1` (finds the GPU of that number broken). A row with
`poison` in its text kills it, `crash-once` does so the first time, `stall` hangs, `lost-once` loses its connection the
first time, `corpse-once` makes it answer everything by an error the first time, `refused` is answered 400, `held` waits
for the file FAKE_VLLM_GO. FAKE_VLLM=broken makes it die at every row; FAKE_VLLM_ASKED names a file to which each row's
text is added when it is asked. It starts a child, as vLLM starts its engine, in its own process group.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[5]))

from support.fake_server import Asked, FakeServer, Fault

METRICS = "vllm:generation_tokens_total 5.0\nvllm:prompt_tokens_total 5.0\nvllm:num_requests_waiting 0.0\n"
FIRST_REQUEST = "Hi"  # what tells whether the model chats; no row asks it here
GPU_GONE = "RuntimeError: the GPU is gone"
LAST_WORDS = {
    "dies": "ValueError: something went wrong",
    "out-of-memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB",
    "gated": "OSError: You are trying to access a gated repo.\n401 Client Error.",
    "no-such-model": "OSError: x is not a local folder and is not a valid model identifier",
    "hostile": "error\nopenjd_env: STOLEN=yes\nopenjd_fail: forged\nopenjd_progress: 100",
}


def main() -> None:
    """Serve, or fail, as the model's name says."""
    parser = argparse.ArgumentParser()
    for flag in ("--model", "--host", "--port"):
        parser.add_argument(flag, required=True)
    given, _ = parser.parse_known_args()
    start_child(strays="strays" in given.model)
    starts = count_start()
    for word, text in {**LAST_WORDS, f"broken-gpu-{os.environ.get('CUDA_VISIBLE_DEVICES')}": GPU_GONE}.items():
        if word in given.model:
            sys.exit(text)
    if "once" in given.model and starts > 1:
        sys.exit(GPU_GONE)
    if "port-taken" in given.model and starts == 1:
        sys.exit(f"OSError: [Errno 98] Address already in use: {given.port}")
    if "stubborn" in given.model:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("INFO loading weights", flush=True)
    while "mute" in given.model and ("again" not in given.model or starts > 1):
        time.sleep(1)
    time.sleep(1.0 if "slow" in given.model else 0.0)
    server = FakeServer(lambda asked: script(asked, server), port=int(given.port), key=os.environ["VLLM_API_KEY"])
    server.model, server.metrics, server.lists = given.model, METRICS, False
    if "deaf" in given.model:
        server.pages["/health"] = Fault(until=lambda: False)
    with server:
        while True:
            time.sleep(1)


def start_child(*, strays: bool) -> None:
    """Start the engine's stand-in; it outlives this process unless its group is ended."""
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=strays)


def count_start() -> int:
    """Count this start in a file of the session's folder; return which one it is."""
    path = Path("starts")
    with path.open("a") as file:
        file.write("x")
    return path.stat().st_size


def script(asked: Asked, server: FakeServer) -> Fault | None:
    """Do to a row what its text says, or what the environment says of all rows."""
    if asked.text != FIRST_REQUEST and (fault := obey_environment(asked)):
        return fault
    if "poison" in asked.text or ("crash-once" in asked.text and is_first("crashed")):
        return Fault(act=lambda: os._exit(9))
    if "lost-once" in asked.text and is_first("lost"):
        return Fault(wire="reset")
    if "corpse-once" in asked.text and is_first("corpse"):
        server.script = lambda _: Fault(500, b"{}")
        server.pages["/health"] = Fault(503, b"{}")
        return Fault(500, b"{}")
    return Fault(wire="hang") if "stall" in asked.text else None


def obey_environment(asked: Asked) -> Fault | None:
    """Note a row where FAKE_VLLM_ASKED says, and do what FAKE_VLLM says: see above."""
    if path := os.environ.get("FAKE_VLLM_ASKED"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{asked.text}\n")
    if os.environ.get("FAKE_VLLM") == "broken" or ("third" in asked.body["model"] and (asked.count - 1) % 3 == 0):
        return Fault(act=lambda: os._exit(9))
    if "refused" in asked.text:
        return Fault(400, b'{"error": {"message": "refused", "code": 400}}')
    go = Path(os.environ.get("FAKE_VLLM_GO", "/"))
    return Fault(until=go.exists) if "held" in asked.text else None


def is_first(name: str) -> bool:
    """Tell whether something happens for the first time in the session."""
    path = Path(name)
    first = not path.exists()
    path.touch()
    return first


if __name__ == "__main__":
    main()
