"""Weights are fetched beside vLLM's start on a worker with GPUs; the hub's library is a scripted one."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from host.processes import find_process
from support.programs import SUPPORT, Session, rows, wait_until
from support.scripted_gpus import Card, install

# Tells what it was asked in a file; a download never ends, and a model "broken" has none.
HUB = """
import json, os, time
from pathlib import Path
from types import SimpleNamespace

NOTE = Path(__file__).with_name("fetched.json")
INDEX = Path(__file__).with_name("index.json")

class HfApi:
    def model_info(self, model, **_):
        if "broken" in model:
            raise ConnectionError("429 Client Error")
        weights = ["consolidated.safetensors", "a.safetensors", "b.safetensors"]
        names = ["config.json", *weights, "model.safetensors.index.json"]
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=name, size=10) for name in names])

def try_to_load_from_cache(model, name, cache_dir=None):
    return str(Path(__file__).parent / "cached" / name) if "cached" in model else None

def hf_hub_download(model, name, cache_dir=None, **_):
    if name == "config.json":
        raise ConnectionError("no config")
    INDEX.write_text(json.dumps({"weight_map": {"x": "b.safetensors", "y": "a.safetensors", "z": "a.safetensors"}}))
    return str(INDEX)

def snapshot_download(model, allow_patterns, cache_dir=None):
    told = {"model": model, "files": allow_patterns, "cache": cache_dir, "pid": os.getpid()}
    part = NOTE.with_suffix(".part")
    part.write_text(json.dumps(told))
    part.replace(NOTE)
    time.sleep(3600)
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    one = Session(tmp_path / "job", rows(["x"]), model="somebody/fake")
    (tmp_path / "huggingface_hub.py").write_text(HUB, encoding="utf-8")
    path = f"{install(tmp_path / 'bin', [Card('NVIDIA L4', 23034)])}:{os.environ['PATH']}"
    modules = f"{SUPPORT / 'fake_vllm'}:{tmp_path}"
    one.environment = {"PATH": path, "PYTHONPATH": modules, "HF_HOME": str(tmp_path / "hf")}
    yield one
    one.stop()
    assert one.processes() == []


def fetched(session: Session) -> dict[str, Any]:
    """Return what the hub was asked to download."""
    note = session.folder.parent / "fetched.json"
    program = session.launch(session.start_argv())
    wait_until(note.exists, program)
    session.finish(program).check()
    told: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
    return told


def wait_for(log: Path, words: str) -> None:
    """Return when a log has these words; the run's own limit ends a wait for ever."""
    while words not in log.read_text(encoding="utf-8"):
        time.sleep(0.02)


def test_the_files_of_the_index_are_fetched_into_the_server_s_cache_until_the_session_ends(session: Session) -> None:
    told = fetched(session)
    wanted = "somebody/fake", ["a.safetensors", "b.safetensors"], str(session.folder.parent / "hf" / "hub")
    assert (told["model"], told["files"], told["cache"]) == wanted
    assert session.chunk().check()
    os.kill(told["pid"], 0)  # the fixture sees that the session's end ends it


def test_a_model_that_the_cache_has_whole_is_not_asked_for(session: Session) -> None:
    session.model, folder = "somebody/cached", session.folder.parent / "cached"
    folder.mkdir()
    config = {"num_attention_heads": 2, "num_hidden_layers": 2, "hidden_size": 64}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"weights")
    session.start().check()
    wait_for(session.folder / "session" / "weights.log", "the cache has it whole")
    assert not (session.folder.parent / "fetched.json").exists()


def test_a_supervisor_that_is_killed_hard_leaves_no_download(session: Session) -> None:
    told = fetched(session)
    supervisor = session.note().supervisor
    assert supervisor
    download = find_process(told["pid"])
    assert download.runs()
    supervisor.signal(signal.SIGKILL)
    while download.runs():  # the run's own limit ends a wait for ever
        time.sleep(0.02)


def test_a_hub_that_refuses_is_left_to_vllm(session: Session) -> None:
    session.model = "somebody/broken"
    session.start().check()
    session.chunk().check()
    wait_for(session.folder / "session" / "weights.log", "429 Client Error")


@pytest.mark.parametrize(
    "more",
    [
        {"environment": {"HF_HUB_OFFLINE": "1"}},
        {"environment": {"VLLM_USE_MODELSCOPE": "True"}},
        {"vllm_args": "--revision main"},
        {"vllm_args": "--load-format=dummy"},
        {"vllm_args": "--download-dir /models"},
        {"model": "s3://bucket/fake"},
        {"model": "somebody/fake:Q4_K_M"},
    ],
    ids=str,
)
def test_what_vllm_takes_from_elsewhere_is_not_fetched(session: Session, more: dict[str, Any]) -> None:
    session.environment |= more.get("environment", {})
    session.start_options = {"vllm_args": more["vllm_args"]} if "vllm_args" in more else {}
    session.model = more.get("model", session.model)
    session.start().check()
    assert not (session.folder / "session" / "weights.log").exists()


def test_a_worker_without_gpus_fetches_nothing(session: Session) -> None:
    session.environment["PATH"] = os.environ["PATH"]
    session.start().check()
    assert not (session.folder / "session" / "weights.log").exists()
