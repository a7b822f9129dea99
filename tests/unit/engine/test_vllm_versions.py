"""What the worker programs ask of vLLM exists in every vLLM this bundle claims, the oldest and the newest included.

`tools/checking/vllm_flags.json` holds the names that all of them have, read off their sources by
`tools/maintenance/vllm_flags.py`.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import command, hints, vllm_args
from engine.note import Settings
from engine.placement import Placement
from engine.routes import ANY_ROUTE, ENDPOINTS
from maintenance import vllm_flags
from support.cfn_stack import load

ROOT = Path(__file__).resolve().parents[3]
KNOWN = json.loads((ROOT / "tools/checking/vllm_flags.json").read_text(encoding="utf-8"))
SETTINGS = Settings(
    model="m",
    max_model_len=4096,
    gpu_memory_utilization=0.9,
    tensor_parallel_size=0,
    vllm_args="",
    start_timeout=600,
)
RUNNABLE = 'if __name__ == "__main__": ...'
WORKERS = {
    "no GPU": Placement(),
    "one GPU": Placement(gpus=1, fronts=4),
    "eight GPUs": Placement("", gpus=8, split=8),
}


def flags_in(text: str) -> set[str]:
    """Return the long flags that a text mentions; --no-x is --x turned off."""
    return {flag.replace("--no-", "--") for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text)}


def texts_of(*programs: str) -> Iterator[str]:
    """Yield every text that the worker programs hold."""
    for path in (path for program in programs for path in (ROOT / "scripts").rglob(program)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.mark.parametrize("place", WORKERS.values(), ids=WORKERS.keys())
def test_every_flag_the_server_is_started_with_is_known(place: Placement) -> None:
    assert flags_in(" ".join(command.build_command(SETTINGS, 8000, place))) - set(KNOWN["flags"]) == set()


def test_every_flag_that_is_refused_is_one_that_exists() -> None:
    assert set(vllm_args.RESERVED_FLAGS) - set(KNOWN["flags"]) == {"--grpc"}  # in 0.32, not yet in 0.19


def test_every_flag_that_advice_names_is_known() -> None:
    advice = " ".join(hint.advice for hint in hints.HINTS)
    assert flags_in(advice)
    assert flags_in(advice) - set(KNOWN["flags"]) == set()


def test_every_flag_that_documents_put_into_vllm_args_is_known() -> None:
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("cloudformation/*.md"), ROOT / "template.yaml"]
    lines = "\n".join(path.read_text(encoding="utf-8") for path in documents)
    values = re.findall(r"VllmArgs(.*?)(?=--parameter|$)", lines, flags=re.MULTILINE)
    assert flags_in(" ".join(values)) - set(KNOWN["flags"]) == set()


def test_the_modules_that_are_run_exist() -> None:
    run = {text for text in texts_of("command.py") if re.fullmatch(r"vllm(\.\w+)+", text)}
    assert len(run) == 2
    assert run - set(KNOWN["modules"]) == set()


def test_every_vllm_variable_of_the_server_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("VLLM_")]:
        monkeypatch.delenv(name)
    used = {
        name
        for name in command.build_environment("key", 600, Placement("0", gpus=1), copy=1)
        if name.startswith("VLLM_")
    }
    assert used - set(KNOWN["environment"]) == set()


def test_every_endpoint_of_the_form_is_answered() -> None:
    assert set(ENDPOINTS.values()) - {"auto"} - set(KNOWN["routes"]) == set()


def test_every_route_in_the_worker_programs_is_answered() -> None:
    newer = {"/v1/systemone"}
    routes = {text for text in texts_of("*.py") if re.fullmatch(r"/v\d+/[a-z/]+", text)}
    assert "/v1/chat/completions" in routes
    assert routes - set(KNOWN["routes"]) == newer


def test_a_row_may_ask_every_route_that_answers_and_none_that_operates_or_tells_of_the_server() -> None:
    operating = re.compile(r"scal|sleep|wake|profile|lora|reset|pause|resume|abort|cancel|weight|rpc")
    telling = {"/docs", "/get_world_size", "/health", "/is_paused", "/load", "/ping", "/server_info", "/tokenizer_info"}
    telling |= {"/version", "/v1/models", "/v1/responses/{response_id}"}
    telling |= {"/v1/chat/completions/render", "/v1/completions/render", "/inference/v1/generate"}  # refused by default
    answering = {route for route in KNOWN["routes"] if not operating.search(route)} - telling
    assert answering == ANY_ROUTE - {"/generative_scoring", "/v1/systemone"}  # these two are in newer ones only


@pytest.mark.parametrize("path", ["requirements/run-cpu.lock", "requirements/run-gpu.lock", "cloudformation"])
def test_every_vllm_that_gets_installed_is_one_that_was_read(path: str) -> None:
    farm = str(load()["Parameters"]["CondaPackages"]["Default"])
    text = farm if path == "cloudformation" else (ROOT / path).read_text(encoding="utf-8")
    (version,) = re.findall(r"^vllm(?:-cpu)?==?([\d.]+)", text.replace(" ", "\n"), flags=re.MULTILINE)
    assert version in KNOWN["versions"]


def test_the_oldest_and_the_newest_vllm_that_are_claimed_were_read() -> None:
    assert (KNOWN["versions"][0], KNOWN["versions"][-1]) == ("0.19.0", "0.33.0")


SUFFIXES = '_SUFFIX_TO_DEFAULTS: list = [("ForCausalLM", ("generate", "none"))]\n'
REFUSING = """
def verify_max_model_len(self, length):
    if self.FLAG:
        raise ValueError
    if length > 1:
        raise ValueError
    if length > 2:
        return
"""


def sources(folder: Path, *, flag: str) -> Path:
    """Write the least that can be taken for vLLM's sources."""
    files = {
        "vllm/engine/arg_utils.py": f'group.add_argument(\n    "{flag}", "-x", **kwargs[0])\nparser.add_argument("x")',
        "vllm/entrypoints/openai/cli_args.py": 'class FrontendArgs(Base):\n    api_key: str = ""\n    other = 1',
        "vllm/entrypoints/openai/api_server.py": '@router.post(\n    "/v1/x",\n)\ndef f(): ...\n' + RUNNABLE,
        "vllm/config/model.py": SUFFIXES + REFUSING.replace("FLAG", flag.strip("-")),
        "vllm/config/scheduler.py": "",
        "vllm/model_executor/layers/linear.py": "class QKVParallelLinear:\n    heads = divide(heads, ways)",
        "vllm/envs.py": 'A = {"VLLM_A": 1, "VLLM_": 2}',
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_names_are_read_off_the_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = sources(tmp_path / "old", flag="--gone")
    new = sources(tmp_path / "new", flag="--new")
    assert vllm_flags.flags(old) == {"--gone", "--api-key"}
    assert vllm_flags.main([f"1={old}", f"2={new}"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "versions": ["1", "2"],
        "flags": ["--api-key"],
        "environment": ["VLLM_A"],
        "routes": ["/v1/x"],
        "modules": ["vllm.entrypoints.openai.api_server"],
        "rules": [
            "ForCausalLM: generate",
            "QKVParallelLinear splits by: divide(heads, ways)",
            "verify_max_model_len refuses: length > 1",
        ],
    }


def test_a_folder_without_vllm_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert vllm_flags.main([f"1={tmp_path}"]) == 1
    assert "give the folder that holds vllm/" in capsys.readouterr().err
